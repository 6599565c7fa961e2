"""Key-value records of one layout to columns of numbers, with whole-column operations instead of line by line.

Loggers print the same keys in the same order for thousands of records. Splitting a block once and taking
every k-th piece keeps the work inside ``bytes`` methods; records of another layout are grouped, then read one
by one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.evidence.series import Floats, Ints

Columns = dict[str, tuple[Ints, Floats]]
_THOUSANDS = re.compile(r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a logger writes a record: ``<quote>key<quote>: value<separator>...``; ``unused`` keys are not converted."""

    separator: bytes
    quote: bytes = b""
    unused: frozenset[str] = frozenset()


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


def columns(rows: list[bytes], layout: Layout) -> Columns:
    """Return key -> (row numbers, values), rows in order; what is no number is left out."""
    everything = np.arange(len(rows), dtype=np.int64)
    table = _uniform(rows, layout)
    if table is not None:
        return {key: (everything, values) for key, values in table.items()}
    groups: dict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        groups[row.count(layout.separator)].append(at)
    parts: dict[str, list[tuple[Ints, Floats]]] = defaultdict(list)
    for places in groups.values():
        chosen, index = [rows[at] for at in places], np.array(places, dtype=np.int64)
        table = _uniform(chosen, layout)
        for key, (where, values) in _one_by_one(chosen, layout).items() if table is None else ():
            parts[key].append((index[where], values))
        for key, values in table.items() if table is not None else ():
            parts[key].append((index, values))
    return {key: _merged(pieces) for key, pieces in parts.items()}


def _uniform(rows: list[bytes], layout: Layout) -> dict[str, Floats] | None:
    """Return the columns if every row has the keys of the first in its order, else None."""
    width = rows[0].count(layout.separator) + 1
    pieces = layout.separator.join(rows).split(layout.separator)
    if len(pieces) != width * len(rows):
        return None
    table: dict[str, Floats] = {}
    for at in range(width):
        column = pieces[at::width]
        prefix, colon, value = column[0].partition(layout.quote + b":")
        key = _name(prefix)
        constant = column.count(column[0]) == len(rows)
        text = b"" if constant else layout.separator.join(column)
        if not colon:  # the head of the record, or nothing behind its last separator
            if layout.quote + b":" in text:
                return None
            continue
        prefix += colon
        if not constant and text.count(prefix) != len(rows):
            return None
        if key in layout.unused:
            continue
        values = _constant(value, len(rows)) if constant else _floats(text.replace(prefix, b""), layout.separator)
        if values is None:
            return None
        table[key] = values
    return table


def _constant(value: bytes, count: int) -> Floats | None:
    parsed = number(value)
    return None if parsed is None else np.full(count, parsed)


def _floats(text: bytes, separator: bytes) -> Floats | None:
    try:
        return np.array(list(map(float, text.replace(b"'", b"").split(separator))))
    except ValueError:
        return None


def _one_by_one(rows: list[bytes], layout: Layout) -> Columns:
    found: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for at, row in enumerate(rows):
        for key, value in _row_values(row, layout):
            found[key][0].append(at)
            found[key][1].append(value)
    return {key: (np.array(index, dtype=np.int64), np.array(values)) for key, (index, values) in found.items()}


def _row_values(row: bytes, layout: Layout) -> Iterator[tuple[str, float]]:
    for piece in row.split(layout.separator):
        key, colon, value = piece.partition(layout.quote + b":")
        parsed = number(value) if colon else None
        name = _name(key)
        if parsed is not None and name and name not in layout.unused:
            yield name, parsed


def _name(key: bytes) -> str:
    return key.decode("utf-8", "replace").strip().strip("'\"{ ")


def _merged(pieces: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    if len(pieces) == 1:
        return pieces[0]
    index = np.concatenate([piece[0] for piece in pieces])
    order = np.argsort(index, kind="stable")
    return index[order], np.concatenate([piece[1] for piece in pieces])[order]
