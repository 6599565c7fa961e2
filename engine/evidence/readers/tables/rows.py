"""Rows of a metrics table, gathered by column and turned into series once the step column is known.

A column keeps only the rows that have it, so sparse tables (evaluation rows between training rows, the cells
that Lightning leaves empty) need no special case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.columns import as_array, number
from engine.evidence.readers.names import canonical
from engine.evidence.readers.tables.axis import (
    CLOCKS,
    Axis,
    Column,
    axis_of,
    filled,
    order_of,
    plain,
    seconds,
    step_times,
)
from engine.evidence.series import Floats, Ints, Segment, Series, Times

CORE = frozenset({"loss", "eval_loss", "grad_norm", "learning_rate"})  # metrics that tell a training run
MOST_COLUMNS = 2_000  # thousands of layer norms are logged by some; more names than that are data, not metrics
MOST_VALUES = 16_000_000  # some 50 bytes each
TOO_MANY = f"more than {MOST_VALUES} values: the rest was left out"
# counters and plans beside the metrics
_NOT_METRICS = frozenset({"total_flos", "total_steps", "current_steps", "percentage", "remaining_time"})
SPEEDS = frozenset({"step_time", "tokens_per_second", "samples_per_second", "steps_per_second"})
PACE = ("loss", "learning_rate", "grad_norm")  # records that come once per logging interval
_CLOCK = re.compile(r"^(?:(\d{1,6}) days?, )?(\d{1,6}):(\d\d):(\d\d(?:\.\d+)?)$")
_CALENDAR = 1e9  # seconds since 1970: less is a time since the start


@dataclass(frozen=True, slots=True)
class Built:
    """The series of a table, its segments, and remarks on what was left out or guessed."""

    series: tuple[Series, ...]
    segments: tuple[Segment, ...]
    remarks: list[str]
    times: Times | None = None


@dataclass(slots=True)
class Rows:
    """Gathers rows; ``absent`` maps names to the constant that a logger writes for "not available"."""

    origin: str
    absent: dict[str, float] = field(default_factory=dict)
    count: int = 0
    values: int = 0
    dropped: set[str] = field(default_factory=set)
    _columns: dict[str, list[Column]] = field(default_factory=lambda: defaultdict(list))
    _lines: list[Ints] = field(default_factory=list)

    def add(self, rows: Sequence[Mapping[str, object]], lines: Sequence[int] | None = None) -> None:
        """Add rows in the order of the file; objects inside are spread one level deep as ``a/b``."""
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            groups[tuple(row)].append(at)
        for keys, places in groups.items():
            index = np.array(places, dtype=np.int64) + self.count
            chosen = rows if len(places) == len(rows) else [rows[at] for at in places]
            for key in keys:
                self._add(str(key), index, [row[key] for row in chosen])
        self.count += len(rows)
        if lines is not None:
            self._lines.append(np.array(lines, dtype=np.int64))

    @property
    def full(self) -> bool:
        """Whether there are as many values as are taken; the reader then stops and says so (``TOO_MANY``)."""
        return self.values >= MOST_VALUES or self.count >= MOST_VALUES

    def add_columns(self, columns: Mapping[str, Column]) -> None:
        """Add values of rows that are counted afterwards, in columns that count these rows from 0."""
        for name, (index, values) in columns.items():
            self.add_column(name, index + self.count, values)

    def add_lines(self, lines: Sequence[int]) -> None:
        """Count rows whose columns were added, by the lines they stand in."""
        self.count += len(lines)
        self._lines.append(as_array(lines))

    def add_column(self, name: str, index: Ints, values: Floats) -> None:
        """Add values of one column that stand in the rows ``index``, counted from the first row of the file."""
        if name not in self._columns and len(self._columns) >= MOST_COLUMNS:
            self.dropped.add(name) if len(self.dropped) < MOST_COLUMNS else None
        elif len(index):
            self._columns[name].append((index, values))
            self.values += len(index)

    def _add(self, name: str, index: Ints, values: list[object]) -> None:
        kinds = set(map(type, values))
        if kinds <= {int, float}:
            try:
                self.add_column(name, index, np.array(values, dtype=np.float64))
                return
            except OverflowError:  # an integer beyond the floats
                pass
        if dict in kinds:
            self._spread(name, index, values)
        timed = plain(name) in CLOCKS
        read = [moment(value) if timed else value_of(value) for value in values]
        known = np.array([value is not None for value in read], dtype=np.bool_)
        if known.any():
            self.add_column(name, index[known], np.array([value for value in read if value is not None]))

    def _spread(self, name: str, index: Ints, values: list[object]) -> None:
        parts: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for at, value in zip(index.tolist(), values, strict=True):
            for key, inner in value.items() if isinstance(value, dict) and "_type" not in value else ():  # W&B media
                if (parsed := value_of(inner)) is not None and len(parts) < MOST_COLUMNS:
                    parts[f"{name}/{key}"][0].append(at)
                    parts[f"{name}/{key}"][1].append(parsed)
        for key, (places, numbers) in parts.items():
            self.add_column(key, np.array(places, dtype=np.int64), np.array(numbers))

    def columns(self) -> dict[str, Column]:
        """The columns gathered so far, each whole and in the order of the rows."""
        joined: dict[str, Column] = {}
        for name, parts in self._columns.items():
            index = np.concatenate([part[0] for part in parts])
            values = np.concatenate([part[1] for part in parts])
            if len(index) > 1 and bool((np.diff(index) < 0).any()):
                order = np.argsort(index, kind="stable")
                index, values = index[order], values[order]
            joined[name] = (index, values)
        return joined

    def build(self) -> Built:
        """Find the steps and return the series; call once after the last row."""
        columns = self.columns()
        self._columns.clear()
        axis = axis_of(columns, self.count)
        lines = np.concatenate(self._lines) if self._lines else None
        builder, remarks = SeriesBuilder(self.origin, self.absent), _said(axis)
        order = order_of(axis.steps[np.isfinite(axis.steps)]) if axis.column is not None else None
        if order is not None:
            remarks.append("several processes wrote this file in turns: its records were sorted, each step kept once")
        names = _metrics(columns, axis)
        timed = self._times(columns, axis, names)
        for name in names:
            index, values = columns.pop(name)
            if (gaps := _gaps(name, values)) is not None:
                remarks.append(f"{name} is NaN in all but every {gaps}th record: read as 'not measured' there")
            keep = np.isfinite(axis.steps[index]) & ~(np.isnan(values) & (gaps is not None))
            index, values = index[keep], values[keep]
            if order is not None:
                at = _sorted(axis.steps, index)
                index, values = index[at], values[at]
            whole = len(index) == self.count and order is None  # then arrays are shared, not copied
            steps = axis.steps if whole else axis.steps[index]
            builder.add(own_name(name), steps, values, lines if lines is None or whole else lines[index])
        if self.dropped:
            remarks.append(f"more than {MOST_COLUMNS} columns: {len(self.dropped)} or more were left out")
        series, more = builder.build()
        if timed is not None and not SPEEDS & {one.name for one in series}:
            series += paced(*timed, self.origin, more)
        pace = next((one for want in PACE for one in series if one.name == want), None)
        times = times_of(timed[1]) if timed is not None else None
        return Built(series, segments_of(pace, [], []), remarks + more, times)

    def _times(self, columns: Mapping[str, Column], axis: Axis, names: list[str]) -> tuple[Floats, Floats] | None:
        """The steps and times of the records of the loss, if the table has a clock."""
        clock = next((name for name in columns if plain(name) in CLOCKS and name not in names), None)
        named = {canonical(own_name(name)).name: name for name in reversed(names)}
        logged = next((named[name] for name in PACE if name in named), None)
        if axis.kind != "step" or clock is None or logged is None:
            return None
        index = columns[logged][0]
        return axis.steps[index], filled(columns[clock], self.count)[index]


def paced(steps: Floats, times: Floats, origin: str, remarks: list[str]) -> tuple[Series, ...]:
    """The step time from the times of successive records, for want of a metric of speed; () if it cannot be told."""
    found = step_times(steps, seconds(times))
    if found is None:
        return ()
    ends, values, told = found
    remarks += [told] if told else []
    return (Series("step_time", ends, values, "s", f"{origin} (times of the records)"),)


def times_of(clock: Floats) -> Times | None:
    """The times of the records, if they are those of a calendar; the file tells of none later than its last record."""
    known = seconds(clock[np.isfinite(clock)])
    if len(known) < 3 or float(known.min()) < _CALENDAR:
        return None
    last = float(known.max())
    return Times(last, float(np.diff(known).max()), last)


def own_name(name: str) -> str:
    """The name of a metric without the folder that the Trainer's callbacks put before it: ``train/x``, ``eval/x``."""
    space, slash, rest = name.partition("/")
    if not slash or not rest:
        return name
    if space.lower() in {"train", "training", "trainer"}:
        return rest
    return f"eval_{rest}" if space.lower() in {"eval", "val", "valid", "validation"} else name


