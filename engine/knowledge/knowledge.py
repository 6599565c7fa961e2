"""The knowledge base in memory: every object by its id, in sorted order."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from pydantic import Field, StringConstraints

from engine.knowledge.advice import Advice
from engine.knowledge.retired import Retired
from engine.model.base import Kept
from engine.model.calibration import Calibration
from engine.model.kb import Cause, Check, Concept, Fact, Finding, Gate, Paradigm, Pipeline, Policy, Signature

ConceptName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=60)]
FamilyName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]


class Family(Kept):
    """A kind of cause, on which a diagnosis is scored; ``area`` groups families for people."""

    area: str
    meaning: str


class Knowledge(Kept):
    """All that the engine knows. ``digest`` identifies the content of base and overlay, examples included."""

    version: str
    digest: str
    calibration: Calibration
    facts: dict[str, Fact] = {}
    findings: dict[str, Finding] = {}
    causes: dict[str, Cause] = {}
    checks: dict[str, Check] = {}
    gates: dict[str, Gate] = {}
    policies: dict[str, Policy] = {}
    signatures: dict[str, Signature] = {}
    pipelines: dict[Paradigm, Pipeline] = {}
    families: dict[str, Family] = {}
    lexicon: dict[str, Concept] = {}
    advice: dict[str, Advice] = {}
    retired: dict[str, Retired] = {}
    examples: dict[str, tuple[str, ...]] = Field(
        default={}, description="What the reporters of a cause's own examples wrote, by cause."
    )

    @cached_property
    def active_causes(self) -> dict[str, Cause]:
        """The causes that may be diagnosed: trial and stable ones."""
        return {id_: cause for id_, cause in self.causes.items() if cause.status in ("trial", "stable")}


class KbInfo(Kept):
    """The content of ``kb.yaml``."""

    version: Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")] = Field(
        description="Semantic version of the knowledge base, in quotes."
    )
