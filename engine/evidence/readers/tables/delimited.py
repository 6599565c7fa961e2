"""Tables with a header and one separator: Lightning's and Keras's CSV loggers, exports of trackers, home-made files.

The header of Lightning is the union of all logged keys and each row fills some of them, so empty cells are left
out per column, never per row. Exports of W&B name columns "run - metric" with a lowest and a highest beside each;
those of TensorBoard hold one metric, named by the file. Long tables hold "metric" and "value" columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from pathlib import PurePosixPath
from typing import IO

import numpy as np

from engine.evidence.readers.columns import number
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, line_blocks
from engine.evidence.readers.names import canonical
from engine.evidence.readers.tables.axis import CLOCKS, EPOCH_NAMES, STEP_NAMES, plain
from engine.evidence.readers.tables.rows import CORE, TOO_MANY, Rows, moment, own_name
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

_BATCH = 10_000
_SEPARATORS = b",;\t"
_DECIMAL_COMMA = re.compile(r"^\s*[+-]?\d{1,3}(?:\.?\d{3})*,\d+(?:[eE][+-]?\d+)?\s*$")
_LONG_NAMES, _LONG_VALUES = ("metric", "metric_name", "tag", "key", "name", "variable"), ("value", "metric_value")
_TENSORBOARD = ["wall_time", "step", "value"]


@dataclass(slots=True)
class _Sheet:
    """The header of the table and how its cells are to be read."""

    names: list[str]
    separator: str
    decimal_comma: bool = False
    long: tuple[int, int] | None = None  # columns of the metric's name and value
    ragged: int = 0
    left_out: set[int] = field(default_factory=set)


def read_delimited(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the table; never raises on content."""
    import csv

    notes, rows = Notes([]), Rows(label)
    lines = _texts(stream, limits, notes)
    first, last = "", 0
    for first in lines:
        last += 1
        if first.strip():
            break
    separator = chr(_separator([first.encode()]) or ord(","))
    header: list[str] = []
    try:
        header = next(csv.reader([first], delimiter=separator), [])
    except csv.Error as error:
        notes.add(f"line {last} cannot be read as the header ({error})")
    sheet, reader = _sheet(header, separator, label), csv.reader(lines, delimiter=separator)
    ended = False
    while not ended and not rows.full:
        batch: list[list[str]] = []
        done = reader.line_num
        try:
            for cells in islice(reader, _BATCH):
                batch.append(cells)  # noqa: PERF402 - what came before an error is kept
            ended = len(batch) < _BATCH
        except csv.Error as error:  # a quote that never closes ends in too long a field
            notes.add(f"line {last + reader.line_num} cannot be read as a row ({error})")
        _take(rows, sheet, batch, _line_numbers(batch, last + done, last + reader.line_num), header)
    if not ended:
        notes.add(TOO_MANY)
    if sheet.ragged:
        notes.add(f"{sheet.ragged} rows have more or fewer cells than the header")
    built = rows.build()
    return RunRecord(
        read=ReadNote(label, "table", rows.count, last + reader.line_num),
        end=RunEnd("unknown", Source("measured", label, "a table of metrics does not say how the run ended")),
        series=built.series,
        segments=built.segments,
        times=built.times,
        not_understood=(*notes.texts, *built.remarks),
    )


def _texts(stream: IO[bytes], limits: Limits, notes: Notes) -> Iterator[str]:
    """The lines with their ends, which a quoted cell keeps."""
    start = "\ufeff"
    for _, lines in line_blocks(stream, limits, notes):
        text = b"\n".join(lines).decode("utf-8", "replace").removeprefix(start).replace("\r", "")
        start = "\0"  # NUL bytes have been taken out: nothing begins with one
        for line in text.split("\n"):
            yield line + "\n"


def _line_numbers(batch: list[list[str]], before: int, after: int) -> list[int]:
    """The line in which each row ends: one a row, and one for each line end inside a quoted cell."""
    if after - before == len(batch):
        return list(range(before + 1, after + 1))
    return list(accumulate((1 + sum(cell.count("\n") for cell in row) for row in batch), initial=before))[1:]


def _sheet(header: Sequence[str], separator: str, label: str) -> _Sheet:
    names = [cell.strip().strip("#").strip() for cell in header]
    keys = [plain(name) for name in names]
    sheet = _Sheet(names, separator)
    if keys == _TENSORBOARD:
        stem = PurePosixPath(label.replace("\\", "/")).stem
        sheet.names = [*names[:2], stem.partition("-tag-")[2] or stem]
        return sheet
    name, value = (
        next((keys.index(want) for want in wanted if want in keys), None) for wanted in (_LONG_NAMES, _LONG_VALUES)
    )
    if name is not None and value is not None:
        sheet.long = name, value
    if any(one.endswith("__MIN") for one in names):
        sheet.left_out = {at for at, one in enumerate(names) if one.endswith(("__MIN", "__MAX"))}
        sheet.names = [one.rpartition(" - ")[2] or one for one in names]
    taken: dict[str, int] = {}
    for at, one in enumerate(sheet.names):
        if at not in sheet.left_out:
            taken[one] = taken.get(one, 0) + 1
            sheet.names[at] = one if taken[one] == 1 else f"{one}.{taken[one]}"
    return sheet


