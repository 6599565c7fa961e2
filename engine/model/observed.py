"""Everything that was read of a case: the border between evidence and inference. It can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.model.base import Text
from engine.model.evidence import FactReading, FindingReading, NotUnderstood
from engine.model.kb import Paradigm


@dataclass(frozen=True, slots=True)
class Observed:
    """Readings in any order; inference sorts them, so that the answer does not depend on it."""

    facts: tuple[FactReading, ...] = ()
    findings: tuple[FindingReading, ...] = ()
    paradigm: Paradigm | None = None
    digest: str = ""
    not_understood: tuple[NotUnderstood, ...] = ()
    read: tuple[dict[str, Any], ...] = ()
    judged: tuple[Text, ...] = ()
    not_judged: tuple[tuple[Text, Text], ...] = ()
    text: str = ""
