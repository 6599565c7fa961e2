"""Observations, stated facts and configuration files turned into facts and findings of the vocabulary.

An observation is read as a fact under any of its names, else as the clause ``name: value``. What is not understood is
kept with the reason, and is never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.evidence.comparisons import differing
from engine.evidence.numbers import Parsed, parse
from engine.evidence.readers.configs.dialects import NOTHING, Dialect, dialect_of
from engine.evidence.readers.configs.judge import CONTRADICTION, contradictions, is_left_off
from engine.evidence.readers.configs.misspelt import meant_by
from engine.evidence.status import MAX_QUOTE
from engine.evidence.text import Said, TextReader
from engine.evidence.tokens import tidy
from engine.evidence.vocabulary import Vocabulary, ambiguity, spaced, typed
from engine.model.case import Observation
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Source, SourceKind
from engine.model.kb import Fact

MAX_CLAUSE = 2_000
MAX_CONFIG_KEYS = 20_000
AUTOMATIC = "auto"
"""The value by which DeepSpeed, accelerate and axolotl leave an option to another file."""

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
    other = differing(words) if parsed.truth is False else None
    if other is not None:
        return _of_name(reader.said(other), True, len(other), Source("observation", where, _q(name, raw)))
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

    An option means what it means in the dialect of its tool, if that is recognised; else the whole dotted path is
    looked up, then its last parts. Keys without a fact are no news; a value that does not fit its fact is kept as not
    understood. Settings that are merely left off are ``held``: see there.
    """
    options: dict[str, object] = {}
    for path, raw in sorted(_leaves(content), key=lambda leaf: leaf[0].count(".")):
        options.setdefault(path.removesuffix(".value"), raw)  # W&B: {lr: {value: 1e-4}}
    dialect = dialect_of(options)
    reader = _ConfigReader(file, vocabulary, dialect)
    for path, fact, value in dialect.computed(options) if dialect else ():
        reader.computed(path, fact, value, options.get(path, value))
    for path, raw in options.items():
        reader.option(path, raw)
    return reader.readings()


@dataclass(slots=True)
class _ConfigReader:
    """Takes the options of one configuration; of several for one fact, the first counts."""

    file: str
    vocabulary: Vocabulary
    dialect: Dialect | None
    taken: dict[str, FactReading] = field(default_factory=dict)
    not_understood: list[NotUnderstood] = field(default_factory=list)
    known_options: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Gather the names of options, for those that are misspelt."""
        if self.dialect:
            aliases = (alias for fact in self.vocabulary.facts.values() for alias in fact.aliases)
            self.known_options = [*self.dialect.facts, *aliases]

    def computed(self, path: str, name: str, value: object, raw: object) -> None:
        """Take what the dialect made of one or more options; a fact that the vocabulary lacks is no news."""
        fact = self.vocabulary.facts.get(name)
        if fact is not None and name not in self.taken:
            self._take(path, fact, value, raw)

    def option(self, path: str, raw: object) -> None:
        """Take one option as the fact it names, if there is one; null and "auto" set nothing."""
        named = self.dialect.fact(path) if self.dialect else None
        if raw is None or raw == AUTOMATIC or named == NOTHING:
            return
        fact = self.vocabulary.facts.get(named or "")
        facts = [fact] if fact else self.vocabulary.facts_named(path, any_prefix=True)
        if not facts:
            meant = meant_by(path.rpartition(".")[2], self.known_options)
            why = f"no option of this name is known; did you mean {meant}?" if meant else ""
        elif facts[0].id in self.taken:
            return
        else:
            why = ambiguity(facts) if len(facts) > 1 else self._take(path, facts[0], raw, raw)
        if why and why != "no value":
            self.not_understood.append(NotUnderstood(self._where(path), _shown(raw)[:MAX_QUOTE], why))

    def _take(self, path: str, fact: Fact, value: object, raw: object) -> str:
        """Keep the reading of an option, its source as it stands in the file; else say why there is none."""
        source = Source("measured", self._where(path), _q(path, raw))
        reading, why = _fact(fact, value, None, self.vocabulary, source)
        if reading is not None:
            self.taken[fact.id] = reading
        return why

    def _where(self, path: str) -> str:
        return f"{self.file}: {path}"[:300]

    def readings(self) -> Readings:
        """Everything taken, and what of it cannot hold together."""
        held = {fact for fact, reading in self.taken.items() if self.dialect and is_left_off(reading)}
        return Readings(
            facts=[reading for fact, reading in self.taken.items() if fact not in held],
            findings=contradictions(self.taken) if CONTRADICTION in self.vocabulary.findings else [],
            not_understood=self.not_understood,
            held=[reading for fact, reading in self.taken.items() if fact in held],
        )


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
