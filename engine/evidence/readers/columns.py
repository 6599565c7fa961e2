"""Records of a log to columns of numbers, with whole-column arithmetic instead of line by line.

Loggers print the same text for thousands of records with nothing but digits changed. Lines that are equal when every
digit reads 0 are of one *shape*: each of their numbers stands in the same bytes. So the first line of a shape is
parsed, and the numbers of all the others are read from the same columns of bytes (``decimals``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.evidence.readers.decimals import numbers_between
from engine.evidence.series import Floats, Ints

Spans = list[tuple[str, int, int]]  # name of a value, and the bytes of a row in which it stands
Columns = dict[str, tuple[Ints, Floats]]
_ANY_DIGIT = bytes(ord("0") if 48 <= code <= 57 else code for code in range(256))
_THOUSANDS = re.compile(r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")
_FEW = 6  # below this many rows the arrays cost more than they save
_MANY = 128  # rows of one length that are worth laying out as a matrix of bytes
_LONGEST = 4_096  # bytes of such a row
_MOST_COMMON = 4  # shapes of one length that are looked for in it


def number(text: str | bytes) -> float | None:
    """Read a number as logs print it: nan, inf, -Infinity, 1.2E+01, "9,982", "'1.5'", "45%"; None if it is none."""
    word = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text).strip().strip("'\"")
    if len(word) > 100 or "_" in word:  # Python reads 1_000; no logger writes it
        return None
    try:
        return float(word)
    except ValueError:
        pass
    if _THOUSANDS.match(word):
        return float(word.replace(",", ""))
    return number(word[:-1]) if word.endswith("%") and len(word) > 1 else None


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows of one shape: the shape, where they stand among the rows given, rising, and the rows themselves.

    ``grid`` holds the bytes of the rows, if they were laid out already.
    """

    text: bytes
    index: Ints
    rows: Sequence[bytes]
    grid: NDArray[np.uint8] | None = None


def shapes(rows: Sequence[bytes]) -> list[Shape]:
    """Group the rows (none holds a line break) by their shape; the groups are in order of first appearance."""
    if len(rows) < _MANY:
        return _by_text(rows, np.arange(len(rows)))
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    usual = int(np.bincount(np.minimum(lengths, _LONGEST)).argmax())
    alike = np.flatnonzero(lengths == usual)
    if usual == _LONGEST or not usual or len(alike) < _MANY:
        return _by_text(rows, np.arange(len(rows)))
    whole = len(alike) == len(rows)
    found, left = _by_grid(rows if whole else list(map(rows.__getitem__, alike.tolist())), alike, usual)
    if not whole:
        left = np.sort(np.concatenate([left, np.flatnonzero(lengths != usual)]))
    found += _by_text(list(map(rows.__getitem__, left.tolist())), left)
    return sorted(found, key=lambda shape: int(shape.index[0]))


def _by_grid(rows: Sequence[bytes], index: Ints, width: int) -> tuple[list[Shape], Ints]:
    """The commonest shapes of rows of one length, and the numbers of the rows that are of none of them."""
    grid = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), width)
    found: list[Shape] = []
    while len(found) < _MOST_COMMON and len(rows) >= _MANY:
        digit = (grid[0] - 48) <= 9
        least, most = np.where(digit, 48, grid[0]).astype(np.uint8), np.where(digit, 9, 0).astype(np.uint8)
        same = np.logical_and.reduce((grid - least) <= most, axis=1)
        text = rows[0].translate(_ANY_DIGIT)
        if same.all():
            return [*found, Shape(text, index, rows, grid)], index[:0]
        own, others = np.flatnonzero(same), np.flatnonzero(~same)
        found.append(Shape(text, index[own], list(map(rows.__getitem__, own.tolist())), grid[own]))
        rows, index, grid = list(map(rows.__getitem__, others.tolist())), index[others], grid[others]
    return found, index


def _by_text(rows: Sequence[bytes], index: Ints) -> list[Shape]:
    masks = b"\n".join(rows).translate(_ANY_DIGIT).split(b"\n")
    if not rows or masks.count(masks[0]) == len(masks):
        return [Shape(masks[0], index, rows)] if rows else []
    ids = {mask: number for number, mask in enumerate(dict.fromkeys(masks))}
    given = np.array(list(map(ids.__getitem__, masks)), dtype=np.int32)
    order = np.argsort(given, kind="stable")
    ends = np.cumsum(np.bincount(given)).tolist()
    ordered = list(map(rows.__getitem__, order.tolist()))
    starts = [0, *ends[:-1]]
    return [Shape(mask, index[order[a:b]], ordered[a:b]) for mask, a, b in zip(ids, starts, ends, strict=True)]


def columns(rows: Sequence[bytes], spans: Callable[[bytes], Spans]) -> Columns:
    """Return name -> (row numbers, values), rows in order; what is no number is left out.

    ``spans`` names the values of a row and says where they stand: it is asked once a shape.
    """
    return columns_of(shapes(rows), spans)


def columns_of(groups: Iterable[Shape], spans: Callable[[bytes], Spans]) -> Columns:
    """The same of rows that are grouped already, by the places that the groups give them."""
    parts: dict[str, list[tuple[Ints, Floats]]] = defaultdict(list)
    for shape in groups:
        for name, values in convert(shape, spans(shape.rows[0])).items():
            parts[name].append((shape.index, values))
    return {name: merged(pieces) for name, pieces in parts.items()}


def in_order(groups: Sequence[Shape]) -> Ints:
    """The places of all rows of these groups, rising."""
    return np.sort(np.concatenate([shape.index for shape in groups])) if groups else np.zeros(0, np.int64)


def convert(shape: Shape, spans: Spans) -> dict[str, Floats]:
    """Return the values of rows of one shape; a name that occurs twice keeps its first value."""
    rows = shape.rows
    table: dict[str, Floats] = {}
    wanted: dict[str, tuple[int, int]] = {}
    for name, start, end in spans:
        value = None if name in table or name in wanted else number(rows[0][start:end])
        if value is not None and rows[0][start:end].translate(_ANY_DIGIT).find(b"0") < 0:
            table[name] = np.full(len(rows), value)  # nan, inf: the shape holds the value itself
        elif value is not None:
            wanted[name] = (start, end)
    if len(rows) < _FEW:
        return table | {name: _one_by_one([row[start:end] for row in rows]) for name, (start, end) in wanted.items()}
    grid = shape.grid
    if grid is None and wanted:
        grid = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    for name, (start, end) in wanted.items():
        values = None if grid is None else numbers_between(grid, start, end)
        table[name] = _one_by_one([row[start:end] for row in rows]) if values is None else values
    return table


def merged(pieces: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Join (row numbers, values) of several shapes in the order of the rows."""
    if len(pieces) == 1:
        return pieces[0]
    index = np.concatenate([piece[0] for piece in pieces])
    order = np.argsort(index, kind="stable")
    return index[order], np.concatenate([piece[1] for piece in pieces])[order]


def joined(pieces: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Join pieces that follow each other."""
    return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])


def _one_by_one(texts: Sequence[bytes]) -> Floats:
    try:
        return np.array(list(map(float, texts)))
    except ValueError:  # 9,982 and the like
        return np.array([np.nan if (value := number(text)) is None else value for text in texts])


def as_array(numbers: Sequence[int]) -> Ints:
    """Return whole numbers as an array; a range is not walked through."""
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, dtype=np.int64)
    return np.asarray(numbers, dtype=np.int64)
