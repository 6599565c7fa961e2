"""Which rank a collective waited for, from watchdog lines, desync reports and flight recorders of all ranks.

A rank that times out is a victim: it launched the collective and waits. Evidence is who launched less than the others,
or did not report at all. PG status: enqueued above completed while nothing started means that the kernel waits for a
peer; -1 stands for "not recorded" (torch, ProcessGroupNCCL.cpp; the analysis follows torch's fr_trace).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.evidence.series import RunRecord
from engine.evidence.signatures.places import rank_of_file
from engine.model.evidence import Source

_WORK = re.compile(r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(\d+), OpType=(\w+)")
_STATUS = re.compile(
    r"last enqueued work: (-?\d+), last started work: (-?\d+)[^,]*, last completed work: (-?\d+)"
)  # fmt: skip
_GROUP = re.compile(r"\[PG (?:ID (\d+) PG GUID )?(\S*?)(?:\(([^)]*)\))? Rank (\d+)\]")
_RANK = re.compile(r"\[Rank (\d+)\]| Rank (\d+)\]")
_ABSENT = re.compile(r"\[(\d+)\] finished collective #(\d+), but didn't join collective #(\d+)")
_RECORDER = re.compile(
    r"flight recorder of rank (?P<rank>\d+|\?): group (?P<group>.+?) of ranks \[(?P<ranks>[\d, ]*)\], "
    r"enqueued (?P<enqueued>-?\d+), completed (?P<completed>-?\d+)(?:, waits in (?P<op>\S+))?$"
)
_WORLD = re.compile(r"\b(?:world[ _]size|WORLD_SIZE|num_ranks|nranks)\b\s*[=:]?\s*(\d{1,6})\b")
MANY_GROUPS = 4_096


@dataclass(frozen=True, slots=True)
class Status:
    """What one rank says of one process group. ``enqueued`` is the last collective that it launched."""

    rank: int
    group: str
    source: Source
    sequence: int | None = None
    operation: str | None = None
    enqueued: int | None = None
    completed: int | None = None
    members: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Behind:
    """The ranks that a group waited for, why they are named, and in which operation the others wait."""

    ranks: tuple[int, ...]
    operation: str | None
    source: Source


def statuses(records: Iterable[RunRecord]) -> list[Status]:
    """One status for each rank and group, joined from the lines of all records."""
    found: dict[tuple[int, str], Status] = {}
    for record in records:
        of_file = rank_of_file(record.read.file)
        for event in record.events:
            source = Source("signature", f"{record.read.file}:{event.line}", event.text.strip()[:200], rank=event.rank)
            status = _recorder(event.text, source) or _watchdog(event.text, source, event.rank, of_file)
            if status is not None and len(found) < MANY_GROUPS:
                key = (status.rank, status.group)
                found[key] = _joined(found.get(key), status)
    return list(found.values())


def _watchdog(text: str, source: Source, of_line: int | None, of_file: int | None) -> Status | None:
    work, status = _WORK.search(text), _STATUS.search(text)
    if work is None and status is None:
        return None
    group = _GROUP.search(text)
    named = _RANK.search(text)
    # inside of a group the number is the rank in the group; the prefix of the launcher is the global one
    rank = of_line if of_line is not None else of_file
    if rank is None and named is not None:
        rank = int(named[1] or named[2])
    if rank is None:
        return None
    name = (group[3] or group[2]) if group is not None else ""
    return Status(
        rank, name or "default_pg", replace(source, rank=rank),
        int(work[1]) if work is not None else None,
        work[2] if work is not None else None,
        int(status[1]) if status is not None else None,
        int(status[3]) if status is not None else None,
    )  # fmt: skip


def _recorder(text: str, source: Source) -> Status | None:
    match = _RECORDER.search(text)
    if match is None or match["rank"] == "?":
        return None
    members = tuple(int(rank) for rank in match["ranks"].split(",") if rank.strip())
    rank = int(match["rank"])
    return Status(
        rank, f"{match['group']} {list(members)}", replace(source, rank=rank), None, match["op"],
        int(match["enqueued"]), int(match["completed"]), members,
    )  # fmt: skip


def _joined(known: Status | None, new: Status) -> Status:
    if known is None:
        return new
    return replace(
        known,
        sequence=new.sequence if known.sequence is None else known.sequence,
        operation=known.operation or new.operation,
        enqueued=new.enqueued if known.enqueued is None else known.enqueued,
        completed=new.completed if known.completed is None else known.completed,
    )


def world_size(records: Iterable[RunRecord]) -> int | None:
    """The number of ranks, where a line says it."""
    sizes = Counter(
        int(match[1]) for record in records for event in record.events if (match := _WORLD.search(event.text))
    )
    return sizes.most_common(1)[0][0] if sizes else None


def behind(found: Sequence[Status], records: Sequence[RunRecord], world: int | None) -> Behind | None:
    """The ranks that the others wait for, if the evidence singles out at most half of a group."""
    if (absent := _said(records)) is not None:
        return absent
    groups: dict[str, dict[int, Status]] = {}
    for status in found:
        groups.setdefault(status.group, {})[status.rank] = status
    # a line names its group but not who belongs to it; only of the group of all is that known
    of_all = {"default_pg", "0"}
    sized = ((ranks, world if name in of_all else None) for name, ranks in groups.items())
    candidates = [one for ranks, size in sized if (one := _of_group(ranks, size)) is not None]
    return min(candidates, key=lambda one: (len(one.ranks), one.ranks), default=None) or _idle(found)


def _idle(found: Sequence[Status]) -> Behind | None:
    """A single dump, of a rank that waits for nothing: dumps come of a peer's timeout, so this one launches no more."""
    ranks = {status.rank for status in found}
    recorded = [status for status in found if status.members]
    if len(ranks) != 1 or not recorded or any(_waits(status) for status in found):
        return None
    busiest = max(recorded, key=lambda status: status.enqueued or 0)
    return Behind((busiest.rank,), None, busiest.source) if busiest.enqueued else None


