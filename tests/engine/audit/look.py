"""The gates of a few groups alone, without the evidence that the others need."""

from __future__ import annotations

import json

from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import Auditor
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.audit.ledger import Ledger
from engine.audit.probes import config, container, names, subject, tied
from engine.model.audit import AuditedGate
from tests.engine.audit.given import TODAY, Given

GROUPS = ("container", "names", "tied", "config")


def looked(auditor: Auditor, given: Given) -> dict[str, AuditedGate]:
    """The gates of the files' containers, names, ties and config by id."""
    base = Checkpoint(Folder.of(given.base)) if given.base else None
    intent = parse_intent(json.dumps(given.intent, default=str).encode())
    checkpoint = Checkpoint(Folder.of(given.root), intent, given.root.parent, base, given.evidence)
    ledger = Ledger()
    for part in (subject, container, names, tied, config):
        part.probe(checkpoint, ledger)
    gates = auditor.judge(checkpoint, ledger, policy="any", today=TODAY, lang="en").gates
    return {g.id: g for g in gates if g.id.startswith(GROUPS) or g.id == "weights/dtype-declared"}


def failing(auditor: Auditor, given: Given) -> dict[str, str]:
    """Severity of each of them that fails."""
    return {id_: gate.severity for id_, gate in looked(auditor, given).items() if gate.status == "fail"}
