"""What an audit is given in a test, and a defect: one thing that is broken in it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import Auditor
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.model.audit import AuditResult

TODAY = datetime.date(2026, 6, 1)


@dataclass(frozen=True)
class Given:
    """A checkpoint folder, the intent beside it (paths in it are relative to ``root.parent``), and the base."""

    root: Path
    intent: dict[str, Any] = field(default_factory=dict)
    base: Path | None = None
    evidence: Mapping[str, Path] = field(default_factory=dict)

    def edit_json(self, path: str, **changes: Any) -> None:
        """Set keys of a JSON file of the checkpoint; None removes one."""
        file = self.root / path
        data = json.loads(file.read_text("utf-8")) | changes
        file.write_text(json.dumps({k: v for k, v in data.items() if v is not None}), "utf-8")


def audited(auditor: Auditor, given: Given, policy: str | None = None) -> AuditResult:
    """The audit of what is given."""
    base = Checkpoint(Folder.of(given.base)) if given.base else None
    intent = parse_intent(json.dumps(given.intent, default=str).encode())
    checkpoint = Checkpoint(Folder.of(given.root), intent, given.root.parent, base, given.evidence)
    return auditor.audit(checkpoint, policy=policy, today=TODAY)


@dataclass(frozen=True)
class Defect:
    """One broken thing.

    Args:
        gate: must fail, as a root.
        build: makes a healthy checkpoint in an empty folder.
        spoil: breaks it; may return another Given.
        also: gates that may fail as consequences of it; they must not be roots.
        name: what is broken, for the name of the test.
    """

    gate: str
    build: Callable[[Path], Given]
    spoil: Callable[[Given], Given | None]
    also: frozenset[str] = frozenset()
    name: str = ""
