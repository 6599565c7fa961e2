"""What a reader returns: metric series, log events, configuration values and how the run ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from engine.model.evidence import Reading, Source

if TYPE_CHECKING:
    from engine.evidence.readers.results.scores import Evaluation

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

    def source(self, at: int, rank: int | None = None) -> Source:
        """Return where point ``at`` stands, with its value as the quote; ``rank`` is the one that logged it."""
        step = float(self.steps[at])
        where = self.origin or "series"
        where += f":{int(self.lines[at])}" if self.lines is not None else f", step {step:g}"
        whole = int(step) if np.isfinite(step) else None
        return Source("measured", where, f"{self.name} {self.values[at]:.6g} at step {step:g}", whole, rank)


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
class Times:
    """By one clock, in seconds: the last metric record, the longest gap between two, and the latest sign of life."""

    last: float
    longest: float
    latest: float


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

    ``readings`` are facts and findings that the file states outright, ``evaluation`` the scores of a result file (to be
    held against those of another), ``run`` names the run of which this file is a part (records of one run are judged
    together), ``times`` when records were written, where the file tells of later moments as well, ``not_understood``
    what could not be used, and why.
    """

    read: ReadNote
    end: RunEnd
    series: tuple[Series, ...] = ()
    events: tuple[LogEvent, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    readings: tuple[Reading, ...] = ()
    evaluation: Evaluation | None = None
    run: str = ""
    times: Times | None = None
    not_understood: tuple[str, ...] = ()


_VERSION = re.compile(r"version_(\d{1,6})(?=/)")


def together(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Join the records that are files of one run: a tracker may keep each metric in a file of its own.

    A resumed Lightning run goes on in a folder ``version_N`` of its own, as does each run of a sweep: such records are
    of one run if the later one's steps go on where the earlier one's end.
    """
    runs: dict[str, list[RunRecord]] = {}
    for number, record in enumerate(records):
        runs.setdefault(record.run or f"\0{number}", []).append(record)
    joined = [parts[0] if len(parts) == 1 else _joined(parts) for parts in runs.values()]
    result: list[RunRecord] = []
    for record in sorted(joined, key=_version):
        before = next((at for at, one in enumerate(result) if _goes_on(one, record)), None)
        if before is None:
            result.append(record)
        else:
            result[before] = _joined([result[before], record])
    return result


def _version(record: RunRecord) -> int:
    match = _VERSION.search(record.read.file)
    return int(match[1]) if match is not None else -1


def _goes_on(before: RunRecord, after: RunRecord) -> bool:
    if _version(after) < 0 or _VERSION.sub("", before.read.file) != _VERSION.sub("", after.read.file):
        return False
    if not before.series or not after.series:
        return False
    longest = max(before.series, key=len)
    end, begin = float(longest.steps[-1]), min(float(one.steps[0]) for one in after.series)
    interval = float(np.median(np.diff(longest.steps))) if len(longest) > 1 else 1.0
    return begin > float(longest.steps[0]) and end - 2 * interval <= begin <= end + 2 * interval


def _joined(parts: Sequence[RunRecord]) -> RunRecord:
    known_ends = [part.end for part in parts if part.end.kind != "unknown"]
    return replace(
        parts[0],
        end=known_ends[-1] if known_ends else parts[0].end,
        series=continued([one for part in parts for one in part.series]),
        config={key: value for part in reversed(parts) for key, value in part.config.items()},
        segments=max((part.segments for part in parts), key=len),
        times=max((part.times for part in parts if part.times is not None), key=lambda one: one.last, default=None),
    )


def continued(series: Sequence[Series]) -> tuple[Series, ...]:
    """Join the pieces in which files of one run hold a series: a later piece both begins and ends later.

    What a resume repeated stays, so that it can be seen that the run fell back. Line numbers are of several files and
    are dropped.
    """
    pieces: dict[str, list[Series]] = {}
    for one in sorted((one for one in series if len(one)), key=lambda one: (float(one.steps[0]), float(one.steps[-1]))):
        known = pieces.setdefault(one.name, [])
        earlier = [
            at for at, piece in enumerate(known) if piece.steps[0] < one.steps[0] and piece.steps[-1] < one.steps[-1]
        ]
        if not earlier:
            known.append(one)
            continue
        at = max(earlier, key=lambda at: float(known[at].steps[-1]))
        before = known[at]
        known[at] = Series(
            one.name,
            np.concatenate([before.steps, one.steps]),
            np.concatenate([before.values, one.values]),
            one.unit,
            before.origin,
        )
    return tuple(piece for known in pieces.values() for piece in known)
