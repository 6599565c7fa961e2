"""The order in which every report tells of an audit: what blocks first, each failure with what it explains."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.model.audit import AuditedGate, AuditResult, GateStatus

_RANK: Mapping[str, int] = MappingProxyType({"blocker": 0, "major": 1, "minor": 2, "info": 3})


@dataclass(frozen=True)
class Failure:
    """A failure that no other explains, and the failures that it does."""

    gate: AuditedGate
    consequences: tuple[AuditedGate, ...]


@dataclass(frozen=True)
class Outline:
    """The gates of an audit by what a reader has to do about them; each stands in one place."""

    failures: tuple[Failure, ...]
    lacking: tuple[AuditedGate, ...]
    waived: tuple[AuditedGate, ...]
    open: tuple[AuditedGate, ...]
    passed: tuple[AuditedGate, ...]
    outside: tuple[AuditedGate, ...]


def outline(result: AuditResult) -> Outline:
    """The gates in order: failures by severity, the rest as the audit has them."""

    def having(status: GateStatus) -> list[AuditedGate]:
        return sorted((g for g in result.gates if g.status == status), key=lambda gate: _RANK[gate.severity])

    failing, undecided = having("fail"), having("not_enough_evidence")
    return Outline(
        failures=tuple(
            Failure(gate, tuple(other for other in failing if other.follows_from == gate.id))
            for gate in failing
            if gate.root
        ),
        lacking=tuple(gate for gate in undecided if gate.required),
        waived=tuple(having("waived")),
        open=tuple(gate for gate in undecided if not gate.required),
        passed=tuple(having("pass")),
        outside=tuple(having("not_applicable")),
    )
