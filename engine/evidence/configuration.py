"""The options of a configuration turned into facts of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from engine.evidence.normalise import Readings, fact_reading, quoted, shown
from engine.evidence.readers.configs.dialects import NOTHING, Dialect, dialect_of
from engine.evidence.readers.configs.judge import CONTRADICTION, contradictions, is_left_off
from engine.evidence.readers.configs.misspelt import meant_by
from engine.evidence.status import MAX_QUOTE
from engine.evidence.vocabulary import Vocabulary, ambiguity
from engine.model.evidence import FactReading, NotUnderstood, Source
from engine.model.kb import Fact

MAX_CONFIG_KEYS = 20_000
AUTOMATIC = "auto"
"""The value by which DeepSpeed, accelerate and axolotl leave an option to another file."""


# How a tokenizer treats one of its tokens: no settings of a run, whatever the same words mean elsewhere.
_OF_A_TOKEN = frozenset({"normalized", "lstrip", "rstrip", "single_word", "special"})


def read_config(file: str, content: object, vocabulary: Vocabulary) -> Readings:
    """The facts a configuration holds, from its keys as nested mappings; where a key occurs twice, the outermost.

    An option means what it means in the dialect of its tool, if that is recognised; else the whole dotted path is
    looked up, then its last parts. Keys without a fact are no news; a value that does not fit its fact is kept as not
    understood. Settings that are merely left off are ``held``: see there.
    """
    options: dict[str, object] = {}
    for path, raw in sorted(_leaves(content), key=lambda leaf: leaf[0].count(".")):
        if path.rpartition(".")[2] in _OF_A_TOKEN:
            continue
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
            self.not_understood.append(NotUnderstood(self._where(path), shown(raw)[:MAX_QUOTE], why))

    def _take(self, path: str, fact: Fact, value: object, raw: object) -> str:
        """Keep the reading of an option, its source as it stands in the file; else say why there is none."""
        source = Source("measured", self._where(path), quoted(path, raw))
        reading, why = fact_reading(fact, value, None, self.vocabulary, source)
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
