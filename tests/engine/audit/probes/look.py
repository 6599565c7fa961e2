"""The gates of tokenizer, template, generation config and embedding interface, without what the other groups need."""

from __future__ import annotations

import json

from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import Auditor
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.audit.ledger import Ledger
from engine.audit.probes import embedding, generation, special_rows, subject, template, tokenizer
from engine.model.audit import AuditedGate
from tests.engine.audit.given import TODAY, Given

GROUPS = ("tokenizer", "template", "generation", "embedding", "weights/special-row-trained")


def looked(auditor: Auditor, given: Given) -> dict[str, AuditedGate]:
    """The gates by id."""
    base = Checkpoint(Folder.of(given.base)) if given.base else None
    intent = parse_intent(json.dumps(given.intent, default=str).encode())
    checkpoint = Checkpoint(Folder.of(given.root), intent, given.root.parent, base, given.evidence)
    ledger = Ledger()
    for part in (subject, tokenizer, template, generation, special_rows, embedding):
        part.probe(checkpoint, ledger)
    gates = auditor.judge(checkpoint, ledger, policy="any", today=TODAY, lang="en").gates
    return {gate.id: gate for gate in gates if gate.id.startswith(GROUPS)}
