"""Results of audits as a report may meet them, hostile texts included."""

from __future__ import annotations

from typing import Any

from engine.model.audit import AuditedFile, AuditedGate, AuditResult, CheckOut, GateStatus, PlaceOut, Verdict

HOSTILE = '\x1b[31m<script>alert("1")</script>\n::error::forged %0A]]>&\u202egnp.\x00\ud800'
STATUSES: tuple[GateStatus, ...] = ("pass", "fail", "not_enough_evidence", "not_applicable", "waived")


def gate(gate_id: str, status: GateStatus, **given: Any) -> AuditedGate:
    """A gate; a failure is a root unless it follows from another."""
    defaults: dict[str, Any] = {
        "id": gate_id,
        "title": f"Title of {gate_id}",
        "stage": 4,
        "severity": "major",
        "status": status,
        "required": False,
        "root": status in ("fail", "waived") and "follows_from" not in given,
        "because": f"Because of {gate_id}.",
    }
    return AuditedGate(**defaults | given)


def broken(file: str = "model.safetensors", **given: Any) -> dict[str, Any]:
    """What a failing gate has seen at one place."""
    place = PlaceOut(file=file, at="bytes 0..8", observed="123", expected="456", expected_from="format", **given)
    return {
        "where": f"{file}: {place.at}",
        "observed": place.observed,
        "expected": place.expected,
        "places": [place],
        "place_count": 1,
    }


GATES = (
    gate("names/tensors-present", "fail", follows_from="container/st-file-length", **broken()),
    gate("template/tmpl-renders", "fail", severity="minor", remedies=["Mend the template."]),
    gate(
        "container/st-file-length",
        "fail",
        severity="blocker",
        remedies=["Copy it again.", "Then audit again."],
        next_checks=[CheckOut(id="compare-size", title="Compare the sizes", command="ls -l\nwc -c model.safetensors")],
        leads_to=["checkpoint/truncated-file"],
        **broken() | {"place_count": 7},
    ),
    gate("evaluation/eval-target", "not_enough_evidence", required=True, severity="blocker"),
    gate("evaluation/contamination", "not_enough_evidence"),
    gate("security/no-pickle", "waived", waived_by="Ada, 2027-01-31: needed by the old server", **broken("old.bin")),
    gate("config/cfg-parses", "pass"),
    gate("tied/embeddings", "not_applicable"),
)


def result(gates: tuple[AuditedGate, ...] = GATES, verdict: Verdict = "fail", **given: Any) -> AuditResult:
    """An audit with these gates."""
    defaults: dict[str, Any] = {
        "verdict": verdict,
        "summary": f"Summary of a {verdict}.",
        "kind": "causal_lm",
        "paradigm": "sft",
        "policy": "sft-chat",
        "gates": list(gates),
        "counts": {status: sum(gate.status == status for gate in gates) for status in STATUSES},
        "files": [
            AuditedFile(path="model.safetensors", size=123_456, sha256="ab" * 32),
            AuditedFile(path="old.bin", size=1),
        ],
        "answered_by": "durable-rules",
        "kb_version": "1.0.0",
        "kb_digest": "0123456789abcdef",
        "engine_version": "0.1.0",
    }
    return AuditResult(**defaults | given)


def hostile() -> AuditResult:
    """An audit of a checkpoint whose names and texts are written to do harm wherever they are shown."""
    place = PlaceOut(file=HOSTILE, at=HOSTILE, observed=HOSTILE, expected=HOSTILE, expected_from="intent")
    seen = {"where": HOSTILE, "observed": HOSTILE, "expected": HOSTILE, "places": [place], "place_count": 1}
    gates = (
        gate("container/st-file-length", "fail", because=HOSTILE, **seen),
        gate("evaluation/eval-target", "not_enough_evidence", required=True, because=HOSTILE),
        gate("security/no-pickle", "waived", waived_by=f"{HOSTILE}, 2027-01-31: {HOSTILE}", **seen),
    )
    return result(gates, files=[AuditedFile(path=HOSTILE, size=1)], not_understood=[HOSTILE], waivers_unused=[HOSTILE])
