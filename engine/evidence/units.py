"""Units people write beside numbers, and conversion between those of one dimension.

Decimal and binary multiples are kept apart as the SI brochure and IEC 80000-13 define them: 1 MB = 10**6 bytes,
1 MiB = 2**20 bytes.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple


class UnitError(ValueError):
    """An unknown unit, or two units of different dimensions."""


class Unit(NamedTuple):
    """A unit as a multiple of its dimension's base (second, byte, 1, FLOP/s, ...)."""

    dimension: str
    factor: float


def _spell(dimension: str, table: dict[str, float]) -> dict[str, Unit]:
    return {name: Unit(dimension, factor) for names, factor in table.items() for name in names.split()}


_TIME = {
    "ns nanosecond nanoseconds": 1e-9,
    "us µs μs microsecond microseconds 微秒": 1e-6,
    "ms millisecond milliseconds 毫秒": 1e-3,
    "s sec secs second seconds 秒 秒钟": 1.0,
    "min mins minute minutes 分 分钟": 60.0,
    "h hr hrs hour hours 小时 个小时": 3600.0,
    "d day days 天": 86400.0,
    "week weeks 周": 604800.0,
}
_BYTES = {
    "b byte bytes 字节": 1.0,
    "kb kilobyte kilobytes": 1e3,
    "mb megabyte megabytes": 1e6,
    "gb gigabyte gigabytes": 1e9,
    "tb terabyte terabytes": 1e12,
    "pb petabyte petabytes": 1e15,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "tib": 2.0**40,
}
_RATES = {f"{name}/s": factor for names, factor in _BYTES.items() for name in names.split()}

_UNITS = MappingProxyType(
    _spell("time", _TIME)
    | _spell("bytes", _BYTES)
    | _spell("bytes/s", _RATES)
    | _spell("ratio", {"ratio fraction 1": 1.0, "% percent pct 百分比": 0.01, "‰": 0.001})
    | _spell("count", {"count counts x × times 个 次 张 台 块 卡": 1.0})
    | _spell("tokens", {"token tokens tok 词元": 1.0, "ktokens": 1e3, "mtokens": 1e6})
    | _spell("steps", {"step steps iteration iterations iter iters it update updates 步": 1.0})
    | _spell("epochs", {"epoch epochs 轮": 1.0})
    | _spell("samples", {"sample samples example examples sequences rows 条 样本": 1.0})
    | _spell("parameters", {"parameter parameters param params 参数": 1.0})
    | _spell("tokens/s", {"token/s tokens/s tok/s tokens/sec tokens/second": 1.0})
    | _spell("samples/s", {"sample/s samples/s samples/sec examples/s": 1.0})
    | _spell("steps/s", {"it/s steps/s step/s iter/s iterations/s": 1.0})
    | _spell("time/step", {"s/it s/step s/iter sec/step sec/it": 1.0, "ms/it ms/step": 1e-3})
    | _spell("flop/s", {"gflops gflop/s": 1e9, "tflops tflop/s": 1e12, "pflops pflop/s": 1e15})
    | _spell("temperature", {"c °c celsius degc 度": 1.0})
    | _spell("power", {"w watt watts": 1.0, "kw": 1e3})
)


def find_unit(name: str) -> Unit | None:
    """The unit of that spelling, in any case; None if it is none of ours."""
    return _UNITS.get(name.strip().casefold())


def same_unit(left: str, right: str) -> bool:
    """Whether two spellings name one unit; unknown spellings are compared as words."""
    a, b = find_unit(left), find_unit(right)
    return left.strip().casefold() == right.strip().casefold() or (a is not None and a == b)


def convert(value: float, from_unit: str, to_unit: str) -> float:
    """``value`` in ``to_unit``. UnitError if a unit is unknown or the two measure different things."""
    if same_unit(from_unit, to_unit):
        return value
    source, target = find_unit(from_unit), find_unit(to_unit)
    if source is None or target is None:
        unknown = from_unit if source is None else to_unit
        raise UnitError(f"the unit {unknown!r} is not known")
    if source.dimension != target.dimension:
        raise UnitError(
            f"{from_unit!r} measures {source.dimension} and cannot be turned into {to_unit!r}, "
            f"which measures {target.dimension}"
        )
    if source.factor >= target.factor:
        return value * (source.factor / target.factor)
    return value / (target.factor / source.factor)  # 35 % is 35 / 100 and not 35 * 0.01 = 0.35000000000000003
