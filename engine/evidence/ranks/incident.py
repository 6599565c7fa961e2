"""What the lines of all ranks say together: the first and the odd rank, the rank behind, the error nobody knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.evidence.ranks import collectives, launcher, stacks
from engine.evidence.ranks.crashes import last_error
from engine.evidence.ranks.silence import running_without_records
from engine.evidence.ranks.start import timed_out_at_start
from engine.evidence.ranks.tracebacks import LAUNCHERS, Traceback, tracebacks
from engine.evidence.series import RunRecord
from engine.evidence.signatures import Hit
from engine.evidence.signatures.places import rank_of_file
from engine.evidence.signatures.readings import CONSEQUENCES
from engine.model.evidence import FactReading, FindingReading, Reading, Source, Value

MANY_RECORDS = 20
"""Metric records before an out-of-memory from which on the run had proved to fit."""
QUOTED_LINES = 3
_OOM = ("OutOfMemoryError", "CUDA out of memory", "HIP out of memory")


@dataclass(frozen=True, slots=True)
class Failure:
    """One rank's own error: not what a launcher or a peer did to it."""

    rank: int | None
    what: str
    source: Source
    time: float | None
    file: str
    line: int


def incident(records: Sequence[RunRecord], hits: Sequence[Hit]) -> list[Reading]:
    """Facts and findings over all files of a case; ``hits`` are those of the same records."""
    traced = [(record, one) for record in records for one in tracebacks(record)]
    ended = launcher.exits(records)
    failures = _failures(traced, hits, ended)
    return [
        *_behind(records),
        *stacks.odd_stack(records),
        *_ranks(failures, records, ended),
        *timed_out_at_start(records),
        *running_without_records(records),
        *_memory(traced),
        *_unrecognised(records, traced, hits),
        *_ends(records),
    ]


def _behind(records: Sequence[RunRecord]) -> list[Reading]:
    found = collectives.statuses(records)
    late = collectives.behind(found, records, collectives.world_size(records))
    if late is None:
        return []
    facts: list[Reading] = [
        FactReading("collective.ranks_behind", float(len(late.ranks)), late.source),
        FactReading("collective.lagging_rank", float(late.ranks[0]), late.source),
    ]
    return facts + ([FactReading("collective.op", late.operation, late.source)] if late.operation else [])


def _failures(
    traced: Sequence[tuple[RunRecord, Traceback]], hits: Sequence[Hit], ended: Sequence[launcher.Exit]
) -> list[Failure]:
    """Errors of their own: root hits, tracebacks that no cascade explains, exits that were not victims."""
    cascades = {hit.where for hit in hits if hit.signature.role in CONSEQUENCES}
    waited: dict[int | None, int] = {}
    for hit in hits:
        if hit.signature.role == "cascade" and hit.rank is not None:
            waited[hit.rank] = min(hit.line, waited.get(hit.rank, hit.line))
    found = [
        Failure(
            hit.rank, hit.signature.id, Source("signature", hit.where, hit.quote, rank=hit.rank), hit.time,
            hit.where.rpartition(":")[0], hit.line,
        )
        for hit in hits
        if hit.signature.role == "root" and hit.line < waited.get(hit.rank, hit.line + 1)  # not the abort of a victim
    ]  # fmt: skip
    for record, one in traced:
        if one.exception and one.name not in LAUNCHERS and one.where not in cascades:
            file = record.read.file
            found.append(Failure(one.rank, one.name, _quoted(one), one.time, file, one.last))
    for end in ended:
        if end.code not in launcher.VICTIMS and end.code:
            quote = f"rank {end.rank} of {end.host}: exit code {end.code}"
            source = Source("signature", end.where, quote, rank=end.rank)
            file, _, line = end.where.rpartition(":")
            found.append(Failure(end.rank, f"exit {end.code}", source, end.time, file, int(line)))
    return found


def _ranks(failures: Sequence[Failure], records: Sequence[RunRecord], ended: Sequence[launcher.Exit]) -> list[Reading]:
    """The first rank by time, else by line where all stand in one file; the rank whose error is another's."""
    facts: list[Reading] = []
    nodes = launcher.failed_nodes(records, ended)
    if len(nodes) > 1:
        quote = f"failed on {', '.join(sorted(nodes)[:5])}"
        facts.append(FactReading("incident.failed_nodes", float(len(nodes)), Source("signature", "launcher", quote)))
    of_ranks = [one for one in failures if one.rank is not None]
    own = [one for one in of_ranks if not one.what.startswith("exit ")] or of_ranks
    seen = {event.rank for record in records for event in record.events} | {rank_of_file(r.read.file) for r in records}
    if not own or len((seen | {one.rank for one in of_ranks}) - {None}) < 2:
        return facts
    facts.append(FactReading("incident.failed_ranks", float(len({one.rank for one in of_ranks})), own[0].source))
    # a log often shows one rank alone, while the launcher saw others fail as well
    shown = {one.rank for one in of_ranks} == {one.rank for one in own}
    first, odd = _first(own) if shown else None, _odd(own)
    if first is not None:
        facts.append(FactReading("incident.first_rank", float(first.rank or 0), first.source))
    if odd is not None:
        facts.append(FactReading("incident.odd_rank", float(odd.rank or 0), odd.source))
    return facts


