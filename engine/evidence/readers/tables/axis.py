"""Which column of a table counts the steps, and what the steps of its rows are.

Loggers name their counter in many ways, restart it in every epoch, or write no counter at all. In this order:
a column with the name of a step counter, the rising column of whole numbers, the epoch, the time of the
record, the count of records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

import numpy as np

from engine.evidence.readers.names import canonical
from engine.evidence.series import Floats, Ints

Column = tuple[Ints, Floats]
AxisKind = Literal["step", "epoch", "time", "count"]

# The counter of optimizer steps before the counter of log calls ("_step" of W&B).
STEP_NAMES = (
    "trainer_global_step", "train_global_step", "global_step", "step", "steps", "current_steps", "train_step", "iter",
    "iteration", "iterations", "iters", "n_iter", "update", "updates", "num_updates", "it", "_step",
)  # fmt: skip
EPOCH_NAMES = ("epoch", "epochs", "ep")
CLOCKS = frozenset({
    "_timestamp", "timestamp", "wall_time", "walltime", "time", "datetime", "date", "elapsed_time", "elapsed",
    "_runtime", "relative_time", "created_at", "time_elapsed", "total_time",
})  # fmt: skip
_PAUSE = 1.5  # times the records before and after
_SOON = 4  # rows within which an interleaved writer is back where the other one was
_UNITS = MappingProxyType({1e11: 1e-3, 1e14: 1e-6, 1e17: 1e-9})  # seconds since 1970 are 2e9: more is a finer unit


@dataclass(frozen=True, slots=True)
class Axis:
    """The column that counts (None: the rows are counted), and its step for every row (NaN: before the first)."""

    kind: AxisKind
    column: str | None
    steps: Floats


def plain(name: str) -> str:
    """A column name in the spelling of the lists above: lower case, words joined by underscores."""
    return re.sub(r"(?!^_)[^a-z0-9]+", "_", name.strip().lower()).rstrip("_")


def axis_of(columns: Mapping[str, Column], count: int) -> Axis:
    """Choose the axis of a table of ``count`` rows; a row without a step has that of the row before."""
    named = {plain(name): name for name in reversed(list(columns))}
    kind, name = _chosen(columns, named, count)
    if name is None:
        return Axis("count", None, np.arange(1, count + 1, dtype=np.float64))
    steps = filled(columns[name], count)
    epoch = next((named[key] for key in EPOCH_NAMES if key in named), None)
    if kind == "step" and epoch is not None:
        steps = _through_epochs(steps, filled(columns[epoch], count))
    return Axis(kind, name, steps)


def _chosen(columns: Mapping[str, Column], named: Mapping[str, str], count: int) -> tuple[AxisKind, str | None]:
    kinds: tuple[tuple[AxisKind, tuple[str, ...]], ...] = (("step", STEP_NAMES), ("epoch", EPOCH_NAMES))
    for kind, names in kinds:
        for key in names:
            if key in named and _counts(columns[named[key]][1], count):
                return kind, named[key]
        rising = _rising(columns) if kind == "step" else None
        if rising is not None:
            return "step", rising
    clock = next((name for key, name in named.items() if key in CLOCKS and _counts(columns[name][1], count)), None)
    return ("time", clock) if clock is not None else ("count", None)


def _counts(values: Floats, count: int) -> bool:
    """A counter moves, unless there is nothing to count."""
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and (count <= 1 or float(np.ptp(finite)) > 0)


def _rising(columns: Mapping[str, Column]) -> str | None:
    """The column of whole numbers that rise from row to row and are no known metric, with the most rows."""
    found: list[tuple[int, str]] = []
    for name, (_, values) in columns.items():
        if len(values) < 3 or canonical(name).known or plain(name) in CLOCKS or not np.isfinite(values).all():
            continue
        whole = bool((values == np.floor(values)).all()) and float(np.abs(values).max()) < 1e9
        if whole and float((np.diff(values) > 0).mean()) >= 0.9:
            found.append((len(values), name))
    return max(found, key=lambda item: item[0])[1] if found else None


def filled(column: Column, count: int) -> Floats:
    """The column over all rows: each gap takes the value before it, NaN in front of the first."""
    index, values = column
    known = np.isfinite(values)
    places = np.zeros(count, dtype=np.int64)
    places[index[known]] = index[known] + 1
    places = np.maximum.accumulate(places) if count else places
    spread = np.full(count + 1, np.nan)
    spread[index[known] + 1] = values[known]
    full: Floats = spread[places]
    return full


def _through_epochs(steps: Floats, epochs: Floats) -> Floats:
    """Steps that start anew in every epoch, counted on through the epochs."""
    falls = np.flatnonzero(np.diff(steps) < 0) + 1
    changes = np.flatnonzero(np.diff(epochs) > 0) + 1
    if not len(falls) or not np.isin(falls, changes).all() or len(falls) < len(changes) / 2:
        return steps
    rises = np.diff(steps)
    interval = float(np.median(rises[rises > 0])) if bool((rises > 0).any()) else 1.0
    offsets = np.zeros(len(steps))
    offsets[falls] = steps[falls - 1] + interval - steps[falls]
    counted: Floats = steps + np.cumsum(offsets)
    return counted


def order_of(steps: Floats) -> Ints | None:
    """The order of rows by step where two processes wrote one file in turns; None where the file is in order.

    A fall after which the highest step is reached again within a few rows is the other writer's turn; any other
    is a resume, and rows are not sorted across it.
    """
    falls = np.flatnonzero(np.diff(steps) < 0) + 1
    if len(falls) < 3:
        return None
    highest = np.maximum.accumulate(steps)
    back = np.array([bool((steps[at : at + _SOON + 1] >= highest[at - 1]).any()) for at in falls])
    if back.sum() < 3 or back.sum() < 0.05 * len(steps):
        return None
    edges = [0, *falls[~back].tolist(), len(steps)]
    pieces = [start + np.argsort(steps[start:end], kind="stable") for start, end in pairwise(edges)]
    order: Ints = np.concatenate(pieces).astype(np.int64)
    return order


def seconds(values: Floats) -> Floats:
    """Times in seconds, from seconds or a finer unit since 1970."""
    finite = np.abs(values[np.isfinite(values)])
    typical = float(np.median(finite)) if len(finite) else 0.0
    factor = next((factor for limit, factor in reversed(list(_UNITS.items())) if typical > limit), 1.0)
    scaled: Floats = values * factor
    return scaled


def step_times(steps: Floats, clock: Floats) -> tuple[Floats, Floats, str] | None:
    """Seconds per step from the times of successive records: steps, values, and a remark on pauses left out.

    The time between two records holds all that the loop did: a single long one, up to a tenth of all, is an
    evaluation, a checkpoint or a stall, not a slow step. None where the clock is too coarse (5 % of an interval), the
    records come so fast that they time the logger, or metrics were written in bulk.
    """
    if len(steps) < 6:
        return None
    walked, took = np.diff(steps), np.diff(clock)
    valid = (walked > 0) & (took > 0) & np.isfinite(took)
    if valid.sum() < 5 or float(valid.mean()) < 0.8:
        return None
    ends, took, rates = steps[1:][valid], took[valid], took[valid] / walked[valid]
    coarse = bool((clock == np.floor(clock)).all())
    if float(np.median(took)) < (20.0 if coarse else 0.05):
        return None
    around = np.pad(rates, 1, mode="edge")
    alone = rates > _PAUSE * np.maximum(around[:-2], around[2:])
    if not alone.any() or float(alone.mean()) > 0.1:
        return ends, rates, ""
    longest = int(np.argmax(np.where(alone, took, 0.0)))
    told = f"{int(alone.sum())} long pauses (evaluation, checkpoint or stall) are left out of the step time: "
    told += f"the longest took {took[longest]:.1f} s and ended at step {ends[longest]:g}"
    return ends[~alone], rates[~alone], told
