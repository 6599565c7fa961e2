"""An audit as SARIF 2.1.0 (OASIS, 2020), the form in which code scanners report.

A failure is one result with its consequences as related locations. A required gate without evidence is a result of
kind ``open``, which no reader takes for passed. A waived failure is a suppressed result.
"""

from __future__ import annotations

import hashlib
import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from api.reports.outline import outline
from api.reports.text import visible, word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.model.audit import AuditedGate, AuditResult
    from engine.model.base import Lang

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL: Mapping[str, str] = MappingProxyType({"blocker": "error", "major": "error", "minor": "warning", "info": "note"})


def sarif(result: AuditResult, lang: Lang, exit_code: int, directory: str = "") -> str:
    """The audit as a SARIF document.

    Args:
        directory: the checkpoint folder relative to where the pipeline runs, for the paths of its files.
    """
    writer = _Writer(result, lang, directory)
    run = {
        "tool": {"driver": writer.driver()},
        "language": "zh-CN" if lang == "zh" else "en-US",
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": exit_code,
                "exitCodeDescription": word(result.verdict, lang),
            }
        ],
        "results": writer.results(),
        "properties": {
            "verdict": result.verdict,
            "policy": result.policy,
            "counts": result.counts,
            "knowledgeBase": {"version": result.kb_version, "digest": result.kb_digest},
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1)


class _Writer:
    def __init__(self, result: AuditResult, lang: Lang, directory: str) -> None:
        self._result = result
        self._lang = lang
        self._prefix = f"{directory.rstrip('/')}/" if directory not in ("", ".") else ""
        self._paths = {file.path for file in result.files}
        self._index = {gate.id: number for number, gate in enumerate(result.gates)}

    def driver(self) -> dict[str, Any]:
        """The tool, and every gate as a rule."""
        return {
            "name": "traintriage",
            "semanticVersion": self._result.engine_version,
            "rules": [self._rule(gate) for gate in self._result.gates],
        }

    def results(self) -> list[dict[str, Any]]:
        """What a reader has to act on, roots first."""
        lines = outline(self._result)
        found = [self._failure(failure.gate, failure.consequences) for failure in lines.failures]
        found += [self._open(gate) for gate in lines.lacking]
        return found + [self._waived(gate) for gate in lines.waived]

    def _rule(self, gate: AuditedGate) -> dict[str, Any]:
        return {
            "id": gate.id,
            "shortDescription": {"text": visible(gate.title)},
            "fullDescription": {"text": visible(gate.title)},
            "help": {"text": visible(" ".join(gate.remedies) or gate.because)},
            "defaultConfiguration": {"level": _LEVEL[gate.severity]},
            "properties": {"tags": [gate.id.partition("/")[0], f"stage-{gate.stage}"], "severity": gate.severity},
        }

    def _failure(self, gate: AuditedGate, consequences: Sequence[AuditedGate]) -> dict[str, Any]:
        related = [
            {
                "id": number,
                "message": {"text": f"{word('consequences', self._lang)}: {visible(other.title)} ({other.id})"},
                **self._location(other),
            }
            for number, other in enumerate(consequences)
        ]
        return {
            **self._common(gate, "fail", _LEVEL[gate.severity], self._told(gate)),
            **({"relatedLocations": related} if related else {}),
        }

    def _open(self, gate: AuditedGate) -> dict[str, Any]:
        return self._common(gate, "open", "none", gate.because)

    def _waived(self, gate: AuditedGate) -> dict[str, Any]:
        suppression = {"kind": "external", "status": "accepted", "justification": visible(gate.waived_by or "")}
        found = self._common(gate, "fail", _LEVEL[gate.severity], self._told(gate))
        return {**found, "suppressions": [suppression]}

    def _common(self, gate: AuditedGate, kind: str, level: str, text: str) -> dict[str, Any]:
        return {
            "ruleId": gate.id,
            "ruleIndex": self._index[gate.id],
            "kind": kind,
            "level": level,
            "message": {"text": visible(text)},
            "locations": [self._location(gate)],
            "partialFingerprints": {"primaryLocationLineHash": _fingerprint(gate)},
            "properties": {
                "severity": gate.severity,
                "observed": gate.observed,
                "expected": gate.expected,
                "expectedFrom": gate.expected_from,
                "placeCount": gate.place_count,
                "leadsTo": gate.leads_to,
            },
        }

    def _told(self, gate: AuditedGate) -> str:
        parts = [gate.because]
        if gate.observed:
            parts.append(f"{word('observed', self._lang)}: {gate.observed}.")
        if gate.expected:
            parts.append(f"{word('expected', self._lang)}: {gate.expected}.")
        return " ".join((*parts, *gate.remedies))

    def _location(self, gate: AuditedGate) -> dict[str, Any]:
        """The first place; a gate that names no file is about the folder itself."""
        place = gate.places[0] if gate.places else None
        file = place.file if place else ""
        prefix = self._prefix if not file or file in self._paths else ""
        physical = {"artifactLocation": {"uri": quote(prefix + visible(file)) or "."}}
        logical = [{"fullyQualifiedName": visible(place.at), "kind": "member"}] if place and place.at else []
        return {"physicalLocation": physical, **({"logicalLocations": logical} if logical else {})}


def _fingerprint(gate: AuditedGate) -> str:
    """The same for the same fault of the same place in the next audit, whatever numbers it shows then."""
    place = gate.places[0] if gate.places else None
    identity = "\0".join((gate.id, place.file if place else "", place.at if place else ""))
    return hashlib.sha256(identity.encode(errors="backslashreplace")).hexdigest()[:32]
