"""Decimal numbers that stand in the same columns of many rows, all at once, to the last bit as ``float`` reads them.

Digits are joined to whole numbers column by column. A whole number below 2^53 times or over a power of ten up to
10^22 rounds once, so the result is the nearest float (Clinger, How to read floating point numbers accurately, 1990).
Up to 19 digits the same holds for the 64-bit mantissa of x86's long double and 10^27; rounding that to a float rounds
twice, which differs only where the longer mantissa ends half-way between two floats. Those few, and all else, go
through ``float``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evidence.series import Floats, Ints

_DECIMAL = re.compile(
    rb"(?P<sign>[+-]?)(?P<mantissa>\d*(?:,\d{3})*\.?(?P<decimals>\d*))(?:[eE](?P<fall>[+-]?)(?P<exponent>\d{1,3}))?"
)
_DIGITS, _POWER = 15, 22  # of a float
_LONG_DIGITS, _LONG_POWER = 19, 27  # of a long double with 64 bits
_LONG_BITS = 63
# digits by twos, fours, eights, ... in the smallest type that holds them
_JOINS: tuple[tuple[int, Any], ...] = (
    (10, np.uint8),
    (10**2, np.uint16),
    (10**4, np.uint32),
    (10**8, np.uint64),
    (10**16, np.uint64),
)
_JSON_NUMBER = re.compile(rb"NaN|-?Infinity|[-+.0-9eE]+")
_FEW = 6  # below this many numbers of a layout the arrays cost more than they save
_WIDEST = 31  # characters of a number whose layout is looked at
_HALF_WAY, _BELOW_FLOAT = np.uint64(0x400), np.uint64(0x7FF)  # of the eleven bits that a float has not


@dataclass(frozen=True, slots=True)
class Decimal:
    """Where the digits of a number stand in a row, most significant first, and how they combine."""

    mantissa: list[int]
    exponent: list[int]
    negative: bool
    falling: bool  # the exponent is negative
    decimals: int

    def values(self, grid: NDArray[np.uint8], texts: NDArray[np.bytes_]) -> Floats:
        """Return the numbers of the rows of ``grid``; ``texts`` are the same as they stand there."""
        power = np.full(len(grid), -self.decimals)
        if self.exponent:
            power += _whole(grid, self.exponent).astype(np.int64) * (-1 if self.falling else 1)
        if len(self.mantissa) <= _DIGITS:
            values = _times_ten_to(_whole(grid, self.mantissa).astype(np.float64), power, _POWER)
            unsure = np.abs(power) > _POWER
        else:
            exact = _times_ten_to(_whole(grid, self.mantissa).astype(np.longdouble), power, _LONG_POWER)
            values = exact.astype(np.float64)
            low = exact.view(np.uint64).reshape(len(exact), -1)[:, 0] & _BELOW_FLOAT
            unsure = (np.abs(power) > _LONG_POWER) | (low == _HALF_WAY)
        values = -values if self.negative else values
        if unsure.any():
            values[unsure] = [float(text.replace(b",", b"")) for text in texts[unsure].tolist()]
        return values


def decimal_at(row: bytes, start: int, end: int) -> Decimal | None:
    """Return how to read the number in these bytes of a row, None if ``float`` must."""
    match = _DECIMAL.fullmatch(row, start, end)
    if match is None:
        return None
    places = [at for at in range(start, match.end("mantissa")) if 48 <= row[at] <= 57]
    most = _LONG_DIGITS if _is_x86() else _DIGITS
    if not 0 < len(places) <= most:
        return None
    exponent = list(range(*match.span("exponent"))) if match["exponent"] else []
    return Decimal(places, exponent, match["sign"] == b"-", match["fall"] == b"-", len(match["decimals"] or b""))


def numbers_at(codes: NDArray[np.uint8], starts: Ints, widths: Ints) -> Floats | None:
    """The numbers of JSON (NaN and Infinity too) at these places of a text; None if one of them is no number."""
    if not len(starts) or int(widths.max()) > _WIDEST or int(widths.min()) <= 0:
        return None
    values = np.empty(len(starts))
    for width in np.flatnonzero(np.bincount(widths)).tolist():
        at = np.flatnonzero(widths == width)
        texts = texts_at(codes, starts[at], width)
        read = _of_width(texts, width)
        if read is None:
            return None
        values[at] = read
    return values


def texts_at(codes: NDArray[np.uint8], starts: Ints, width: int) -> NDArray[np.bytes_]:
    """The texts of one width that begin at these places."""
    every: NDArray[np.bytes_] = np.ndarray((len(codes) - width + 1,), f"S{width}", codes, strides=(1,))
    texts: NDArray[np.bytes_] = every[starts]
    return texts


def _of_width(texts: NDArray[np.bytes_], width: int) -> Floats | None:
    """Numbers of one width: those whose point, exponent and signs stand at the same places are read together."""
    if len(texts) < _FEW:
        return _one_by_one(texts)
    grid = texts.view(np.uint8).reshape(len(texts), width)
    bits = np.zeros((len(texts), _WIDEST // 8 + 1), dtype=np.uint8)
    bits[:, : (width + 7) // 8] = np.packbits((grid - 48) > 9, axis=1)
    layouts = bits.view(np.uint32).ravel()
    known = np.unique(layouts).tolist()
    if len(known) == 1:
        return _of_layout(texts, grid)
    values = np.empty(len(texts))
    for layout in known:
        at = np.flatnonzero(layouts == layout)
        read = _of_layout(texts[at], grid[at])
        if read is None:
            return None
        values[at] = read
    return values


def _of_layout(texts: NDArray[np.bytes_], grid: NDArray[np.uint8]) -> Floats | None:
    decimal = decimal_at(texts[0], 0, grid.shape[1]) if len(texts) >= _FEW else None
    others = [at for at, code in enumerate(texts[0]) if not 48 <= code <= 57]
    if decimal is None or not bool((grid[:, others] == grid[0, others]).all()):
        return _one_by_one(texts)
    return decimal.values(grid, texts)


def _one_by_one(texts: NDArray[np.bytes_]) -> Floats | None:
    words = texts.tolist()
    if not all(map(_JSON_NUMBER.fullmatch, set(words))):
        return None
    try:
        return np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        return None


def _is_x86() -> bool:
    return bool(np.finfo(np.longdouble).nmant == _LONG_BITS)


def _whole(grid: NDArray[np.uint8], places: list[int]) -> NDArray[Any]:
    """Return the whole number whose digits stand in these columns: neighbours are joined to twice as many digits."""
    parts: NDArray[Any] = grid.T[places] - 48
    for base, kind in _JOINS:
        if len(parts) == 1:
            break
        if len(parts) % 2:
            parts = np.concatenate([np.zeros_like(parts[:1]), parts])
        parts = parts[0::2].astype(kind) * kind(base) + parts[1::2]
    whole: NDArray[Any] = parts[0].astype(np.uint64)
    return whole


def _times_ten_to(values: NDArray[Any], power: Ints, most: int) -> NDArray[Any]:
    """Scale by powers of ten that are exact in the type of the values; beyond ``most`` the result is not to be used."""
    tens = np.asarray(10, dtype=values.dtype) ** np.arange(most + 1)
    first = int(power[0])
    if bool((power == first).all()):
        size = tens[min(abs(first), most)]
        scaled: NDArray[Any] = values / size if first < 0 else values * size
        return scaled
    sizes = tens[np.minimum(np.abs(power), most)]
    return np.where(power < 0, values / sizes, values * sizes)
