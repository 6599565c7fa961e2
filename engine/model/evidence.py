"""Where a value came from, and the value with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SourceKind = Literal["measured", "signature", "stated", "observation", "prose", "mention", "answer", "derived"]
State = Literal["present", "absent", "unknown"]
Value = bool | float | str


@dataclass(frozen=True, slots=True)
class Source:
    """The place a value was read from: ``where`` is for people ("train.log:431"), ``quote`` the text read."""

    kind: SourceKind
    where: str
    quote: str = ""
    step: int | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class FactReading:
    """One reading of a fact; a fact may have several, of which the most trusted counts."""

    fact: str
    value: Value
    source: Source


@dataclass(frozen=True, slots=True)
class FindingReading:
    """A finding reported by a phrase, an answer or a signature; ``status`` says how it was said."""

    finding: str
    state: Literal["present", "absent"]
    source: Source


Reading = FactReading | FindingReading


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Input that was kept but could not be used, and why."""

    where: str
    text: str
    why: str
