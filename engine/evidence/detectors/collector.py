"""What detectors state: typed facts with sources, what could be judged, and what could not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.model.base import Text
from engine.model.evidence import Source, Value


@dataclass(frozen=True, slots=True)
class Detected:
    """One fact read from the series; ``note`` says how in numbers, for people."""

    fact: str
    value: Value
    source: Source
    note: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be judged, and why or what to log."""

    what: Text
    why: Text


@dataclass(frozen=True, slots=True)
class Detections:
    """The facts, the topics that could be judged, and the gaps."""

    facts: tuple[Detected, ...]
    topics: tuple[Text, ...]
    gaps: tuple[Gap, ...]

    def value(self, fact: str) -> Value | None:
        """Return the value of a fact, None if it is unknown."""
        return next((found.value for found in self.facts if found.fact == fact), None)


@dataclass(slots=True)
class Collector:
    """Gathers what the detectors say, in their order."""

    facts: dict[str, Detected] = field(default_factory=dict)
    topics: dict[str, Text] = field(default_factory=dict)
    gaps: dict[tuple[str, str], Gap] = field(default_factory=dict)

    def say(self, fact: str, value: Value, source: Source, note: str = "") -> None:
        """State a fact; the first detector to state it stands. What is no finite number is no value to compare with."""
        if isinstance(value, bool | np.bool_):
            value = bool(value)
        elif not isinstance(value, str):
            value = float(value)
            if not np.isfinite(value):
                return
        self.facts.setdefault(fact, Detected(fact, value, source, note))

    def value(self, fact: str) -> Value | None:
        """Return what was said of a fact before, None if nothing."""
        found = self.facts.get(fact)
        return None if found is None else found.value

    def number(self, fact: str) -> float | None:
        """Return what was said of a fact if it is a number."""
        value = self.value(fact)
        return value if isinstance(value, float) else None

    def judge(self, what: Text) -> None:
        """Note that something was looked at and could be judged."""
        self.topics.setdefault(what.en, what)

    def skip(self, what: Text, why: Text) -> None:
        """Note that something could not be judged; both texts are those of ``messages``."""
        self.gaps.setdefault((what.en, why.en), Gap(what, why))

    def done(self) -> Detections:
        """Everything that was said."""
        return Detections(tuple(self.facts.values()), tuple(self.topics.values()), tuple(self.gaps.values()))
