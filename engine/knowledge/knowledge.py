"""The knowledge base in memory: every object by its id, in sorted order."""

from __future__ import annotations

from collections.abc import Mapping
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
    facts: Mapping[str, Fact] = {}
    findings: Mapping[str, Finding] = {}
    causes: Mapping[str, Cause] = {}
    checks: Mapping[str, Check] = {}
    gates: Mapping[str, Gate] = {}
    policies: Mapping[str, Policy] = {}
    signatures: Mapping[str, Signature] = {}
    pipelines: Mapping[Paradigm, Pipeline] = {}
    families: Mapping[str, Family] = {}
    lexicon: Mapping[str, Concept] = {}
    advice: Mapping[str, Advice] = {}
    retired: Mapping[str, Retired] = {}
    examples: Mapping[str, tuple[str, ...]] = Field(
        default={}, description="What the reporters of a cause's own examples wrote, by cause."
    )
    reports: Mapping[str, tuple[str, ...]] = Field(
        default={}, description="What others who met a cause wrote of it, by cause: for likeness alone."
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
