"""Megatron-LM and Megatron-DeepSpeed console: ``iteration n/ m | key: value | key: value |``.

Nothing is taken from order or presence of the keys. Known habits of the forks: the loss is missing when every
step of the interval was skipped, skip counters stay 0 when DeepSpeed does the skipping, terminals and srun
cut long lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.evidence.readers.columns import (
    Columns,
    Shape,
    Spans,
    as_array,
    columns,
    columns_of,
    in_order,
    number,
    shapes,
)
from engine.evidence.readers.console.grammar import Grammar
from engine.evidence.readers.lines import without_prefix
from engine.evidence.series import Floats, Ints

HEAD = re.compile(rb"iteration\s+(\d{1,15})\s*/\s*(\d{1,15})\s*\|")
_STARTS = (b" iteration ", b"iteration ")
_VALIDATION = re.compile(rb"valid(?:ation)? loss at (?:iteration )?(\d{1,15})[^|]*\| *lm loss value: *([^|]+?) *\|")
_MEMORY = re.compile(rb"\(after \d+ iterations\) memory \(MB\).*?\| max allocated: ([\d.]+)")
_CONTINUATIONS = 8  # a record of 500 characters wrapped at 80 columns
_PAIR = re.compile(rb"\|\s*([^|:]+?)\s*:\s*([^|\s]+)")
_UNUSED = frozenset({b"consumed samples", b"consumed tokens", b"num zeros"})


@dataclass(slots=True)
class Megatron(Grammar):
    """Takes the metric records out of blocks of lines; state is what outlives a block."""

    name: str = "megatron"
    _last_step: float | None = None
    _loss: str | None = None
    _memory_seen: bool = False

    def __post_init__(self) -> None:
        """DeepSpeed's pipeline engine prints these for what it does not compute."""
        self.builder.absent |= {"grad norm": 0.0, "loss scale": -1.0}

    def concerns(self, text: bytes) -> bool:
        """Iterations, their validation, and memory reports."""
        return b"iteration" in text

    def take(self, numbers: Sequence[int], lines: list[bytes], places: Sequence[int]) -> Sequence[int]:
        """Use the records of these lines; return the places of the lines that are none. All lines are looked at."""
        del places
        plain: list[Shape] = []
        others: list[Shape] = []
        for shape in shapes(lines):
            (plain if shape.text.startswith(_STARTS) and shape.text.endswith(b"|") else others).append(shape)
        rest = in_order(others)
        careful = in_order([shape for shape in others if _needs_care(shape.text)]).tolist()
        rows: dict[int, bytes] = {}
        if careful:
            used = self._take_carefully(careful, numbers, lines, rows)
            rest = rest[~np.isin(rest, list(used))] if used else rest
        where = as_array(numbers)
        if rows:  # they stand between the plain ones
            rows |= {place: lines[place] for place in in_order(plain).tolist()}
            ordered = np.array(sorted(rows), np.int64)
            table = columns([rows[place] for place in ordered.tolist()], _pairs)
            refused = self._add(
                {key: (ordered[index], values) for key, (index, values) in table.items()}, ordered, where
            )
        else:
            refused = self._add(columns_of(plain, _pairs), in_order(plain), where) if plain else rest[:0]
        left: list[int] = np.sort(np.concatenate([rest, refused])).tolist()
        return left

    def _take_carefully(
        self, places: list[int], numbers: Sequence[int], lines: list[bytes], rows: dict[int, bytes]
    ) -> set[int]:
        """Records behind prefixes and cut ones, which join ``rows``; validations and memory. The places used."""
        used: set[int] = set()
        for place in places:
            line = lines[place]
            if place in used:  # it goes on with the record before
                continue
            head = HEAD.search(line)
            if head is None:
                if self._validation(line, numbers[place]) or self._memory(line, numbers[place]):
                    used.add(place)
                continue
            row, after = line[head.start() :] if not line.startswith(_STARTS) else line, place + 1
            if not row.endswith(b"|"):
                row, after = _joined(row.rstrip(), lines, after)
            rows[place] = row
            used.update(range(place, after))
        return used

    def _add(self, table: Columns, places: Ints, where: Ints) -> Ints:
        """Add the records at these places, which stand in the lines ``where``; return those that only look like one."""
        at, axis = table.pop("step", (places[:0], np.zeros(0)))
        if not len(at):
            return places
        total = table.pop("total")[1][-1]
        self._mark_skips(table, axis)
        lines = where[at]
        for key, (index, values) in table.items():
            own = slice(None) if len(index) == len(at) else np.searchsorted(at, index)
            self.builder.add(key, axis[own], values, lines[own])
        self.records += len(axis)
        self.config["train_iters"] = int(total)
        self.last_line, self._last_step = int(lines[-1]), float(axis[-1])
        return places[:0] if len(at) == len(places) else np.setdiff1d(places, at)

    def _mark_skips(self, table: Columns, axis: Floats) -> None:
        """A record without loss had all its steps skipped, whatever the skip counter says."""
        loss = next((key for key in table if key.replace("-", " ") == "lm loss"), None)
        skipped = table.get("number of skipped iterations")
        self._loss = loss or self._loss
        if skipped is None or self._loss is None:
            return
        index, values = skipped
        missing = ~np.isin(index, table[loss][0]) if loss is not None else np.ones(len(index), bool)
        interval = float(np.median(np.diff(axis))) if len(axis) > 1 else axis[0] - (self._last_step or axis[0] - 1)
        hidden = missing & (values == 0)
        if hidden.any():
            table["number of skipped iterations"] = (index, np.where(hidden, max(interval, 1.0), values))

    def _validation(self, line: bytes, line_number: int) -> bool:
        match = _VALIDATION.search(line)
        value = number(match[2]) if match is not None else None
        if match is None or value is None:
            return False
        step = np.array([float(match[1])])
        self.builder.add("eval_loss", step, np.array([value]), np.array([line_number], dtype=np.int64))
        return True

    def finish(self) -> None:
        """Nothing is held back."""

    def _memory(self, line: bytes, line_number: int) -> bool:
        """The memory report of one rank; the other ranks say about the same."""
        match = _MEMORY.search(line)
        if match is not None and not self._memory_seen:
            self._memory_seen = True
            step = np.array([self._last_step or 0.0])
            place = np.array([line_number], dtype=np.int64)
            self.builder.add("max_allocated (MB)", step, np.array([float(match[1])]), place)
        return match is not None


def _pairs(row: bytes) -> Spans:
    head = HEAD.match(row.lstrip())
    if head is None:
        return []
    blanks = len(row) - len(row.lstrip())
    groups = (("step", 1), ("total", 2))
    place = [(name, blanks + head.start(group), blanks + head.end(group)) for name, group in groups]
    pairs = (pair for pair in _PAIR.finditer(row) if pair[1] not in _UNUSED)
    return [*place, *((pair[1].decode("utf-8", "replace"), *pair.span(2)) for pair in pairs)]


def _joined(row: bytes, lines: list[bytes], at: int) -> tuple[bytes, int]:
    """Append the following lines to a cut record, up to the line that ends it; give up at the next record."""
    whole = row
    for ahead in range(at, min(at + _CONTINUATIONS, len(lines))):
        line, _ = without_prefix(lines[ahead])
        if HEAD.search(line) is not None or (b"|" not in line and b":" not in line):
            break
        whole += line
        if line.rstrip().endswith(b"|"):
            return whole, ahead + 1
    return row, at


def _needs_care(line: bytes) -> bool:
    """Tell whether a line that is no plain record may hold one all the same, or a validation or memory report."""
    return b"|" in line and (b"iteration" in line or b"valid" in line)
