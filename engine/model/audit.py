"""The result of a release audit: one verdict, and every gate with what it saw. Changes only add to it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from engine.model.base import Frozen
from engine.model.kb import Severity

GateStatus = Literal["pass", "fail", "not_enough_evidence", "not_applicable", "waived"]
Verdict = Literal["pass", "fail", "incomplete"]


def encodable(text: str) -> str:
    """Half surrogates (bytes of a file name that are no UTF-8) written out: they cannot be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


Shown = Annotated[str, BeforeValidator(lambda value: encodable(value) if isinstance(value, str) else value)]
"""A text that may come from a checkpoint."""


class PlaceOut(Frozen):
    """One place in a file: what is there, what should be, and where that expectation comes from."""

    file: Shown
    at: Shown = Field(default="", description="JSON path, tensor name or byte range.")
    observed: Shown = ""
    expected: Shown = ""
    expected_from: str = ""


class CheckOut(Frozen):
    """A next check by its id, in words. ``give-evidence`` says what to add to which file for the gate to be judged."""

    id: str
    title: str
    command: str = ""


class AuditedGate(Frozen):
    """One item of the audit. ``root`` is true for a failure that no other failure explains."""

    id: str
    title: str
    stage: int
    severity: Severity
    status: GateStatus
    required: bool = Field(description="Whether the policy needs evidence for it.")
    root: bool = False
    follows_from: str | None = None
    where: Shown = ""
    observed: Shown = ""
    expected: Shown = ""
    expected_from: str = ""
    because: Shown
    places: list[PlaceOut] = Field(default=[], description="The first places; ``place_count`` says how many there are.")
    place_count: int = 0
    facts: dict[str, bool | float | Shown] = Field(default={}, description="The facts the gate was decided on.")
    next_checks: list[CheckOut] = []
    remedies: list[str] = []
    leads_to: list[str] = Field(default=[], description="Causes to diagnose, for a failure.")
    waived_by: str | None = None


class AuditedFile(Frozen):
    """One file of the checkpoint. ``sha256`` is there if its bytes were read."""

    path: Shown
    size: int
    sha256: str | None = None


class AuditResult(Frozen):
    """A release audit. ``fail`` outranks ``incomplete``; not enough evidence is never a pass."""

    verdict: Verdict
    summary: Shown
    kind: str
    paradigm: str | None
    policy: str
    gates: list[AuditedGate]
    counts: dict[str, int]
    files: list[AuditedFile]
    waivers_unused: list[str] = Field(default=[], description="Waivers that are expired or name no failing gate.")
    not_understood: list[Shown] = Field(default=[], description="Keys of the intent that nothing reads.")
    repeated_keys: list[Shown] = Field(
        default=[], description="Keys that stand twice in one object of a file of the checkpoint; the last one counts."
    )
    answered_by: Literal["durable-rules", "reference"]
    kb_version: str
    kb_digest: str
    engine_version: str
