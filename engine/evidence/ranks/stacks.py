"""Stacks of all processes of a job that stands still (py-spy dump): the odd group is what the others wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.evidence.readers.traces.py_spy import FORMAT, FRAME, THREAD
from engine.evidence.series import RunRecord
from engine.model.evidence import FindingReading, Source

_LOADER = re.compile(r"dataloader\.py|_try_get_data|_next_data")
_COLLECTIVE = re.compile(
    r"broadcast|all_reduce|all_gather|reduce_scatter|barrier|all_to_all|^(?:i?send|i?recv)$|_object_list|synchronize"
)
_INNERMOST = 8  # frames in which a collective is looked for
_FEWEST = 4  # processes from which on "the others" means something


@dataclass(frozen=True, slots=True)
class Group:
    """Processes with the same stack (innermost frame first), and where the first of them stands."""

    frames: tuple[str, ...]
    count: int
    where: str

    @property
    def in_collective(self) -> bool:
        """Whether it waits for other ranks."""
        return any(_COLLECTIVE.search(frame.partition(" ")[0]) for frame in self.frames[:_INNERMOST])


def groups(records: Iterable[RunRecord]) -> list[Group]:
    """The main threads of all dumps by identical stack, the smallest group first."""
    counted: dict[tuple[str, ...], tuple[int, str]] = {}
    for record in records:
        if record.read.format == FORMAT:
            for frames, threads, line in _stacks(record):
                count, where = counted.get(frames, (0, f"{record.read.file}:{line}"))
                counted[frames] = (count + threads, where)
    found = [Group(frames, count, where) for frames, (count, where) in counted.items()]
    return sorted(found, key=lambda group: (group.count, group.where))


def _stacks(record: RunRecord) -> Iterable[tuple[tuple[str, ...], int, int]]:
    """Stacks as (frames, threads, line). People put the heads of several processes above one stack."""
    threads, line, frames = 0, 0, list[str]()
    for event in record.events:
        thread, frame = THREAD.match(event.text), FRAME.match(event.text)
        if thread is not None:
            if frames:
                if threads:
                    yield tuple(frames), threads, line
                threads, frames = 0, []
            if thread["name"] in {None, "MainThread"}:
                threads += 1
                line = event.line
        elif frame is not None:
            frames.append(f"{frame['function']} ({frame['file']}:{frame['line']})")
    if threads and frames:
        yield tuple(frames), threads, line


def odd_stack(records: Sequence[RunRecord]) -> list[FindingReading]:
    """The smallest group, if it alone is not in a collective, or is alone the smallest, among enough processes."""
    found = groups(records)
    total = sum(group.count for group in found)
    if total < _FEWEST or len(found) < 2:
        return []
    outside = [group for group in found if not group.in_collective]
    odd = outside[0] if outside and sum(group.count for group in outside) * 2 < total else None
    if odd is None and found[0].count < found[1].count and found[0].count * 4 <= total:
        odd = found[0]
    if odd is None:
        return []
    quote = f"{odd.count} of {total} processes: " + " < ".join(odd.frames[:4])
    source = Source("measured", odd.where, quote)
    readings: list[FindingReading] = [
        FindingReading("hang.no-progress", "present", source),
    ]
    if not odd.in_collective:
        readings.append(FindingReading("collective.rank-still-working", "present", source))
        if any(_LOADER.search(frame) for frame in odd.frames):
            readings.append(FindingReading("hang.in-data-loading", "present", source))
    return readings
