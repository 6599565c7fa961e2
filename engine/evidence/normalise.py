"""Observations and stated facts turned into facts and findings of the vocabulary.

An observation is read as a fact under any of its names, else as the clause ``name: value``. What is not understood is
kept with the reason, and is never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.evidence.comparisons import differing
from engine.evidence.numbers import Parsed, parse
from engine.evidence.status import MAX_QUOTE
from engine.evidence.text import Said, TextReader
from engine.evidence.tokens import tidy
from engine.evidence.vocabulary import Vocabulary, ambiguity, spaced, typed
from engine.model.case import Observation
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Source, SourceKind
from engine.model.kb import Fact

MAX_CLAUSE = 2_000

MOST = 0.6
"""The share of a name that must speak of a context for "false" to deny it: ``ddp_find_unused: false`` has DDP."""

MAX_SUGGESTIONS = 20
"""Unknown ids that get a "did you mean": each costs a comparison with the whole vocabulary."""


@dataclass(slots=True)
class Readings:
    """What was read, in order of input, and what was not understood.

    ``held`` are facts of a configuration that count only beside a symptom: an option left off (no loader workers, no
    activation checkpointing) is how most healthy runs are set up, and the first suspect once memory or time is short.
    """

    facts: list[FactReading] = field(default_factory=list)
    findings: list[FindingReading] = field(default_factory=list)
    not_understood: list[NotUnderstood] = field(default_factory=list)
    held: list[FactReading] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        """Whether a fact or finding was read."""
        return bool(self.facts or self.findings)


def read_observations(observations: Iterable[Observation], vocabulary: Vocabulary, reader: TextReader) -> Readings:
    """Every observation as a fact by name, else as a clause; its source is ``observation NAME``."""
    parts = [_observation(observation, vocabulary, reader) for observation in observations]
    return Readings(
        list(dict.fromkeys(fact for part in parts for fact in part.facts)),
        list(dict.fromkeys(finding for part in parts for finding in part.findings)),
        [note for part in parts for note in part.not_understood],
    )


def _observation(observation: Observation, vocabulary: Vocabulary, reader: TextReader) -> Readings:
    name, raw = observation.name.strip(), observation.value
    where = f"observation {name}"
    quote = f"{name}: {shown(raw)}"[:MAX_QUOTE]
    facts = vocabulary.facts_named(name)
    if len(facts) > 1:
        return Readings(not_understood=[NotUnderstood(where, quote, ambiguity(facts))])
    why = "the name is not known, and no phrase in it either"
    if facts:
        reading, why = fact_reading(facts[0], raw, observation.unit, vocabulary, Source("observation", where, quote))
        if reading is not None:
            return Readings(facts=[reading])
    clause = _clause(name, raw, observation.unit, reader, where)
    if not clause.anything:
        clause.not_understood = [NotUnderstood(where, quote, why)]
    return clause


def fact_reading(
    fact: Fact, raw: object, unit: str | None, vocabulary: Vocabulary, source: Source
) -> tuple[FactReading | None, str]:
    """The fact's reading, or why there is none. NaN and infinity set the fact that says so, if there is one."""
    value = typed(fact, raw, unit)
    if value.value is not None:
        return FactReading(fact.id, value.value, source), ""
    if value.nonfinite:
        companion = vocabulary.nonfinite_fact(fact, value.nonfinite)
        if companion is not None:
            return FactReading(companion.id, value=True, source=source), ""
    return None, value.why


def _clause(name: str, raw: object, unit: str | None, reader: TextReader, where: str) -> Readings:
    """``name: value`` through the phrase reader.

    A bare name asserts nothing. True asserts it, false, 0 and "none" deny it; beside a number or a setting only
    phrases that take in the value count, and those of findings that may be merely mentioned.
    """
    parsed = parse(raw)
    words = spaced(name)
    if parsed.shape == "none" and not parsed.text:
        return Readings()
    other = differing(words) if parsed.truth is False else None
    if other is not None:
        return _of_name(reader.said(other), True, len(other), Source("observation", where, quoted(name, raw)))
    if parsed.truth is not None or parsed.shape == "none" or _is_zero(parsed):
        affirmed = parsed.truth is True
        joined = words if parsed.shape != "number" else f"{words} is {parsed.text}"
        return _of_name(reader.said(joined), affirmed, len(words), Source("observation", where, quoted(name, raw)))
    value = f"{parsed.text} {unit}" if unit and parsed.shape == "number" else shown(raw)
    said = reader.said(f"{words} is {value}"[:MAX_CLAUSE])
    return _of_value(said, len(tidy(words)), reader, name, raw, where)


