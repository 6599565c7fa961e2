"""Units and their conversion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evidence.units import UnitError, convert, find_unit, same_unit


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (1, "MB", "bytes", 10**6),
        (1, "MiB", "bytes", 2**20),
        (1, "GiB", "GB", 1.073741824),
        (90, "min", "h", 1.5),
        (2, "小时", "分钟", 120),
        (65, "%", "ratio", 0.65),
        (0.2, "ratio", "percent", 20),
        (1, "PFLOPS", "TFLOPs", 1000),
        (100, "GB/s", "MB/s", 100_000),
        (5, "tokens/s", "tok/s", 5),
        (3, "iterations", "steps", 3),
        (7, "widgets", "Widgets", 7),
    ],
)
def test_convert(value: float, source: str, target: str, result: float) -> None:
    assert convert(value, source, target) == pytest.approx(result)


@pytest.mark.parametrize(("source", "target"), [("s", "bytes"), ("tokens", "steps"), ("GB", "GB/s"), ("%", "s")])
def test_dimensions_do_not_mix(source: str, target: str) -> None:
    with pytest.raises(UnitError, match="cannot be turned into"):
        convert(1, source, target)


def test_unknown_units_are_named() -> None:
    with pytest.raises(UnitError, match="'widgets' is not known"):
        convert(1, "widgets", "s")
    with pytest.raises(UnitError, match="'widgets' is not known"):
        convert(1, "s", "widgets")


def test_spellings() -> None:
    assert same_unit("iterations", "Steps")
    assert not same_unit("MB", "MiB")
    assert find_unit(" GB ") == find_unit("gigabytes")


@given(st.floats(min_value=-1e9, max_value=1e9), st.sampled_from(["ms", "s", "min", "h", "days", "秒"]))
def test_there_and_back(value: float, unit: str) -> None:
    assert convert(convert(value, unit, "s"), "s", unit) == pytest.approx(value, rel=1e-12, abs=1e-9)