def _take(rows: Rows, sheet: _Sheet, batch: list[list[str]], numbers: list[int], header: list[str]) -> None:
    width = len(sheet.names)
    if any(len(cells) != width for cells in batch) or header in batch:
        kept = [at for at, cells in enumerate(batch) if cells and cells != header]
        sheet.ragged += sum(len(batch[at]) != width for at in kept)
        lines = [numbers[at] for at in kept]
        table = [batch[at][:width] + [""] * (width - len(batch[at])) for at in kept]
    else:
        lines, table = numbers, batch
    if not table:
        return
    if not rows.count and sheet.separator != ",":
        sheet.decimal_comma = _is_decimal_comma(cell for cells in table for cell in cells)
    if sheet.long is not None:
        rows.add([_long_row(sheet, cells) for cells in table], lines)
        return
    for at, (name, column) in enumerate(zip(sheet.names, zip(*table, strict=True), strict=True)):
        if name and at not in sheet.left_out:
            index, values = _numbers(column, timed=plain(name) in CLOCKS, decimal_comma=sheet.decimal_comma)
            rows.add_column(name, index + rows.count, values)
    rows.add_lines(lines)


def _long_row(sheet: _Sheet, cells: Sequence[str]) -> dict[str, object]:
    assert sheet.long is not None, "asked of long tables only"
    name, value = sheet.long
    row: dict[str, object] = {
        key: cell for at, (key, cell) in enumerate(zip(sheet.names, cells, strict=True)) if at not in sheet.long
    }
    return row | {cells[name]: _cell(cells[value], sheet.decimal_comma)}


def _numbers(
    cells: Sequence[str], *, timed: bool, decimal_comma: bool
) -> tuple[np.typing.NDArray[np.int64], np.typing.NDArray[np.float64]]:
    """The cells that hold numbers: their places and values. Empty ones, NA and other words are left out."""
    if not decimal_comma:
        try:
            return np.arange(len(cells), dtype=np.int64), np.array(list(map(float, cells)))
        except ValueError:
            pass
    read = [None if not cell else moment(cell) if timed else _cell(cell, decimal_comma) for cell in cells]
    places = [at for at, value in enumerate(read) if value is not None]
    return np.array(places, dtype=np.int64), np.array([value for value in read if value is not None])


def _cell(cell: str, decimal_comma: bool) -> float | None:
    return number(cell.replace(".", "").replace(",", ".") if decimal_comma and "," in cell else cell)


def _is_decimal_comma(cells: Iterable[str]) -> bool:
    """Numbers like 0,25 or 1.234,5: a comma with other than three digits behind it parts no thousands."""
    found = [cell.strip() for cell in cells if _DECIMAL_COMMA.match(cell)]
    return any(len(re.split(r"[eE]", cell.rpartition(",")[2])[0]) != 3 for cell in found)


def _separator(lines: list[bytes]) -> int | None:
    """The separator that the header holds and most of the lines hold as often."""
    best: tuple[int, int] | None = None
    for code in _SEPARATORS:
        counts = [_unquoted(line).count(code) for line in lines]
        if counts[0] and sum(count == counts[0] for count in counts[1:]) >= 0.8 * len(counts[1:]):
            best = max(best or (0, 0), (counts[0], code))
    return best[1] if best is not None else None


def _unquoted(line: bytes) -> bytes:
    return re.sub(rb'"[^"]*"', b"", line)


def _recognises(head: bytes) -> bool:
    lines = [line.rstrip(b"\r") for line in head.split(b"\n") if line.strip()][:31]
    if len(lines) < 2:
        return False
    if len(head) >= 1 << 16 and len(lines) <= 30:
        lines.pop()
    separator = _separator(lines)
    if separator is None:
        return False
    header, *rows = ([cell.strip(b'" \t') for cell in _split(line, separator)] for line in lines)
    cells = [cell.decode("utf-8", "replace") for row in rows for cell in row if cell]
    numeric = sum(
        number(cell) is not None or bool(_DECIMAL_COMMA.match(cell)) or moment(cell) is not None for cell in cells
    )
    names = [cell.decode("utf-8-sig", "replace") for cell in header]
    return numeric * 2 >= len(cells) > 0 and _is_header(names)


def _split(line: bytes, separator: int) -> list[bytes]:
    return re.findall(
        rb'(?:"[^"]*"|[^"%c])+' % separator, re.sub(rb"(?<=%c)(?=%c)|^(?=%c)" % ((separator,) * 3), b" ", line)
    )


def _is_header(names: list[str]) -> bool:
    """Words, among them a counter beside another column, or the name of a metric."""
    if any(number(name) is not None or len(name) > 200 for name in names):
        return False
    keys = [plain(own_name(name)) for name in names]
    counted = any(key in STEP_NAMES or key in EPOCH_NAMES for key in keys) and len(names) > 1
    known = [canonical(own_name(name.rpartition(" - ")[2] or name)) for name in names]
    return counted or any(one.name in CORE for one in known) or sum(one.known for one in known) >= 2


DELIMITED = Format("table", _recognises, read_delimited)
