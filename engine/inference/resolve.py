"""One value for each fact and one state for each reported finding: the most trusted reading wins, none is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from engine.inference.derive import Derivation
from engine.model.evidence import FactReading, FindingReading, Source, SourceKind, Value

# Lower is more trusted. A person's answer to a question weighs more than a sentence in passing.
TRUST: dict[SourceKind, int] = {
    "measured": 0, "signature": 1, "answer": 2, "stated": 3, "derived": 4, "observation": 5, "prose": 6, "mention": 7,
}  # fmt: skip
_SAME_WITHIN = 0.01
T = TypeVar("T", bound=Value)


class Settled(NamedTuple, Generic[T]):
    """The value that counts, how far to trust it, where it was read, and the readings that say otherwise."""

    value: T
    kind: SourceKind
    sources: tuple[Source, ...]
    against: tuple[tuple[T, Source], ...] = ()


def settle_facts(readings: Iterable[FactReading]) -> dict[str, Settled[Value]]:
    """The most trusted value of each fact, by id."""
    by_fact: dict[str, list[tuple[Value, Source]]] = {}
    for reading in readings:
        by_fact.setdefault(reading.fact, []).append((reading.value, reading.source))
    return {fact: _settled(by_fact[fact]) for fact in sorted(by_fact)}


def settle_findings(readings: Iterable[FindingReading]) -> dict[str, Settled[bool]]:
    """The most trusted report of each finding, by id; of two equally trusted, the one that says it is present."""
    by_finding: dict[str, list[tuple[bool, Source]]] = {}
    for reading in readings:
        by_finding.setdefault(reading.finding, []).append((reading.state == "present", reading.source))
    return {finding: _settled(by_finding[finding]) for finding in sorted(by_finding)}


def _settled(readings: Sequence[tuple[T, Source]]) -> Settled[T]:
    if len(readings) == 1:
        ((value, source),) = readings
        return Settled(value, source.kind, (source,))

    def order(reading: tuple[T, Source]) -> tuple[int, bool, str, str, str]:
        value, source = reading
        return (TRUST[source.kind], value is False, source.where, source.quote, repr(value))

    unique = sorted(dict.fromkeys(readings), key=order)
    value, best = unique[0]
    agreeing = tuple(source for other, source in unique if agree(value, other))
    against = tuple((other, source) for other, source in unique if not agree(value, other))
    return Settled(value, best.kind, agreeing, against)


def weakest(kinds: Iterable[SourceKind]) -> SourceKind:
    """The least trusted of the kinds: a conclusion is worth no more than its weakest ground."""
    return max(kinds, key=TRUST.__getitem__, default="derived")


def agree(left: Value, right: Value) -> bool:
    """Whether two readings say the same: numbers within 1 % (prose rounds), anything else exactly."""
    if isinstance(left, bool | str) or isinstance(right, bool | str):
        return type(left) is type(right) and left == right
    return abs(left - right) <= _SAME_WITHIN * max(abs(left), abs(right))


def add_derived(
    facts: dict[str, Settled[Value]], derivations: Mapping[str, Derivation]
) -> tuple[dict[str, Settled[Value]], tuple[str, ...]]:
    """Work out every derived fact whose inputs are known; returns all facts and the ids that were worked out.

    ``derivations`` is in order of dependence. A fact that was also read keeps the reading; a derived value that differs
    is kept beside it.
    """
    result = dict(facts)
    derived: list[str] = []
    for fact, derivation in derivations.items():
        if not derivation.needs <= result.keys():
            continue
        inputs = [result[name] for name in derivation.facts]
        value = derivation.value({name: item.value for name, item in zip(derivation.facts, inputs, strict=True)})
        if value is None:
            continue
        kind = weakest(item.kind for item in inputs)
        source = Source("derived", derivation.text)
        if fact not in result:
            read_from = dict.fromkeys(origin for item in inputs for origin in item.sources[:1])
            result[fact] = Settled(value, kind, (*read_from, source))
            derived.append(fact)
        elif not agree(result[fact].value, value):
            read = result[fact]
            result[fact] = Settled(read.value, read.kind, read.sources, (*read.against, (value, source)))
    return result, tuple(derived)


def dependence_order(derivations: Mapping[str, Derivation]) -> dict[str, Derivation]:
    """The derivations sorted so that each comes after those it reads.

    Raises:
        ValueError: if some read each other in a circle.
    """
    ordered: dict[str, Derivation] = {}
    pending = dict(sorted(derivations.items()))
    while pending:
        ready = [fact for fact, d in pending.items() if not any(name in pending for name in d.facts)]
        if not ready:
            raise ValueError(f"derived facts read each other in a circle: {', '.join(pending)}")
        for fact in ready:
            ordered[fact] = pending.pop(fact)
    return ordered
