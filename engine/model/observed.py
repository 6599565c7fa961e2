"""Everything that was read of a case: the border between evidence and inference. It can be pickled."""

from __future__ import annotations

import hashlib
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


def together(evidence: Observed, stated: Observed) -> Observed:
    """What was read of the evidence, and what was answered about it, as one."""
    return Observed(
        facts=evidence.facts + stated.facts,
        findings=evidence.findings + stated.findings,
        paradigm=evidence.paradigm or stated.paradigm,
        digest=hashlib.sha256(f"{evidence.digest}+{stated.digest}".encode()).hexdigest(),
        not_understood=evidence.not_understood + stated.not_understood,
        read=evidence.read + stated.read,
        # Answers judge no evidence, so that nothing was judged of them is no gap.
        judged=evidence.judged,
        not_judged=evidence.not_judged,
        text=evidence.text,
    )
