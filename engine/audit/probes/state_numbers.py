"""The numbers of sharded training state: what is not finite, and weights of which every piece is zero."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.probes.weights import BUFFER
from engine.audit.tensors import FLOAT_DTYPES, TensorInfo, TensorStats

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

_NOT_FINITE, _ZERO = "audit.distributed.not_finite", "audit.distributed.zero_tensors"
# Moments of an optimizer may be zero, as may the second half of an adapter that was not trained yet.
_MAY_BE_ZERO = re.compile(r"(^|[.:/ ])(optim\w*|opt_state|state|exp_avg\w*|momentum\w*)\.|exp_avg|lora_(embedding_)?B")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the bytes of the state say; nothing where there is no such state."""
    if not (ledger.value("audit.distributed.deepspeed") or ledger.value("audit.distributed.dcp")):
        return
    judged = [
        (tensor, stats)
        for tensor in checkpoint.state_tensors
        if tensor.dtype in FLOAT_DTYPES
        and tensor.numel > 1
        and not BUFFER.search(tensor.name)
        and (stats := checkpoint.scanned.stats.get(tensor.name)) is not None
    ]
    unread = sorted({t.file for t in checkpoint.state_tensors if t.file in checkpoint.scanned.problems})
    if unread or not judged:
        name = unread[0] if unread else "The state"
        for fact in (_NOT_FINITE, _ZERO):
            ledger.unknown(
                fact, f"{shown(name)}: its numbers could not be read.", f"{shown(name)}：未能读取其中的数值。"
            )
        return
    ledger.count(_NOT_FINITE, [_bad(tensor, stats) for tensor, stats in judged if stats.nan or stats.inf])
    ledger.count(_ZERO, _zeros(judged))


def _bad(tensor: TensorInfo, stats: TensorStats) -> Place:
    observed = f"{stats.nan:,} NaN and {stats.inf:,} Inf of {tensor.numel:,}, first at element {stats.first_bad:,}"
    return Place(tensor.file, shown(_name(tensor)), observed, "finite numbers", "format")


def _zeros(judged: list[tuple[TensorInfo, TensorStats]]) -> list[Place]:
    """Matrices of the shards of which no piece has a number but zero; padding may fill a single piece."""
    pieces: dict[str, list[tuple[TensorInfo, TensorStats]]] = defaultdict(list)
    for tensor, stats in judged:
        if tensor.file.endswith(".distcp") and tensor.is_matrix and not _MAY_BE_ZERO.search(tensor.name):
            pieces[f"{tensor.file.rpartition('/')[0]}/{_name(tensor)}"].append((tensor, stats))
    return [
        Place(found[0][0].file, shown(_name(found[0][0])), "all zero in every piece", "trained numbers", "format")
        for found in pieces.values()
        if all(stats.zero for _, stats in found)
    ]


def _name(tensor: TensorInfo) -> str:
    return tensor.name.removeprefix(f"{tensor.file}: ")
