"""Log lines worth knowing: all patterns of the knowledge base in one RE2 scan, fields read on the lines that hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import re2

from engine.model.evidence import FactReading, FindingReading, Source, Value
from engine.model.kb import Signature

MAX_LINE = 4_000
MAX_HITS = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a signature matched, with the fields it gave."""

    signature: Signature
    where: str
    quote: str
    rank: int | None
    fields: Mapping[str, str]


class SignatureScan:
    """All signatures compiled together. ``scan`` is linear in the text whatever the patterns."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._signatures = tuple(signatures)
        self._patterns = [re2.compile(signature.pattern) for signature in self._signatures]
        self._unless = [re2.compile(s.unless) if s.unless is not None else None for s in self._signatures]
        self._set = re2.Set.SearchSet()
        for signature in self._signatures:
            self._set.Add(signature.pattern)
        self._set.Compile()

    def scan(self, lines: Iterable[tuple[str, str, int | None]]) -> list[Hit]:
        """The first few hits of each signature over (where, text, rank); a line's guard holds for that line only."""
        count = [0] * len(self._signatures)
        hits: list[Hit] = []
        if not self._signatures:
            return hits
        for where, text, rank in lines:
            line = text[:MAX_LINE]
            for index in sorted(self._set.Match(line) or ()):
                guard = self._unless[index]
                if count[index] >= MAX_HITS or (guard is not None and guard.search(line)):
                    continue
                match = self._patterns[index].search(line)
                if match is None:
                    continue
                count[index] += 1
                fields = {name: value for name, value in match.groupdict().items() if value is not None}
                hits.append(Hit(self._signatures[index], where, line.strip()[:200], rank, fields))
        return hits


def readings(hits: Iterable[Hit], parse: Callable[[str, str], Value | None]) -> list[FactReading | FindingReading]:
    """What the hits say. ``parse(fact, text)`` gives the typed value of a field, or None if it has none."""
    result: list[FactReading | FindingReading] = []
    for hit in hits:
        source = Source("signature", hit.where, hit.quote, rank=hit.rank)
        signature = hit.signature
        if signature.finding is not None:
            result.append(FindingReading(signature.finding, "present", source))
        if signature.fact is not None:
            result.append(FactReading(signature.fact, True, source))
        for name, fact in signature.fields.items():
            value = parse(fact, hit.fields[name]) if name in hit.fields else None
            if value is not None:
                result.append(FactReading(fact, value, source))
    return result
