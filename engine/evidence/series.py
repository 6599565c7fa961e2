"""What a reader returns: metric series, log events, configuration values and how the run ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.model.evidence import FactReading, FindingReading, Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EndKind = Literal["finished", "stopped", "cancelled", "crashed", "unknown"]
SegmentReason = Literal["start", "resumed", "restarted", "new_run"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One metric over the steps of a run, in the order of the file.

    ``steps``, ``values`` and ``lines`` (1-based line numbers, if the file has lines) have the same length.
    Values keep NaN and infinity. Steps may fall where a run was resumed or started anew. ``unit`` is the
    canonical one of ``engine.evidence.readers.names``; ``origin`` is the label of the file.
    """

    name: str
    steps: Floats
    values: Floats
    unit: str = ""
    origin: str = ""
    lines: Ints | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        lengths = {len(self.steps), len(self.values)} | ({len(self.lines)} if self.lines is not None else set())
        if len(lengths) != 1:
            raise ValueError(f"series {self.name!r}: steps, values and lines differ in length: {sorted(lengths)}")

    def __len__(self) -> int:
        """Count of points."""
        return len(self.values)

    def take(self, index: NDArray[np.bool_] | Ints | slice) -> Series:
        """Return the series of the chosen points."""
        lines = None if self.lines is None else self.lines[index]
        return Series(self.name, self.steps[index], self.values[index], self.unit, self.origin, lines)

    def source(self, at: int) -> Source:
        """Return where point ``at`` stands, with its value as the quote."""
        step = float(self.steps[at])
        where = self.origin or "series"
        where += f":{int(self.lines[at])}" if self.lines is not None else f", step {step:g}"
        whole = int(step) if np.isfinite(step) else None
        return Source("measured", where, f"{self.name} {self.values[at]:.6g} at step {step:g}", whole)


def falls(steps: Floats) -> list[tuple[int, SegmentReason]]:
    """Return (index, reason) where the step falls: back into the run is a resume, back to its start a new start.

    Two logging intervals from the first step still count as the start: a sweep logs run after run at 500,
    501, 506.
    """
    found: list[tuple[int, SegmentReason]] = []
    if len(steps) < 2:
        return found
    rises = np.diff(steps)
    interval = float(np.median(rises[rises > 0])) if bool((rises > 0).any()) else 0.0
    first = float(steps[0])
    for at in np.flatnonzero(rises < 0) + 1:
        back = float(steps[at])
        found.append((int(at), "resumed" if back > first + 2 * interval else "restarted"))
        first = first if back > first + 2 * interval else back
    return found


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A line of a log that is no metric record; prefixes of launchers are cut off and give the rank."""

    line: int
    text: str
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How the run ended, and what says so."""

    kind: EndKind
    source: Source


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of rising steps; a file holds several if a run was resumed, or several runs were appended."""

    reason: SegmentReason
    first_step: float
    last_step: float
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ReadNote:
    """What was read: label of the file, format, count of metric records and of lines."""

    file: str
    format: str
    records: int
    lines: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything a reader got out of one file.

    ``readings`` are facts and findings that the file states outright, ``run`` names the run of which this file is a
    part (records of one run are judged together), ``not_understood`` says what could not be used, and why.
    """

    read: ReadNote
    end: RunEnd
    series: tuple[Series, ...] = ()
    events: tuple[LogEvent, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    readings: tuple[FactReading | FindingReading, ...] = ()
    run: str = ""
    not_understood: tuple[str, ...] = ()


def together(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Join the records that are files of one run: a tracker may keep each metric in a file of its own."""
    runs: dict[str, list[RunRecord]] = {}
    for number, record in enumerate(records):
        runs.setdefault(record.run or f"\0{number}", []).append(record)
    return [parts[0] if len(parts) == 1 else _joined(parts) for parts in runs.values()]


def _joined(parts: Sequence[RunRecord]) -> RunRecord:
    known_ends = [part.end for part in parts if part.end.kind != "unknown"]
    return replace(
        parts[0],
        end=known_ends[0] if known_ends else parts[0].end,
        series=tuple(one for part in parts for one in part.series),
        config={key: value for part in reversed(parts) for key, value in part.config.items()},
        segments=max((part.segments for part in parts), key=len),
    )