def value_of(value: object) -> float | None:
    """A number, or the text of one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return number(value) if isinstance(value, str) else float(value)
    except OverflowError:
        return float("inf")


def moment(value: object) -> float | None:
    """Seconds: a number, an elapsed time ("1 day, 0:08:23"), or a date and time of ISO 8601."""
    known = value_of(value)
    if known is not None or not isinstance(value, str) or len(value) > 40:
        return known
    clock = _CLOCK.match(value.strip())
    if clock is not None:
        return int(clock[1] or 0) * 86400.0 + int(clock[2]) * 3600.0 + int(clock[3]) * 60.0 + float(clock[4])
    try:
        read = datetime.fromisoformat(value.strip())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _metrics(columns: Mapping[str, Column], axis: Axis) -> list[str]:
    """The columns that are metrics; of several spellings of one metric the one that stands for it comes first.

    That is the one with most values, but not the evaluation loss of single batches that Lightning logs beside the mean.
    A column with the name of a clock that does not run forward is no clock but a duration.
    """
    names = [
        name
        for name, (_, values) in columns.items()
        if name != axis.column or axis.kind == "epoch"
        if plain(name) not in _NOT_METRICS and not _is_counter(name, values)
    ]
    return sorted(names, key=lambda name: rank(name, len(columns[name][0])))


def rank(name: str, count: int) -> tuple[bool, int, bool]:
    """The place of a metric with ``count`` values among its spellings, for sorting."""
    known = canonical(own_name(name)).name
    return known == "eval_loss" and plain(name).endswith("_step"), -count, known != name


def _is_counter(name: str, values: Floats) -> bool:
    key = plain(name)
    if key in CLOCKS:
        return len(values) < 2 or float((np.diff(values) >= 0).mean()) > 0.9
    return key in {"_step", "step", "global_step", "train_global_step", "trainer_global_step"}


def _said(axis: Axis) -> list[str]:
    if axis.kind == "time":
        return [f"there is no step column: {axis.column} (a time) stands in for it"]
    if axis.kind == "count":
        return ["there is no step column: the records are counted instead"]
    return []


def _sorted(steps: Floats, index: Ints) -> Ints:
    """The places of ``index`` by step within each stretch between resumes, each step once."""
    own = steps[index]
    order = order_of(own)
    order = np.arange(len(own)) if order is None else order
    first = np.concatenate([[True], np.diff(own[order]) != 0]) if len(own) else np.zeros(0, dtype=np.bool_)
    return order[first]


def _gaps(name: str, values: Floats) -> int | None:
    """The distance of measured values if all between them is NaN: a metric that is not taken in every record."""
    nan = np.isnan(values)
    if not nan.any() or canonical(own_name(name)).name in PACE:
        return None
    measured = np.flatnonzero(~nan)
    if len(measured) < 3:
        return None
    distances = np.unique(np.diff(measured))
    return int(distances[0]) if len(distances) == 1 and distances[0] >= 2 else None
