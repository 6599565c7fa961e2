"""Probes: each looks at one side of a checkpoint and states facts. They judge nothing; the gates do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.audit.probes import (
    adapter,
    config,
    container,
    distributed,
    embedding,
    evaluation,
    generation,
    gguf,
    names,
    provenance,
    run,
    security,
    special_rows,
    state_numbers,
    subject,
    template,
    tied,
    tokenizer,
    training,
    weights,
)

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

Probe = Callable[["Checkpoint", "Ledger"], None]

# In the order of causes: a fault of the container comes before what it does to names, shapes, numbers and behaviour.
PROBES: tuple[Probe, ...] = (
    subject.probe,
    container.probe,
    names.probe,
    tied.probe,
    config.probe,
    weights.probe,
    tokenizer.probe,
    gguf.probe,
    template.probe,
    generation.probe,
    adapter.probe,
    special_rows.probe,
    embedding.probe,
    distributed.probe,
    state_numbers.probe,
    training.probe,
    run.probe,
    evaluation.probe,
    security.probe,
    provenance.probe,
)
