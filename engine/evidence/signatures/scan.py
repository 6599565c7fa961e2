"""Signatures over the lines that a reader kept: hits with their fields, in the order of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from engine.evidence.readers.console.events import Repeated
from engine.evidence.series import RunRecord
from engine.evidence.signatures.blocks import BlockScan, Finder
from engine.evidence.signatures.patterns import Patterns
from engine.evidence.signatures.places import clock_in, device_in, rank_in, rank_of_file
from engine.model.kb import Signature

KEPT = 3
"""Hits of a signature that are kept of one rank."""
MAX_HITS = 4_096
"""Hits of a signature that are kept of all ranks: a line of each rank of a large job."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a signature matched, with the fields it gave.

    ``count`` and ``last`` (line) are those of all lines of the file that are hits of this signature. ``after`` is the
    number of metric records behind the line: hits with about the same number are of one incident. ``time`` is in
    seconds of the year.
    """

    signature: Signature
    where: str
    quote: str
    rank: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    count: int = 1
    last: int = 0
    after: int = 0
    time: float | None = None
    device: str | None = None


class SignatureScan:
    """All signatures together. Nothing is compiled before the first line is asked."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._signatures = tuple(signatures)

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns(self._signatures)

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self._patterns.wide)

    def blocks(self) -> BlockScan:
        """A scan over the blocks of one log."""
        return BlockScan(self._patterns, self._finder)

    def hits(self, record: RunRecord) -> list[Hit]:
        """The hits on the events of a record, with rank, time and the place among its metric records."""
        found = _bounded(self._found(record))
        if not found:
            return []
        lines = [series.lines for series in record.series if series.lines is not None]
        records = np.unique(np.concatenate(lines)) if lines else np.zeros(0, dtype=np.int64)
        of_file = rank_of_file(record.read.file)
        return [
            replace(
                hit,
                rank=of_file if hit.rank is None else hit.rank,
                after=len(records) - int(np.searchsorted(records, hit.line)),
            )
            for hit in found
        ]

    def _found(self, record: RunRecord) -> Iterator[Hit]:
        texts = [event.text.encode("utf-8", "replace") for event in record.events]
        hits = self.blocks().hits(texts) if self._signatures else {}
        for at in hits:
            event = record.events[at]
            where = f"{record.read.file}:{event.line}"
            rank = event.rank if event.rank is not None else rank_in(event.text)
            count = event.count if isinstance(event, Repeated) else 1
            for index in hits[at]:
                signature = self._signatures[index]
                fields = self._patterns.fields(index, texts[at]) if signature.fields else {}
                yield Hit(
                    signature, where, event.text.strip()[:200], rank, fields, event.line, count, event.line, 0,
                    clock_in(event.text), device_in(event.text),
                )  # fmt: skip


def _bounded(hits: Iterable[Hit]) -> list[Hit]:
    """The first hits of each signature and rank; the counts go over all of them."""
    kept: list[Hit] = []
    total: Counter[str] = Counter()
    last: dict[str, int] = {}
    of_rank: Counter[tuple[str, int | None]] = Counter()
    of_signature: Counter[str] = Counter()
    for hit in hits:
        name, key = hit.signature.id, (hit.signature.id, hit.rank)
        total[name] += hit.count
        last[name] = max(last.get(name, 0), hit.last)
        if of_rank[key] < KEPT and of_signature[name] < MAX_HITS:
            of_rank[key] += 1
            of_signature[name] += 1
            kept.append(hit)
    return [replace(hit, count=total[hit.signature.id], last=last[hit.signature.id]) for hit in kept]
