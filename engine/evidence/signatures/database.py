"""The hyperscan database of the signatures, compiled once for a set of patterns and kept.

Hyperscan is optional (x86-64 Linux). What is kept of another version or another processor has another name.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.evidence.signatures.patterns import digest_of
from engine.knowledge import cache

Report = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Opened:
    """``scan`` gives (pattern number, end of the match) for a block; ``refused`` are patterns hyperscan cannot take."""

    scan: Callable[[bytes], list[Report]]
    refused: frozenset[int]


def opened(patterns: Mapping[int, bytes]) -> Opened | None:
    """The database over the patterns, kept or compiled; None where there is no hyperscan or it fails."""
    try:
        import hyperscan
    except ImportError:
        return None
    digest = digest_of(patterns, f"{version('hyperscan')}:{_processor()}")
    try:
        loaded = _loaded(cache.read_entry("scan", digest), hyperscan)
        if loaded is None:
            loaded = _compiled(patterns, hyperscan)
            head = json.dumps(sorted(loaded[1])).encode()
            cache.write_entry("scan", digest, head + b"\n" + hyperscan.dumpb(loaded[0]))
        return _ready(*loaded, hyperscan)
    except hyperscan.error:
        return None


def _loaded(body: bytes | None, hyperscan: ModuleType) -> tuple[Any, frozenset[int]] | None:
    if body is None:
        return None
    head, _, dumped = body.partition(b"\n")
    try:
        return hyperscan.loadb(dumped, mode=hyperscan.HS_MODE_BLOCK), frozenset(json.loads(head))
    except (ValueError, hyperscan.error):
        return None


def _ready(compiled: Any, refused: frozenset[int], hyperscan: ModuleType) -> Opened:
    compiled.scratch = hyperscan.Scratch(compiled)
    reports: list[Report] = []

    def report(number: int, start: int, end: int, flags: int, context: object) -> None:
        del start, flags, context
        reports.append((number, end))

    def scan(text: bytes) -> list[Report]:
        reports.clear()
        compiled.scan(text, match_event_handler=report)
        return list(dict.fromkeys(reports))

    return Opened(scan, refused)


def _compiled(patterns: Mapping[int, bytes], hyperscan: ModuleType) -> tuple[Any, frozenset[int]]:
    """All patterns in one database. One that is too large or uses what hyperscan has not is taken as a pre-filter."""
    flags = dict.fromkeys(patterns, 0)
    with contextlib.suppress(hyperscan.error):
        return _database(patterns, flags, hyperscan), frozenset()
    refused = set()
    for number, pattern in patterns.items():
        for flags[number] in (0, hyperscan.HS_FLAG_PREFILTER):
            with contextlib.suppress(hyperscan.error):
                _database({number: pattern}, flags, hyperscan)
                break
        else:
            refused.add(number)
    kept = {number: pattern for number, pattern in patterns.items() if number not in refused}
    return _database(kept, flags, hyperscan), frozenset(refused)


def _database(patterns: Mapping[int, bytes], flags: Mapping[int, int], hyperscan: ModuleType) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    numbers = list(patterns)
    database.compile(
        expressions=[patterns[number] for number in numbers],
        ids=numbers,
        elements=len(numbers),
        flags=[flags[number] for number in numbers],
    )
    return database


def _processor() -> str:
    """The instruction sets of this machine: hyperscan makes code for the machine it compiles on."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as lines:
        return next((line for line in lines if line.startswith("flags")), "")
    return ""
