"""Collects chunks of metric columns and makes series, segments and remarks of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.evidence.readers.names import canonical
from engine.evidence.series import Floats, Ints, Segment, SegmentReason, Series, falls

MAX_POINTS = 1 << 18
"""Points kept of a series before it is thinned: no plot shows more, and memory stays flat over logs of gigabytes."""
_BUCKET = 8

_Chunk = tuple[Floats, Floats, Ints | None]


@dataclass(slots=True)
class _Points:
    """The points of one metric: ``kept`` ones, thinned ``level`` times, and ``fresh`` ones as they came."""

    kept: list[_Chunk] = field(default_factory=list)
    fresh: list[_Chunk] = field(default_factory=list)
    level: int = 0
    count: int = 0

    def add(self, chunk: _Chunk) -> None:
        self.fresh.append(chunk)
        self.count += len(chunk[0])
        if self.count > MAX_POINTS:
            self._settle()
            while self.count > MAX_POINTS // 2:
                self.kept = [_thin(_concatenated(self.kept))]
                self.level += 1
                self.count = len(self.kept[0][0])

    def _settle(self) -> None:
        """Thin what is fresh as far as what is kept, so that the whole run is seen at one resolution."""
        fresh = _concatenated(self.fresh)
        for _ in range(self.level):
            fresh = _thin(fresh)
        self.kept, self.fresh = [*self.kept, fresh], []
        self.count = sum(len(chunk[0]) for chunk in self.kept)

    def all(self) -> _Chunk:
        if self.fresh:
            self._settle()
        return _concatenated(self.kept)


@dataclass(slots=True)
class SeriesBuilder:
    """Accumulates columns by raw name; ``build`` maps names and units and joins the chunks.

    ``absent`` maps raw names to the constant that the logger prints for "not available".
    """

    origin: str
    absent: dict[str, float] = field(default_factory=dict)
    points: dict[str, _Points] = field(default_factory=lambda: defaultdict(_Points))

    def add(self, name: str, steps: Floats, values: Floats, lines: Ints | None) -> None:
        """Add points of one raw name, in the order of the file."""
        if len(steps):
            self.points[name].add((steps, values, lines))

    def build(self) -> tuple[tuple[Series, ...], list[str]]:
        """Return the series by first appearance, and remarks on what was left out."""
        whole: dict[str, Series] = {}
        remarks: list[str] = []
        for raw, points in self.points.items():
            name = canonical(raw)
            one = self._joined(name.name, name.unit, name.scale, points.all())
            if raw in self.absent and np.all(one.values == self.absent[raw] * name.scale):
                remarks.append(f"{raw} is {self.absent[raw]:g} in every record: printed for 'not available'")
            else:
                whole[raw] = one
        thinned = sorted(canonical(raw).name for raw, points in self.points.items() if points.level)
        if thinned:
            remarks.append(
                f"more than {MAX_POINTS} records: of {', '.join(thinned)} a part was kept, with all extremes"
            )
        chosen: dict[str, str] = {}
        for raw, one in whole.items():
            best = chosen.get(one.name)
            if best is None or (len(one), raw == one.name) > (len(whole[best]), best == one.name):
                chosen[one.name] = raw
        return tuple(_named(one, raw, chosen[one.name]) for raw, one in whole.items()), remarks

    def _joined(self, name: str, unit: str, scale: float, points: _Chunk) -> Series:
        steps, values, lines = points
        one = Series(name, steps, values * scale, unit, self.origin, lines)
        # several ranks print the same record one after the other
        repeated = np.concatenate([[False], (np.diff(steps) == 0) & _same(values)]) if len(steps) else np.zeros(0, bool)
        return one.take(~repeated) if repeated.any() else one


def _concatenated(chunks: list[_Chunk]) -> _Chunk:
    numbered = [chunk[2] for chunk in chunks if chunk[2] is not None]
    return (
        np.concatenate([chunk[0] for chunk in chunks]),
        np.concatenate([chunk[1] for chunk in chunks]),
        np.concatenate(numbered) if len(numbered) == len(chunks) else None,
    )


def _thin(chunk: _Chunk) -> _Chunk:
    """Of every few points the lowest, the highest and the first, and the first that is not finite: no event is lost."""
    steps, values, lines = chunk
    whole = len(values) // _BUCKET * _BUCKET
    table = values[:whole].reshape(-1, _BUCKET)
    finite = np.isfinite(table)
    keep = np.zeros(table.shape, dtype=bool)
    rows = np.arange(len(table))
    keep[:, 0] = True
    keep[rows, np.where(finite, table, np.inf).argmin(axis=1)] = True
    keep[rows, np.where(finite, table, -np.inf).argmax(axis=1)] = True
    broken = np.flatnonzero(~finite.all(axis=1))
    keep[broken, (~finite[broken]).argmax(axis=1)] = True
    index = np.concatenate([np.flatnonzero(keep), np.arange(whole, len(values))])
    return steps[index], values[index], None if lines is None else lines[index]


def _named(one: Series, raw: str, chosen: str) -> Series:
    """A second counter of the same kind keeps its own name: the two must not be mixed."""
    if raw == chosen:
        return one
    return replace(one, name=raw if raw != one.name else f"{raw} (second)")


def _same(values: Floats) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    return same


def segments_of(axis: Series | None, resumed_at: list[int], new_run_at: list[int]) -> tuple[Segment, ...]:
    """Cut the axis of training records where the step falls, a resume is announced or a new run begins.

    ``resumed_at`` and ``new_run_at`` are line numbers of the announcements.
    """
    if axis is None or not len(axis):
        return ()
    cuts: dict[int, SegmentReason] = dict(falls(axis.steps))
    if axis.lines is not None:
        for reason, places in (("resumed", resumed_at), ("new_run", new_run_at)):
            for line in places:
                at = int(np.searchsorted(axis.lines, line))
                if at < len(axis) and (at or reason == "resumed"):
                    cuts[at] = "resumed" if reason == "resumed" else "new_run"
    starts = sorted(cuts.keys() | {0})
    ends = [*starts[1:], len(axis)]
    return tuple(
        Segment(
            cuts.get(start, "start"),
            float(axis.steps[start]),
            float(axis.steps[end - 1]),
            None if axis.lines is None else int(axis.lines[start]),
        )
        for start, end in zip(starts, ends, strict=True)
    )
