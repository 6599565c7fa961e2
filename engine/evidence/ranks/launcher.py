"""Which ranks a launcher saw end, and how: the tables of torchrun (one a node) and the lines of srun.

"First observed" in those tables is the order of notice, not of cause. Signals tell victims: -15 was sent by the
launcher because of another, -6 is the abort of a watchdog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from engine.evidence.series import RunRecord
from engine.evidence.signatures.places import clock_in

_ENTRY = re.compile(r"^\s*(time|host|rank|exitcode)\s+: (\S+)")
_NODE = re.compile(r"srun: error: (\S+?): tasks? [\d,-]+: (?!Terminated)\S+|srun: error: Node failure on (\S+)")
VICTIMS = frozenset({-15, -6})


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of one rank; a negative ``code`` is a signal."""

    where: str
    rank: int
    host: str
    code: int
    time: float | None


def exits(records: Iterable[RunRecord]) -> list[Exit]:
    """One for each rank of the tables, in order; a rank in several of them (the job was started again) counts once."""
    found: dict[int, Exit] = {}
    for record in records:
        entry = Exit("", -1, "", 0, None)
        for event in record.events:
            match = _ENTRY.match(event.text)
            if match is None:
                continue
            key, value = match.groups()
            if key == "time":
                entry = Exit("", -1, "", 0, clock_in(value))
            elif key == "host":
                entry = replace(entry, host=value)
            elif key == "rank" and value.isdigit():
                entry = replace(entry, rank=int(value))
            elif key == "exitcode" and re.fullmatch(r"-?\d{1,3}", value) and entry.rank >= 0:
                whole = replace(entry, code=int(value), where=f"{record.read.file}:{event.line}")
                found.setdefault(entry.rank, whole)
    return list(found.values())


def failed_nodes(records: Iterable[RunRecord], ended: Iterable[Exit]) -> frozenset[str]:
    """The hosts on which a rank failed by itself."""
    hosts = {one.host for one in ended if one.host and one.code not in VICTIMS}
    for record in records:
        for event in record.events:
            if (match := _NODE.search(event.text)) is not None:
                hosts.add(match[1] or match[2])
    return frozenset(hosts)
