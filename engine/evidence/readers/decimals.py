"""Decimal numbers at given places of a text, all at once, to the last bit as ``float`` reads them.

The bytes of a number, right-aligned, are one to four words of 64 bits. Numbers are of one *layout* if all but
their digits, their sign, point and exponent, stands at the same distance from their end. What is done to one word is
done to those of all numbers of a layout: the digits are moved together, and each eight of them are joined in three
multiplications (Lemire, Number parsing at a gigabyte per second, 2021).

A whole number below 2^53 times or over a power of ten up to 10^22 rounds once, so the result is the nearest float
(Clinger, How to read floating point numbers accurately, 1990). Up to 19 digits the same holds for the 64-bit mantissa
of x86's long double and 10^27; rounding that to a float rounds twice, which differs only where the longer mantissa ends
half-way between two floats. Those few, and all else, go through ``float``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evidence.series import Floats, Ints

Words = NDArray[np.uint64]  # (words of a number, numbers): text order, the first character in the lowest byte
_DECIMAL = re.compile(
    rb"(?P<sign>[+-]?)(?P<mantissa>\d*(?:,\d{3})*\.?(?P<decimals>\d*))(?:[eE](?P<fall>[+-]?)(?P<exponent>\d{1,3}))?"
)
_JSON_NUMBER = re.compile(rb"NaN|-?Infinity|[-+.0-9eE]+")
_WIDEST = 31  # characters of a number; Python prints at most 24
_DIGITS, _POWER = 15, 22  # of a float
_LONG_DIGITS, _LONG_POWER = 19, 27  # of a long double with 64 bits
_LONG_BITS = 63
_HALF_WAY, _BELOW_FLOAT = np.uint64(0x400), np.uint64(0x7FF)  # of the eleven bits that a float has not
_FEW = 6  # below this many numbers the arrays cost more than they save
_MOST_LAYOUTS = 64  # of the numbers given together; a table has a few
_BYTES = 0x0101010101010101


def numbers_at(codes: NDArray[np.uint8], starts: Ints, widths: Ints) -> Floats | None:
    """The numbers of JSON (NaN and Infinity too) at these places of a text; None if one of them is no number."""
    if not len(starts) or int(widths.max()) > _WIDEST or int(widths.min()) <= 0:
        return None
    size = (int(widths.max()) + 7) // 8
    begins = starts + widths - 8 * size
    if int(begins.min()) < 0:
        codes, begins = np.concatenate([np.zeros(8 * size, np.uint8), codes]), begins + 8 * size
    texts = texts_at(codes, begins, 8 * size)
    if len(texts) < _FEW:
        return _one_by_one(texts, widths)
    words = _words_of(texts) & _kept(size)[:, widths]
    signs = ((words + np.uint64(0x76 * _BYTES)) | words) & np.uint64(0x80 * _BYTES)  # of what is no digit
    layouts = signs[0] >> np.uint64(7)
    for at in range(1, size):
        layouts |= signs[at] >> np.uint64(7 - at)
    return _by_layout(texts, widths, words, layouts)


def numbers_between(grid: NDArray[np.uint8], start: int, end: int) -> Floats | None:
    """The numbers in these columns of rows that are equal but for their digits; None if they must be read by hand."""
    size = (end - start + 7) // 8
    if end - start > _WIDEST:
        return None
    layout = _Layout.of(grid[0, start:end].tobytes(), size)
    if layout.decimal is None:
        return None
    before = np.zeros((len(grid), max(8 * size - end, 0)), np.uint8)  # where the rows do not begin early enough
    texts = np.concatenate([before, grid[:, max(end - 8 * size, 0) : end]], axis=1).view(f"S{8 * size}").ravel()
    words = _words_of(texts) & np.array(_split(_own(end - start, size), size), np.uint64)[:, None]
    return layout.values(words, texts, np.full(len(grid), end - start))


def _words_of(texts: NDArray[np.bytes_]) -> Words:
    """The words of texts of whole words, digits as 0 to 9."""
    words: Words = np.ascontiguousarray(texts.view("<u8").reshape(len(texts), -1).T) ^ np.uint64(0x30 * _BYTES)
    return words


def texts_at(codes: NDArray[np.uint8], starts: Ints, width: int) -> NDArray[np.bytes_]:
    """The texts of one width that begin at these places."""
    every: NDArray[np.bytes_] = np.ndarray((len(codes) - width + 1,), f"S{width}", codes, strides=(1,))
    texts: NDArray[np.bytes_] = every[starts]
    return texts


def _kept(size: int) -> Words:
    """By the width of a number, which bits of its words are its own."""
    return np.array([_split(_own(width, size), size) for width in range(8 * size + 1)], np.uint64).T.copy()


def _own(width: int, size: int) -> int:
    """The last ``width`` bytes of so many words."""
    return (1 << 64 * size) - (1 << 64 * size - 8 * width)


def _split(mask: int, size: int) -> list[int]:
    return [mask >> 64 * at & (1 << 64) - 1 for at in range(size)]


def _by_layout(texts: NDArray[np.bytes_], widths: Ints, words: Words, layouts: Words) -> Floats | None:
    """The first number that is left tells its layout; all like it are read, until none is left."""
    values = np.empty(len(texts))
    left = np.arange(len(texts))
    for _ in range(_MOST_LAYOUTS):
        layout = _Layout.of(texts[0][len(texts[0]) - int(widths[0]) :], len(words))
        alike = layout.alike(words, widths) & (layouts == layouts[0])
        whole = bool(alike.all())
        index = np.flatnonzero(alike)
        own = (words, texts, widths) if whole else (words.take(index, axis=1), texts[index], widths[index])
        read = layout.values(*own) if layout.decimal else None
        if read is None:
            read = _one_by_one(*own[1:])
        if read is None:
            return None
        values[left[index]] = read
        if whole:
            return values
        others = np.flatnonzero(~alike)
        left, texts, widths, layouts = left[others], texts[others], widths[others], layouts[others]
        words = words.take(others, axis=1)
    rest = _one_by_one(texts, widths)
    if rest is None:
        return None
    values[left] = rest
    return values


def _one_by_one(texts: NDArray[np.bytes_], widths: Ints) -> Floats | None:
    """Read right-aligned texts by ``float``; None if one of them is no number."""
    words = [text[-width:] for text, width in zip(texts.tolist(), widths.tolist(), strict=True)]
    if not all(map(_JSON_NUMBER.fullmatch, set(words))):
        return None
    try:
        return np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the parts of a number stand in its words, in bytes from the first of ``size`` words.

    ``holes`` are the places of what is no digit, ``end`` is that of the mantissa, ``text`` is the number itself.
    """

    text: bytes
    size: int
    holes: list[int]
    end: int
    decimal: re.Match[bytes] | None

    @staticmethod
    def of(text: bytes, size: int) -> _Layout:
        base = 8 * size - len(text)
        holes = [base + at for at, code in enumerate(text) if not 48 <= code <= 57]
        match = _DECIMAL.fullmatch(text)
        if match is not None and not any(48 <= code <= 57 for code in match["mantissa"]):
            match = None
        return _Layout(text, size, holes, base + match.end("mantissa") if match else 8 * size, match)

    def alike(self, words: Words, widths: Ints) -> NDArray[np.bool_]:
        """Which numbers have the same but for their digits, where they have the same layout.

        Of those that begin with a digit it does not matter how many stand before the first point or exponent.
        """
        if self.decimal is None or self.text[0] not in b"0123456789":
            alike: NDArray[np.bool_] = widths == len(self.text)
        else:
            alike = widths > 8 * self.size - self.holes[0] if self.holes else np.ones(len(widths), dtype=np.bool_)
        for word, mask in zip(words, _split(sum(0xFF << 8 * hole for hole in self.holes), self.size), strict=True):
            if mask:
                own = word & np.uint64(mask)
                alike &= own == own[0]
        return alike

    def values(self, words: Words, texts: NDArray[np.bytes_], widths: Ints) -> Floats | None:
        """The numbers of this layout; None if they have too many digits."""
        match = self.decimal
        assert match is not None
        exponent = match["exponent"] or b""
        digits = int(widths.max()) - len(self.holes) - len(exponent)
        if digits > (_LONG_DIGITS if _is_x86() else _DIGITS):
            return None
        power = np.array([-len(match["decimals"])])
        if exponent:
            shown = _joined(words[-1] & np.uint64((1 << 64) - (1 << 64 - 8 * len(exponent)))).astype(np.int64)
            power = power + (-shown if match["fall"] == b"-" else shown)
        whole = self._mantissa(words, (digits + 7) // 8)
        if digits <= _DIGITS:
            values = _times_ten_to(whole.astype(np.float64), power, _POWER)
            unsure = np.abs(power) > _POWER
        else:
            exact = _times_ten_to(whole.astype(np.longdouble), power, _LONG_POWER)
            values = exact.astype(np.float64)
            low = exact.view(np.uint64).reshape(len(exact), -1)[:, 0] & _BELOW_FLOAT
            unsure = (np.abs(power) > _LONG_POWER) | (low == _HALF_WAY)
        if match["sign"] == b"-":
            values = -values
        if unsure.any():
            at = np.flatnonzero(np.broadcast_to(unsure, len(values)))
            plain = zip(texts[at].tolist(), widths[at].tolist(), strict=True)
            values[at] = [float(text[-width:].replace(b",", b"")) for text, width in plain]
        return values

    def _mantissa(self, words: Words, count: int) -> Words:
        """The digits of the mantissa as a whole number; they fill at most ``count`` words."""
        holes = [hole for hole in self.holes if hole < self.end]
        packed = [np.zeros_like(words[0]) for _ in range(count)]
        for number, (begin, end) in enumerate(zip([0, *(hole + 1 for hole in holes)], [*holes, self.end], strict=True)):
            masks = _split((1 << 8 * end) - (1 << 8 * begin), self.size) if end > begin else [0] * self.size
            skip, bits = divmod(8 * (8 * self.size - self.end + len(holes) - number), 64)
            for at in range(count):
                source = self.size - count + at - skip
                if source >= 0 and masks[source]:
                    packed[at] |= (words[source] & np.uint64(masks[source])) << np.uint64(bits)
                if bits and source >= 1 and masks[source - 1]:
                    packed[at] |= (words[source - 1] & np.uint64(masks[source - 1])) >> np.uint64(64 - bits)
        whole = _joined(packed[0])
        for word in packed[1:]:
            whole = whole * np.uint64(10**8) + _joined(word)
        return whole


def _joined(digits: Words) -> Words:
    """The whole numbers whose eight digits are the bytes of these words."""
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    every = np.uint64(0x000000FF000000FF)
    fours = (pairs & every) * np.uint64(0x000F424000000064)
    joined: Words = (fours + ((pairs >> np.uint64(16)) & every) * np.uint64(0x0000271000000001)) >> np.uint64(32)
    return joined


def _is_x86() -> bool:
    return bool(np.finfo(np.longdouble).nmant == _LONG_BITS)


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
