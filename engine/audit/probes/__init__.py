"""Probes: each looks at one side of a checkpoint and states facts. They judge nothing; the gates do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.audit.probes import subject

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

Probe = Callable[["Checkpoint", "Ledger"], None]

# In the order of causes: a fault of the container comes before what it does to names, shapes, numbers and behaviour.
PROBES: tuple[Probe, ...] = (subject.probe,)
