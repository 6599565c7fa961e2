"""Observations, stated facts and configuration files turned into facts and findings of the vocabulary.

An observation is read as a fact under any of its names, else as the clause ``name: value``. What is not understood is
kept with the reason, and is never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.evidence.numbers import Parsed, parse
from engine.evidence.status import MAX_QUOTE
from engine.evidence.text import Said, TextReader
from engine.evidence.tokens import tidy
from engine.evidence.vocabulary import Vocabulary, ambiguity, spaced, typed
from engine.model.case import Observation
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Source, SourceKind
from engine.model.kb import Fact

MAX_CLAUSE = 2_000
MAX_CONFIG_KEYS = 20_000
MOST = 0.6
"""The share of a name that must speak of a context for "false" to deny it: ``ddp_find_unused: false`` has DDP."""

MAX_SUGGESTIONS = 20
"""Unknown ids that get a "did you mean": each costs a comparison with the whole vocabulary."""


@dataclass(slots=True)
class Readings:
    """What was read, in order of input, and what was not understood."""

    facts: list[FactReading] = field(default_factory=list)
    findings: list[FindingReading] = field(default_factory=list)
    not_understood: list[NotUnderstood] = field(default_factory=list)

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
    quote = f"{name}: {_shown(raw)}"[:MAX_QUOTE]
    facts = vocabulary.facts_named(name)
    if len(facts) > 1:
        return Readings(not_understood=[NotUnderstood(where, quote, ambiguity(facts))])
    why = "the name is not known, and no phrase in it either"
    if facts:
        reading, why = _fact(facts[0], raw, observation.unit, vocabulary, Source("observation", where, quote))
        if reading is not None:
            return Readings(facts=[reading])
    clause = _clause(name, raw, observation.unit, reader, where)
    if not clause.anything:
        clause.not_understood = [NotUnderstood(where, quote, why)]
    return clause


def _fact(
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
    if parsed.truth is not None or parsed.shape == "none" or _is_zero(parsed):
        affirmed = parsed.truth is True
        joined = words if parsed.shape != "number" else f"{words} is {parsed.text}"
        return _of_name(reader.said(joined), affirmed, len(words), Source("observation", where, _q(name, raw)))
    value = f"{parsed.text} {unit}" if unit and parsed.shape == "number" else _shown(raw)
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
        _append(readings, one, one.state, Source(kind, where, _q(name, raw)))
    return readings


def _append(readings: Readings, one: Said, state: bool, source: Source) -> None:
    if one.target.is_fact:
        readings.facts.append(FactReading(one.target.id, state, source))
    elif all(finding.finding != one.target.id for finding in readings.findings):
        readings.findings.append(FindingReading(one.target.id, "present" if state else "absent", source))


def _q(name: str, raw: object) -> str:
    return f"{name}: {_shown(raw)}"[:MAX_QUOTE]


def _shown(raw: object) -> str:
    return str(raw) if isinstance(raw, str) else parse(raw).text


def read_facts(stated: Mapping[str, object], vocabulary: Vocabulary) -> Readings:
    """Facts and findings by canonical id. A finding takes true/"present", false/"absent" or null for unknown."""
    readings = Readings()
    for name, raw in stated.items():
        where = f"facts.{name}"[:300]
        source = Source("stated", where, _q(name, raw))
        if raw is None:
            continue
        if name in vocabulary.facts:
            reading, why = _fact(vocabulary.facts[name], raw, None, vocabulary, source)
            if reading is not None:
                readings.facts.append(reading)
            else:
                readings.not_understood.append(NotUnderstood(where, _shown(raw)[:MAX_QUOTE], why))
        elif name in vocabulary.findings:
            _stated_finding(name, raw, source, readings)
        else:
            readings.not_understood.append(
                NotUnderstood(where, _shown(raw)[:MAX_QUOTE], _unknown(name, vocabulary, readings))
            )
    return readings


def _stated_finding(name: str, raw: object, source: Source, readings: Readings) -> None:
    state = {"present": True, "absent": False}.get(raw.strip().lower()) if isinstance(raw, str) else raw
    if isinstance(state, bool):
        readings.findings.append(FindingReading(name, "present" if state else "absent", source))
    elif not (isinstance(raw, str) and raw.strip().lower() == "unknown"):
        why = "a finding takes true or 'present', false or 'absent', null or 'unknown'"
        readings.not_understood.append(NotUnderstood(source.where, _shown(raw)[:MAX_QUOTE], why))


def _unknown(name: str, vocabulary: Vocabulary, readings: Readings) -> str:
    why = "there is no fact or finding of this id"
    near = vocabulary.nearest(name) if len(readings.not_understood) < MAX_SUGGESTIONS else []
    return f"{why}; did you mean {' or '.join(near)}?" if near else why


def read_config(file: str, content: object, vocabulary: Vocabulary) -> Readings:
    """The facts a configuration holds, from its keys as nested mappings; where a key occurs twice, the outermost.

    The whole dotted path is looked up first, then its last part. Keys without a fact are no news; a value that
    does not fit its fact is kept as not understood.
    """
    readings = Readings()
    seen: set[str] = set()
    for path, raw in sorted(_leaves(content), key=lambda leaf: leaf[0].count(".")):
        facts = vocabulary.facts_named(path, any_prefix=True)
        if not facts or raw is None or facts[0].id in seen:
            continue
        where = f"{file}: {path}"[:300]
        if len(facts) > 1:
            readings.not_understood.append(NotUnderstood(where, _shown(raw)[:MAX_QUOTE], ambiguity(facts)))
            continue
        reading, why = _fact(facts[0], raw, None, vocabulary, Source("measured", where, _q(path, raw)))
        if reading is not None:
            seen.add(facts[0].id)
            readings.facts.append(reading)
        elif why != "no value":
            readings.not_understood.append(NotUnderstood(where, _shown(raw)[:MAX_QUOTE], why))
    return readings


def _leaves(content: object) -> Iterator[tuple[str, object]]:
    """Dotted paths and their scalar values (lists of scalars count as one), at most MAX_CONFIG_KEYS."""
    stack: list[tuple[str, object]] = [("", content)]
    given = 0
    while stack and given < MAX_CONFIG_KEYS:
        path, value = stack.pop()
        if isinstance(value, Mapping):
            stack.extend((f"{path}.{key}" if path else str(key), inner) for key, inner in reversed(list(value.items())))
        elif path and not (isinstance(value, list) and any(isinstance(item, list | Mapping) for item in value)):
            given += 1
            yield path, value
