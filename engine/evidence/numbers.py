"""Values as people write them: "3e-4", "1,024", "500 MB", "7B", "3+ to 4+", "1 day, 0:08:23", "三十分钟"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from engine.evidence.units import UnitError, convert, find_unit, same_unit

MAX_NUMBER = 10**15
"""The rules engine holds numbers exactly only up to here (a double is exact to 2**53 = 9.007e15)."""

MAX_TEXT = 2_000
"""A longer value is prose, not a number."""

Shape = Literal["number", "range", "list", "nonfinite", "bool", "none", "text"]

_MAGNITUDES = {
    "k": 1e3,
    "m": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "g": 1e9,
    "t": 1e12,
    "千": 1e3,
    "万": 1e4,
    "百万": 1e6,
    "亿": 1e8,
}
_TRUE = frozenset(["true", "yes", "on", "enabled", "enable", "y", "是", "对", "真", "有", "开", "开启", "已开启"])
_FALSE = frozenset(
    ["false", "no", "off", "disabled", "disable", "n", "否", "不", "不是", "假", "没有", "无", "关", "关闭", "未开启"]
)
_NOTHING = frozenset(["", "none", "null", "n/a", "na", "unknown", "?", "-", "未知"])
_NONFINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10**4, "亿": 10**8}

_DIGIT_RUN = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:_\d+)*)"
_NUMBER = rf"[-+]?(?:{_DIGIT_RUN}(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?"
_QUANTITY = re.compile(
    rf"(?:about|approx\.?|around|roughly|only|~|≈|约|大约)?\s*(?P<number>{_NUMBER})\s*\+?\s*"
    r"(?P<rest>[^\s\d,;()][^\d,;()]{0,30}?)?\s*",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"(?P<number>[零〇一二两三四五六七八九十百千万亿]{1,20})(?P<rest>[^\d\s,]{0,12})")
_CLOCK = re.compile(
    r"(?:(?P<days>\d{1,6})\s*(?:days?|天)\s*,?\s*)?(?:(?P<h>\d{1,6}):)?(?P<m>\d{1,2}):(?P<s>\d{1,2}(?:\.\d+)?)"
)
_HAN = r"(?-i:[\u4e00-\u9fff]{1,3})"  # with the flag, compiling would go through the case of each of them
_COMPOUND = re.compile(rf"(?:{_NUMBER}\s*(?:[a-z]+|{_HAN})\s*){{2,5}}", re.IGNORECASE)
_MANY_OF = re.compile(r"(?P<number>\d{1,9})\s*[x×*]\s*[a-z][^,;]{0,60}", re.IGNORECASE)
_PIECE = re.compile(rf"({_NUMBER})\s*([a-z]+|{_HAN})", re.IGNORECASE)
_RANGE_WORD = re.compile(r"\s+(?:to|through|until|and)\s+|\s*(?:\.\.+|–|—|~|到|至)\s*|(?<=[\d%+kKMBT])-(?=[\d.])")
_COMMENT = re.compile(
    r"\s*[(（][^()（）]{0,200}[)）]\s*$"
    r"|[,;，；]\s*also\b.*$|\s+(?:nominal|nominally|total|in total|overall|or so)$|\s*左右$"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the unit or magnitude written after it, not yet told apart ("7B" is 7 bytes or 7e9)."""

    number: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value by its shape. ``why`` says what kept a number from being one."""

    shape: Shape
    text: str
    quantities: tuple[Quantity, ...] = ()
    truth: bool | None = None
    nonfinite: float | None = None
    why: str = ""


def plain(text: str) -> str:
    """Full-width letters, digits and signs as ASCII."""
    return text.translate(_FULL_WIDTH)


def truth_of(raw: object) -> bool | None:
    """True or false if the value is a word for it, a bool, or exactly the number 1 or 0."""
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, int | float):
        return bool(raw) if raw in (0, 1) else None
    if isinstance(raw, str):
        word = plain(raw).strip().casefold()
        return True if word in _TRUE or word == "1" else False if word in _FALSE or word == "0" else None
    return None


def parse(raw: object) -> Parsed:
    """The shape of any JSON value. Numbers beyond 1e15 stay text, with the reason."""
    if raw is None:
        return Parsed("none", "")
    if isinstance(raw, bool):
        return Parsed("bool", str(raw).lower(), truth=raw)
    if isinstance(raw, int | float):
        return _parse_number(raw)
    if isinstance(raw, list | tuple):
        return _parse_list(list(raw))
    if isinstance(raw, str):
        return _parse_text(raw)
    return Parsed("text", str(raw)[:MAX_TEXT])


def _parse_number(raw: float) -> Parsed:
    if isinstance(raw, float) and not math.isfinite(raw):
        return Parsed("nonfinite", str(raw), nonfinite=raw)
    if abs(raw) > MAX_NUMBER:
        text = f"an integer of {raw.bit_length()} bits" if isinstance(raw, int) and abs(raw) >> 200 else str(raw)
        return Parsed("text", text, why="larger than 1e15: kept as text, not used as a number")
    return Parsed("number", str(raw), (Quantity(float(raw)),))


def _parse_list(raw: list[object]) -> Parsed:
    parts = [parse(item) for item in raw[:1000]]
    if len(parts) == 1:
        return parts[0]
    text = ", ".join(part.text for part in parts[:20])
    if parts and all(part.shape == "number" for part in parts):
        return Parsed("list", text, tuple(part.quantities[0] for part in parts))
    return Parsed("text", text)


def _parse_text(raw: str) -> Parsed:
    text = raw.strip()
    word = plain(text).casefold()
    if word in _NOTHING:
        return Parsed("none", text)
    if len(word) > MAX_TEXT:
        return Parsed("text", text)
    nonfinite = _NONFINITE.get(word.lstrip("+-."))
    if nonfinite is not None:
        return Parsed("nonfinite", text, nonfinite=-nonfinite if word.startswith("-") else nonfinite)
    if word in _TRUE or word in _FALSE:
        return Parsed("bool", text, truth=word in _TRUE)
    bare = _COMMENT.sub("", word)
    seconds = _duration(bare)
    if seconds is not None:
        return Parsed("number", text, (Quantity(seconds, "s"),))
    one = _quantity(bare)
    if one is not None:
        return _within_limit(text, "number", (one,))
    return _parse_several(text, bare)


def _parse_several(text: str, bare: str) -> Parsed:
    ends = [quantity for part in _RANGE_WORD.split(bare) if (quantity := _quantity(part)) is not None]
    if len(ends) == 2 and len(_RANGE_WORD.split(bare)) == 2:
        low, high = ends
        return _within_limit(text, "range", (Quantity(low.number, low.suffix or high.suffix), high))
    parts = [_quantity(part) for part in re.split(r"[,;，；、]\s*", bare)]
    known = tuple(part for part in parts if part is not None)
    if len(parts) > 1 and len(known) == len(parts):
        return _within_limit(text, "list", known)
    return Parsed("text", text)


def _within_limit(text: str, shape: Shape, quantities: tuple[Quantity, ...]) -> Parsed:
    if any(abs(quantity.number) > MAX_NUMBER for quantity in quantities):
        return Parsed("text", text, why="larger than 1e15: kept as text, not used as a number")
    return Parsed(shape, text, quantities)


def _quantity(text: str) -> Quantity | None:
    """One number with at most a magnitude and a unit after it, or so many of a thing ("8x H100"); else None."""
    text = text.strip()
    if text.startswith("百分之"):
        inner = _quantity(text[3:])
        return Quantity(inner.number, "%") if inner and not inner.suffix else None
    many = _MANY_OF.fullmatch(text)
    if many is not None:
        return Quantity(float(many["number"]))
    match = _QUANTITY.fullmatch(text)
    if match is not None:
        suffix = (match["rest"] or "").strip()
        return Quantity(_float(match["number"]), suffix) if _is_suffix(suffix) else None
    chinese = _CHINESE.fullmatch(text)
    if chinese is not None and (not chinese["rest"] or _is_suffix(chinese["rest"])):
        value = chinese_number(chinese["number"])
        return None if value is None else Quantity(float(value), chinese["rest"])
    return None


def _float(digits: str) -> float:
    return float(digits.replace(",", "").replace("_", ""))


def _is_suffix(suffix: str) -> bool:
    """A unit, a magnitude or a magnitude with a unit ("2M tokens")."""
    if not suffix or find_unit(suffix) is not None or suffix in _MAGNITUDES:
        return True
    magnitude, rest = split_magnitude(suffix)
    return magnitude != 1.0 and (not rest or find_unit(rest) is not None)


def split_magnitude(suffix: str) -> tuple[float, str]:
    """(1e9, "tokens") for "b tokens"; (1, suffix) if it starts with none."""
    for word in sorted(_MAGNITUDES, key=len, reverse=True):
        rest = suffix[len(word) :]
        if suffix.startswith(word) and (not rest or rest[0] == " " or not word.isascii()):
            return _MAGNITUDES[word], rest.strip()
    return 1.0, suffix


def _duration(text: str) -> float | None:
    """Seconds of "1 day, 0:08:23", "12:30" (minutes and seconds) or "1h 30m"; None if it is no duration."""
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        days, hours = int(clock["days"] or 0), int(clock["h"] or 0)
        return days * 86400.0 + hours * 3600.0 + int(clock["m"]) * 60.0 + float(clock["s"])
    if _COMPOUND.fullmatch(text) is None:
        return None
    total = 0.0
    for number, name in _PIECE.findall(text):
        unit = find_unit("min" if name == "m" else name)
        if unit is None or unit.dimension != "time":
            return None
        total += _float(number) * unit.factor
    return total


def chinese_number(text: str) -> int | None:
    """The integer of Chinese numerals ("三十" is 30, "一万二千" 12000); None if they do not make one."""
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _PLACES:
            section += (digit or (1 if char == "十" else 0)) * _PLACES[char]
            digit = 0
        elif char in _GROUPS:
            total = (total + section + digit) * _GROUPS[char]
            section = digit = 0
        else:
            return None
    value = total + section + digit
    return value if value or text in {"零", "〇"} else None


def in_unit(quantity: Quantity, unit: str | None) -> float:
    """The quantity in ``unit`` (a fact's own; None: a bare number). UnitError if what is written does not fit.

    A bare number already is in the unit. "7B" is 7 bytes where bytes are wanted and 7e9 elsewhere; a percentage
    becomes a ratio only because the sign is written.
    """
    suffix = quantity.suffix.removesuffix(".")
    if not suffix:
        return quantity.number
    written = find_unit(suffix)
    if unit is not None and written is not None and fits(suffix, unit):
        return convert(quantity.number, suffix, unit)
    magnitude, rest = split_magnitude(suffix)
    value = quantity.number * magnitude
    if abs(value) > MAX_NUMBER:
        raise UnitError("larger than 1e15: kept as text, not used as a number")
    if magnitude == 1.0 and written is None:
        raise UnitError(f"the unit {suffix!r} is not known")
    if not rest:
        return value
    if unit is None or unit == "count" or find_unit(rest) == find_unit("count"):
        if rest == "%":
            return value / 100.0
        return value
    return convert(value, rest, unit)


def fits(suffix: str, unit: str) -> bool:
    """Whether a quantity with this suffix can be expressed in ``unit``."""
    source, target = find_unit(suffix), find_unit(unit)
    return same_unit(suffix, unit) or bool(source and target and source.dimension == target.dimension)