def _said(records: Iterable[RunRecord]) -> Behind | None:
    """The desync report of torch (TORCH_NCCL_DESYNC_DEBUG) names the ranks itself."""
    ranks: dict[int, Source] = {}
    for record in records:
        for event in record.events:
            if (match := _ABSENT.search(event.text)) is not None:
                source = Source("signature", f"{record.read.file}:{event.line}", event.text.strip()[:200])
                ranks.setdefault(int(match[1]), source)
    return Behind(tuple(sorted(ranks)), None, next(iter(ranks.values()))) if ranks else None


def _of_group(ranks: Mapping[int, Status], world: int | None) -> Behind | None:
    """The ranks of a group that launched least, or that said nothing while the others wait."""
    waiting = {rank for rank, one in ranks.items() if _waits(one)}
    if not waiting:
        return None
    launched = {rank: one.enqueued if one.enqueued is not None else one.sequence for rank, one in ranks.items()}
    counts = {rank: count for rank, count in launched.items() if count is not None}
    # the collective in which a rank waits: all its peers must reach it
    needed = max(_awaited(ranks[rank]) for rank in waiting)
    late = sorted(rank for rank, count in counts.items() if count < needed)
    members = set(next((one.members for one in ranks.values() if one.members), ())) or set(range(world or 0))
    silent = sorted(members - set(ranks)) if members >= set(ranks) else []
    # silence says something only where nearly all have spoken; a log often has the lines of one rank alone
    if not late and 2 * len(silent) >= len(members):
        return None
    chosen = late or silent
    if not chosen or 2 * len(chosen) > len(members or ranks):
        return None
    operation = Counter(one.operation for rank, one in ranks.items() if rank in waiting and one.operation)
    source = ranks[chosen[0]].source if late else ranks[min(waiting)].source
    return Behind(tuple(chosen), operation.most_common(1)[0][0] if operation else None, source)


def _waits(status: Status) -> bool:
    launched_more = status.enqueued is not None and status.completed is not None and status.enqueued > status.completed
    return status.sequence is not None or launched_more


def _awaited(status: Status) -> int:
    if status.sequence is not None:
        return status.sequence
    return (status.completed or 0) + 1
