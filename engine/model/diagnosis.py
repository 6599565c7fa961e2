"""The answer: a stable contract, to which keys may be added but from which none is taken."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from engine.model.base import Frozen

Probability = Annotated[float, Field(ge=0, le=1)]


class SourceOut(Frozen):
    """Where a value was read. ``kind`` says how far to trust it: measured > signature > stated > prose > mention."""

    kind: str
    where: str
    quote: str = ""
    step: int | None = None
    rank: int | None = None


class EvidenceOut(Frozen):
    """One finding's weight for or against a cause, in bits (1 bit doubles the odds)."""

    finding: str
    title: str
    state: Literal["present", "absent"]
    bits: float
    because: str
    facts: list[str] = []
    sources: list[SourceOut] = []


class RemedyOut(Frozen):
    """What to do, in order of chance of repair over cost. ``chance`` is P(this repairs it | the evidence)."""

    do: str
    chance: Probability
    minutes: float
    risk: str
    undo: str | None = None


class ReferenceOut(Frozen):
    """A public document behind the cause."""

    title: str
    url: str | None = None


class CauseOut(Frozen):
    """A ranked cause. ``probability`` is its share as the leading cause, ``marginal`` is P(present | evidence)."""

    id: str
    family: str
    title: str
    meaning: str
    station: str
    probability: Probability
    marginal: Probability
    status: str
    expected: bool = Field(False, description="True: harmless, expected behaviour that looks like a fault.")
    resembles: float = Field(
        0.0, description="Bits by which the report's words resemble what is written of the cause, apart from findings."
    )
    resembles_by: list[str] = Field(default=[], description="The words of the report that make the likeness.")
    evidence_for: list[EvidenceOut] = []
    evidence_against: list[EvidenceOut] = []
    not_explained: list[str] = Field(default=[], description="Present findings that this cause does not account for.")
    not_confirmed: list[str] = Field(default=[], description="Findings it usually shows that are still unknown.")
    confused_with: list[dict[str, str]] = []
    impact: str = ""
    blind_spots: str = ""
    remedies: list[RemedyOut] = []
    references: list[ReferenceOut] = []


class UnknownOut(Frozen):
    """The probability that none of the known causes is at work, and what would lower it."""

    probability: Probability
    why: str
    would_help: list[str] = []


class RankedCause(Frozen):
    """A cause by id, with a probability whose meaning the field around it says."""

    cause: str
    probability: Probability


class OutcomeOut(Frozen):
    """One result a check may have, how likely it is, and the ranking after it."""

    outcome: str
    finding: str
    state: Literal["present", "absent"]
    probability: Probability
    then: list[RankedCause]


class NextCheckOut(Frozen):
    """A check or a question, chosen by the entropy it is expected to remove per cost."""

    id: str
    kind: Literal["check", "question"]
    title: str
    how: str = ""
    commands: dict[str, str] = {}
    minutes: float
    accelerators: int = 0
    risk: str = "none"
    asks: list[str]
    gain_bits: float
    outcomes: list[OutcomeOut] = Field(default=[], alias="if", serialization_alias="if")

    model_config = {"frozen": True, "extra": "forbid", "populate_by_name": True}


class FamilyOut(Frozen):
    """A family of causes, with the sum of their probabilities."""

    family: str
    probability: Probability


class FindingOut(Frozen):
    """A finding that is present, what concluded it, and where that was read."""

    id: str
    title: str
    because: str
    concluded_by: Literal["rule", "report"]
    facts: list[str] = []
    sources: list[SourceOut] = []
    contradicted_by: list[SourceOut] = []


class FactOut(Frozen):
    """A known fact: the most trusted reading, and those that say otherwise."""

    id: str
    title: str
    value: Any
    unit: str | None = None
    sources: list[SourceOut] = []
    contradicted_by: list[dict[str, Any]] = []


class NotJudgedOut(Frozen):
    """Something that could not be judged, and what would make it so."""

    what: str
    why: str


class CoverageOut(Frozen):
    """What was read, what was judged, and what was not judged and why."""

    read: list[dict[str, Any]] = []
    judged: list[str] = []
    not_judged: list[NotJudgedOut] = []


class NotUnderstoodOut(Frozen):
    """Input that was kept but not used."""

    where: str
    text: str
    why: str


class CalculationOut(Frozen):
    """A derived number: its formula and the facts it came from."""

    fact: str
    title: str
    value: Any
    unit: str | None = None
    formula: str
    inputs: dict[str, Any]


class AdviceOut(Frozen):
    """A way to split the work that the known numbers speak for, with its price."""

    id: str
    title: str
    why: str
    costs: str
    verdict: str


class GateOut(Frozen):
    """One item of the release checklist."""

    id: str
    title: str
    stage: int
    severity: str
    status: Literal["pass", "fail", "not_enough_evidence"]
    because: str
    requires: str
    next_checks: list[str] = []
    leads_to: list[str] = []


class TimelineOut(Frozen):
    """Something that began to be so at a step."""

    step: int
    what: str
    source: SourceOut


class Diagnosis(Frozen):
    """Ranked causes with their proof, the next checks, and an honest unknown. Causes plus unknown sum to one."""

    kb_version: str
    kb_digest: str
    engine_version: str
    input_digest: str
    answered_by: Literal["durable-rules", "reference"]
    summary: str
    causes: list[CauseOut] = []
    unknown: UnknownOut
    next_checks: list[NextCheckOut] = []
    families: list[FamilyOut] = []
    also_likely: list[RankedCause] = []
    findings: list[FindingOut] = []
    context: list[FindingOut] = []
    facts: list[FactOut] = []
    coverage: CoverageOut = CoverageOut()
    timeline: list[TimelineOut] = []
    not_understood: list[NotUnderstoodOut] = []
    calculations: list[CalculationOut] = []
    advice: list[AdviceOut] = []
    checklist: list[GateOut] = []
    impact: list[str] = []


class WhyNotOut(Frozen):
    """Why a cause is not first: what speaks against it, what is missing, and who outweighs it."""

    cause: str
    title: str
    rank: int | None
    probability: Probability
    supporting: list[EvidenceOut] = []
    opposing: list[EvidenceOut] = []
    missing: list[dict[str, str | float]] = Field(
        default=[], description="Findings it shows that are unknown, and the bits each would add if it were present."
    )
    outweighed_by: list[RankedCause] = []