def _is_zero(parsed: Parsed) -> bool:
    return parsed.shape == "number" and parsed.quantities[0].number == 0


def _of_name(said: list[Said], affirmed: bool, length: int, source: Source) -> Readings:
    """A name beside true, false, 0 or "none"; "not X: false" and "X_setting: false" are too twisted to say anything."""
    readings = Readings()
    for one in said:
        within_name = one.end <= length
        if one.state is None:
            continue
        if affirmed or not within_name:
            _append(readings, one, one.state, source)
        elif one.state and (one.target.role != "context" or one.end - one.start >= length * MOST):
            _append(readings, one, False, source)
    return readings


def _of_value(said: list[Said], length: int, reader: TextReader, name: str, raw: object, where: str) -> Readings:
    readings = Readings()
    for one in said:
        if one.state is None:
            continue
        mention = one.end <= length and one.status == "asserted"
        if mention and not reader.may_be_mentioned(one.target):
            continue
        kind: SourceKind = "mention" if mention else "observation"
        _append(readings, one, one.state, Source(kind, where, quoted(name, raw)))
    return readings


def _append(readings: Readings, one: Said, state: bool, source: Source) -> None:
    if one.target.is_fact:
        readings.facts.append(FactReading(one.target.id, state, source))
    elif all(finding.finding != one.target.id for finding in readings.findings):
        readings.findings.append(FindingReading(one.target.id, "present" if state else "absent", source))


def quoted(name: str, raw: object) -> str:
    """An option or observation as it stands in the input, cut to the length of a quote."""
    return f"{name}: {shown(raw)}"[:MAX_QUOTE]


def shown(raw: object) -> str:
    """A value as text."""
    if isinstance(raw, str):
        return raw
    return str(raw) if isinstance(raw, float) else parse(raw).text


def read_facts(stated: Mapping[str, object], vocabulary: Vocabulary) -> Readings:
    """Facts and findings by canonical id. A finding takes true/"present", false/"absent" or null for unknown."""
    readings = Readings()
    for name, raw in stated.items():
        where = f"facts.{name}"[:300]
        source = Source("stated", where, quoted(name, raw))
        if raw is None:
            continue
        if name in vocabulary.facts:
            reading, why = fact_reading(vocabulary.facts[name], raw, None, vocabulary, source)
            if reading is not None:
                readings.facts.append(reading)
            else:
                readings.not_understood.append(NotUnderstood(where, shown(raw)[:MAX_QUOTE], why))
        elif name in vocabulary.findings:
            _stated_finding(name, raw, source, readings)
        else:
            readings.not_understood.append(
                NotUnderstood(where, shown(raw)[:MAX_QUOTE], _unknown(name, vocabulary, readings))
            )
    return readings


def _stated_finding(name: str, raw: object, source: Source, readings: Readings) -> None:
    state = {"present": True, "absent": False}.get(raw.strip().lower()) if isinstance(raw, str) else raw
    if isinstance(state, bool):
        readings.findings.append(FindingReading(name, "present" if state else "absent", source))
    elif not (isinstance(raw, str) and raw.strip().lower() == "unknown"):
        why = "a finding takes true or 'present', false or 'absent', null or 'unknown'"
        readings.not_understood.append(NotUnderstood(source.where, shown(raw)[:MAX_QUOTE], why))


def _unknown(name: str, vocabulary: Vocabulary, readings: Readings) -> str:
    why = "there is no fact or finding of this id"
    near = vocabulary.nearest(name) if len(readings.not_understood) < MAX_SUGGESTIONS else []
    return f"{why}; did you mean {' or '.join(near)}?" if near else why