def _first(failures: Sequence[Failure]) -> Failure | None:
    """The earliest, if that is decided: by the clock when every line has one, else by line within one file.

    Where all show the same error nobody is first: the order is that of printing.
    """
    ranks = {one.rank for one in failures}
    if len(ranks) > 1 and any({one.rank for one in failures if one.what == kind.what} == ranks for kind in failures):
        return None
    one_file = len({one.file for one in failures}) == 1
    if all(one.time is not None for one in failures):
        ordered = sorted(failures, key=lambda one: (one.time or 0.0, one.line))
        tied = {one.rank for one in ordered if one.time == ordered[0].time}
        return ordered[0] if len(tied) == 1 or one_file else None
    return min(failures, key=lambda one: one.line) if one_file else None


def _odd(failures: Sequence[Failure]) -> Failure | None:
    """One rank whose error no other has, while at least two others share theirs."""
    kinds: dict[str, set[int | None]] = {}
    for one in failures:
        kinds.setdefault(one.what, set()).add(one.rank)
    alone = Counter(rank for ranks in kinds.values() if len(ranks) == 1 for rank in ranks)
    shared = max((len(ranks) for ranks in kinds.values()), default=0)
    if len(alone) != 1 or shared < 2:
        return None
    rank = next(iter(alone))
    return next(one for one in failures if one.rank == rank and kinds.get(one.what) == {rank})


def _memory(traced: Sequence[tuple[RunRecord, Traceback]]) -> list[Reading]:
    """When memory ran out, by the stack and by the records before it."""
    for record, one in traced:
        if any(word in f"{one.exception}: {one.message}" for word in _OOM):
            before = _records_before(record, one.first) if record.read.records else None
            return [FindingReading(finding, "present", _quoted(one)) for finding in _when(one, before)]
    return []


def _when(one: Traceback, records: int | None) -> list[str]:
    """The findings for a phase; ``records`` metric records came before (None: the file has none, so nobody knows)."""
    phase = one.phase
    if phase in {"evaluation", "saving", "loading"}:
        known = {"evaluation": "oom.in-evaluation", "saving": "oom.on-save", "loading": "oom.before-training"}
        return [known[phase]]
    if records is not None and records >= MANY_RECORDS:
        return ["oom.after-many-steps"]
    # the state of the optimizer is made in its first step
    if phase == "optimizer" and (one.makes_state or records == 0):
        return ["oom.first-optimizer-step"]
    return ["oom.first-backward"] if phase in {"forward", "backward"} and records == 0 else []


def _records_before(record: RunRecord, line: int) -> int:
    lines = [series.lines for series in record.series if series.lines is not None]
    return int(np.searchsorted(np.unique(np.concatenate(lines)), line)) if lines else 0


def _unrecognised(
    records: Sequence[RunRecord], traced: Sequence[tuple[RunRecord, Traceback]], hits: Sequence[Hit]
) -> list[Reading]:
    """The first error of a log, if no signature knows it: its type, the last own frame, and the last lines."""
    known = {hit.where for hit in hits if hit.signature.role in {"root", "cascade"}}
    if any(hit.signature.role == "root" for hit in hits):
        return []
    for record, one in traced:
        lines = {f"{record.read.file}:{line}" for line in range(one.first, one.last + QUOTED_LINES + 1)}
        if one.exception and one.name not in LAUNCHERS and one.name != "KeyboardInterrupt" and not lines & known:
            source = _quoted(one)
            return [FindingReading("error.unrecognised", "present", source)]
    end = next((end for record in records if (end := last_error(record)) is not None), None)
    return [FindingReading("error.unrecognised", "present", end)] if end is not None and not known else []


def _quoted(one: Traceback) -> Source:
    own = f" at {one.own}" if one.own is not None else ""
    return Source("signature", one.where, f"{one.exception}: {one.message}"[:200] + own, rank=one.rank)


def _ends(records: Iterable[RunRecord]) -> list[Reading]:
    """How a log without metrics ended; for one with metrics the detectors say it."""
    said: dict[str, Value] = {}
    readings: list[Reading] = []
    for record in records:
        if not record.series and record.end.kind != "unknown" and record.end.kind not in said:
            said[record.end.kind] = True
            readings.append(FactReading("run.end", record.end.kind, record.end.source))
    return readings
