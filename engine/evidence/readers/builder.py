"""Collects chunks of metric columns and makes series, segments and remarks of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.evidence.readers.names import canonical
from engine.evidence.series import Floats, Ints, Segment, SegmentReason, Series, falls


@dataclass(slots=True)
class SeriesBuilder:
    """Accumulates columns by raw name; ``build`` maps names and units and joins the chunks.

    ``absent`` maps raw names to the constant that the logger prints for "not available".
    """

    origin: str
    absent: dict[str, float] = field(default_factory=dict)
    chunks: dict[str, list[tuple[Floats, Floats, Ints | None]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, steps: Floats, values: Floats, lines: Ints | None) -> None:
        """Add points of one raw name, in the order of the file."""
        if len(steps):
            self.chunks[name].append((steps, values, lines))

    def build(self) -> tuple[tuple[Series, ...], list[str]]:
        """Return the series by first appearance, and remarks on what was left out."""
        series: dict[str, Series] = {}
        remarks: list[str] = []
        for raw, chunks in self.chunks.items():
            name = canonical(raw)
            # a second counter of the same kind keeps its own name: the two must not be mixed
            label = name.name if name.name not in series else raw
            one = self._joined(label, name.unit, name.scale, chunks)
            if raw in self.absent and np.all(one.values == self.absent[raw] * name.scale):
                remarks.append(f"{raw} is {self.absent[raw]:g} in every record: printed for 'not available'")
                continue
            series[label] = one
        return tuple(series.values()), remarks

    def _joined(self, name: str, unit: str, scale: float, chunks: list[tuple[Floats, Floats, Ints | None]]) -> Series:
        steps = np.concatenate([chunk[0] for chunk in chunks])
        values = np.concatenate([chunk[1] for chunk in chunks]) * scale
        numbered = [chunk[2] for chunk in chunks if chunk[2] is not None]
        lines = np.concatenate(numbered) if len(numbered) == len(chunks) else None
        one = Series(name, steps, values, unit, self.origin, lines)
        # several ranks print the same record one after the other
        repeated = np.concatenate([[False], (np.diff(steps) == 0) & _same(values)]) if len(steps) else np.zeros(0, bool)
        return one.take(~repeated) if repeated.any() else one


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
