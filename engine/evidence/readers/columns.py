"""Records of a log to columns of numbers, with whole-column arithmetic instead of line by line.

Loggers print the same text for thousands of records with nothing but digits changed. Lines that are equal when every
digit reads 0 are of one *shape*: each of their numbers stands in the same bytes. So the first line of a shape is
parsed, and the numbers of all the others are read from the same columns of bytes (``decimals``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.evidence.readers.decimals import decimal_at
from engine.evidence.series import Floats, Ints

Spans = list[tuple[str, int, int]]  # name of a value, and the bytes of a row in which it stands
Columns = dict[str, tuple[Ints, Floats]]
_ANY_DIGIT = bytes(ord("0") if 48 <= code <= 57 else code for code in range(256))
_THOUSANDS = re.compile(r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")
_FEW = 6  # below this many rows the arrays cost more than they save
_MOST_ROWS = 1 << 14  # a matrix of digits is held as float64: 16 k rows of 60 digits are 8 MB


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
    """Rows of one shape: the shape, where they stand among the rows given, rising, and the rows themselves."""

    text: bytes
    index: Ints
    rows: Sequence[bytes]


def shapes(rows: Sequence[bytes]) -> list[Shape]:
    """Group the rows (none holds a line break) by their shape; the groups are in order of first appearance."""
    masks = b"\n".join(rows).translate(_ANY_DIGIT).split(b"\n")
    if not rows or masks.count(masks[0]) == len(masks):
        return [Shape(masks[0], np.arange(len(rows)), rows)] if rows else []
    ids = {mask: number for number, mask in enumerate(dict.fromkeys(masks))}
    given = np.array(list(map(ids.__getitem__, masks)), dtype=np.int32)
    order = np.argsort(given, kind="stable")
    ends = np.cumsum(np.bincount(given)).tolist()
    ordered = list(map(rows.__getitem__, order.tolist()))
    starts = [0, *ends[:-1]]
    return [Shape(mask, order[a:b], ordered[a:b]) for mask, a, b in zip(ids, starts, ends, strict=True)]


def columns(rows: Sequence[bytes], spans: Callable[[bytes], Spans]) -> Columns:
    """Return name -> (row numbers, values), rows in order; what is no number is left out.

    ``spans`` names the values of a row and says where they stand: it is asked once a shape.
    """
    parts: dict[str, list[tuple[Ints, Floats]]] = defaultdict(list)
    for shape in shapes(rows):
        for name, values in convert(shape.rows, spans(shape.rows[0])).items():
            parts[name].append((shape.index, values))
    return {name: merged(pieces) for name, pieces in parts.items()}


def convert(rows: Sequence[bytes], spans: Spans) -> dict[str, Floats]:
    """Return the values of rows of one shape; a name that occurs twice keeps its first value."""
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
    pieces = [_at_once(rows[at : at + _MOST_ROWS], wanted) for at in range(0, len(rows), _MOST_ROWS)]
    return table | {name: np.concatenate([piece[name] for piece in pieces]) for name in wanted}


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


def _at_once(rows: Sequence[bytes], wanted: dict[str, tuple[int, int]]) -> dict[str, Floats]:
    grid = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), len(rows[0]))
    table: dict[str, Floats] = {}
    for name, (start, end) in wanted.items():
        decimal = decimal_at(rows[0], start, end)
        texts = np.ascontiguousarray(grid[:, start:end]).view(f"S{end - start}").ravel()
        table[name] = _one_by_one(texts.tolist()) if decimal is None else decimal.values(grid, texts)
    return table
