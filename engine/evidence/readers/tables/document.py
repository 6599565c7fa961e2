"""Metrics in one JSON document that is no list of records: Keras histories, scalars downloaded from TensorBoard,
and what people dump: lists by metric, (step, value) pairs by metric, tables of pandas by column or by row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, chunks
from engine.evidence.readers.names import canonical
from engine.evidence.readers.tables.rows import CORE, MOST_COLUMNS, Rows, own_name, value_of
from engine.evidence.series import Floats, ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

MOST_BYTES = 32 << 20  # held whole as objects, ten times its size
_WRAPPERS = frozenset({"history", "metrics", "logs", "log", "data", "results", "scalars"})
_LISTED = re.compile(
    rb'"([^"\\]{1,100})"\s*:\s*(?:\[\s*(?:\[\s*)?(?:-?\d|null|NaN|-?Inf)'  # a list of numbers, or of points
    rb'|\{\s*"\d+"\s*:\s*(?:-?\d|null|NaN)|\{\s*"(?:steps?|x)"\s*:\s*\[)'  # a column of pandas; steps beside values
)
_TRIPLES = re.compile(rb"\s*\[\s*\[\s*\d{9,}[\d.]*\s*,\s*\d+\s*,\s*[-\dNI]")
_STEPS, _VALUES = ("steps", "step", "x", "iterations", "epochs"), ("values", "value", "y")


def read_document(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the metrics of the document; never raises on content."""
    notes = Notes([])
    builder, rows = SeriesBuilder(label), Rows(label)
    document = _parsed(stream, limits, notes)
    if isinstance(document, list):
        stem = PurePosixPath(label.replace("\\", "/")).stem
        document = {stem.partition("-tag-")[2] or stem: document}
    if isinstance(document, Mapping):
        _take(document, builder, rows)
    built = rows.build() if rows.count else None
    series, remarks = builder.build()
    return RunRecord(
        read=ReadNote(label, "json_document", rows.count + sum(map(len, series)), 0),
        end=RunEnd("unknown", Source("measured", label, "a document of metrics does not say how the run ended")),
        series=series + (built.series if built is not None else ()),
        segments=built.segments if built is not None else (),
        times=built.times if built is not None else None,
        not_understood=(*notes.texts, *remarks, *(built.remarks if built is not None else ())),
    )


def _parsed(stream: IO[bytes], limits: Limits, notes: Notes) -> object:
    most = min(MOST_BYTES, limits.json_bytes)
    content = bytearray()
    for piece in chunks(stream, limits, notes):
        content += piece
        if len(content) > most:
            notes.add(f"JSON document larger than {most} bytes: not read; write one record per line instead")
            return None
    try:
        return json.loads(content.decode("utf-8-sig", "replace"))
    except RecursionError:
        notes.add("JSON is nested too deeply")
    except ValueError as error:
        notes.add(f"JSON is damaged or cut short ({error})")
    return None


def _take(document: Mapping[str, object], builder: SeriesBuilder, rows: Rows) -> None:
    lists: dict[str, list[float | None]] = {}
    by_row: list[Mapping[str, object]] = []
    for name, value in _entries(document):
        if isinstance(value, Mapping) and name.isdigit():
            by_row.append({"step": int(name), **value})
        elif isinstance(value, Mapping) and value and all(str(key).isdigit() for key in value):
            lists[name] = [value_of(item) for item in value.values()]
        elif isinstance(value, list) and value and all(isinstance(item, list) for item in value):
            _take_points(name, value, builder)
        elif isinstance(value, list) and any(value_of(item) is not None for item in value):
            lists[name] = [value_of(item) for item in value]
    if by_row:
        rows.add(by_row)
    elif lists:
        _take_lists(lists, rows)


def _entries(document: Mapping[str, object]) -> list[tuple[str, object]]:
    """The metrics of a document, whether at its top, in a wrapper, or by phase (train, val)."""
    found: list[tuple[str, object]] = []
    for name, value in list(document.items())[:MOST_COLUMNS]:
        inner = list(value.items())[:MOST_COLUMNS] if isinstance(value, Mapping) else []
        pair = dict(inner)
        steps, values = (
            next((pair[key] for key in keys if isinstance(pair.get(key), list)), None) for keys in (_STEPS, _VALUES)
        )
        if isinstance(steps, list) and isinstance(values, list):
            found.append((name, [list(point) for point in zip(steps, values, strict=False)]))
        elif any(isinstance(item, list) for _, item in inner):
            found += [(key if name in _WRAPPERS else f"{name}/{key}", item) for key, item in inner]
        elif name in _WRAPPERS:
            found += inner
        else:
            found.append((name, value))
    return found


def _take_points(name: str, points: list[list[object]], builder: SeriesBuilder) -> None:
    """(step, value) or (wall time, step, value)."""
    read = [tuple(map(value_of, point[-2:])) for point in points if len(point) in {2, 3}]
    known = np.array([pair for pair in read if None not in pair], dtype=np.float64).reshape(-1, 2)
    known = known[np.isfinite(known[:, 0])]
    builder.add(own_name(name), known[:, 0].copy(), known[:, 1].copy(), None)


def _take_lists(lists: Mapping[str, list[float | None]], rows: Rows) -> None:
    """Lists by metric. A shorter list whose length divides the longest is spread evenly: an evaluation every k rows."""
    longest = max(map(len, lists.values()))
    for name, values in lists.items():
        stride = longest // len(values)
        places = np.arange(len(values), dtype=np.int64)
        if stride * len(values) == longest:
            places = (places + 1) * stride - 1
        known = np.array([value is not None for value in values])
        numbers: Floats = np.array([value for value in values if value is not None], dtype=np.float64)
        rows.add_column(name, places[known], numbers)
    rows.count = longest


def _recognises(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if _TRIPLES.match(start):
        return True
    if not start.startswith(b"{"):
        return False
    names = [canonical(own_name(name.decode("utf-8", "replace"))) for name in _LISTED.findall(head)[:200]]
    return any(one.name in CORE - {"learning_rate"} for one in names) or sum(one.known for one in names) >= 3


JSON_DOCUMENT = Format("json_document", _recognises, read_document)
