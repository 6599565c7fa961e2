"""What an audit has seen: typed facts with the places that speak for them, and why others are not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from engine.model.base import Text
from engine.model.evidence import Value

MAX_PLACES = 20
# Where an expectation comes from: the file format itself, another file of the checkpoint, or something declared.
ExpectedFrom = Literal[
    "format", "config", "index", "header", "tokenizer", "template", "generation_config", "architecture", "base",
    "intent", "evaluation", "baseline", "manifest", "metadata", "training", "policy",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """One place that a fact was read at.

    Args:
        file: relative path in the checkpoint, or the name of the evidence file.
        at: JSON path, tensor name or byte range inside it.
        observed: what is there, short.
        expected: what should be there, short; empty if there is no single expectation.
        expected_from: where the expectation comes from.
    """

    file: str
    at: str = ""
    observed: str = ""
    expected: str = ""
    expected_from: ExpectedFrom | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A fact's value, the first places of it, and how many places there are in all."""

    value: Value
    places: tuple[Place, ...] = ()
    count: int = 0


@dataclass
class Ledger:
    """Filled by the probes, one after the other; read once by the gates."""

    seen: dict[str, Seen] = field(default_factory=dict)
    missing: dict[str, Text] = field(default_factory=dict)
    wanted: dict[str, Text] = field(default_factory=dict)

    def fact(self, fact: str, value: Value, places: Iterable[Place] = ()) -> None:
        """State a fact. Of two statements the later one counts."""
        kept: list[Place] = []
        count = 0
        for place in places:
            count += 1
            if len(kept) < MAX_PLACES:
                kept.append(place)
        self.seen[fact] = Seen(value, tuple(kept), count)
        self.missing.pop(fact, None)
        self.wanted.pop(fact, None)

    def count(self, fact: str, places: Iterable[Place]) -> None:
        """State how many places there are at which something is wrong; zero is a statement, too."""
        found = list(places)
        self.fact(fact, float(len(found)), found)

    def unknown(self, fact: str, en: str, zh: str, wanted: Text | None = None) -> None:
        """Say why a fact cannot be known. A gate that needs it then has not enough evidence, for this reason.

        ``wanted`` says what to add to which file, so that it can.
        """
        if fact not in self.seen:
            self.missing[fact] = Text(en=en, zh=zh)
            if wanted is not None:
                self.wanted[fact] = wanted

    def value(self, fact: str) -> Value | None:
        """The value of a fact stated before."""
        seen = self.seen.get(fact)
        return seen.value if seen else None
