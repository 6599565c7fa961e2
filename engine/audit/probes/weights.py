"""The numbers of the weights: what is not finite, not trained, not different, or far from its like.

Thresholds that decide stand in the gates; those here say which tensors can be judged at all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.audit.compare import same_bytes
from engine.audit.ledger import Place
from engine.audit.scan.passes import MAX_TENSORS
from engine.audit.tensors import FLOAT_DTYPES, TensorInfo, TensorStats

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

Judged = tuple[TensorInfo, TensorStats]
# Buffers hold constants by design: masks with minus infinity, positions, frequencies, scales of quantisers.
BUFFER = re.compile(
    r"(inv_freq|position_ids|token_type_ids|masked_bias|rotary\w*\.(cos|sin)\w*|causal_mask|_scale(_inv)?|\bscales?|zeros"
    r"|qzeros|g_idx|absmax|quant_map|running_(mean|var)|num_batches_tracked)$|attn\.bias$|attention\.bias$"
)
_NORM = re.compile(r"(norm\w*|ln_?\w*|layer_?norm\w*)\.weight$", re.IGNORECASE)
_TABLE = re.compile(r"(embed\w*|wte|wpe|shared|lm_head|embed_out|decoder|score|classifier)\.weight$", re.IGNORECASE)
_LORA = re.compile(r"\.lora_")
_LAYER = re.compile(r"\.(\d+)\.")
# Families whose norms multiply by one plus the weight, so that a weight of zero is the neutral one.
_CENTRED = re.compile(r"^(Recurrent)?Gemma|^Nemotron|^Qwen3Next|^Qwen3_5")
# Families whose layers share their weights on purpose.
_SHARING = re.compile(r"^Albert|^Universal|^Zamba")
_BIG_MATRIX, _MIN_LAYERS = 1_024, 8
_FAR_FACTOR = 4.0


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the bytes of the weights say."""
    unreadable = _why_unreadable(checkpoint)
    if unreadable:
        for fact in _FACTS:
            ledger.unknown(fact, *unreadable)
        return
    judged = [
        (tensor, stats)
        for tensor in checkpoint.tensors.values()
        if (stats := checkpoint.stats.get(tensor.name)) is not None and not BUFFER.search(tensor.name)
    ]
    floats = [(tensor, stats) for tensor, stats in judged if tensor.dtype in FLOAT_DTYPES]
    ledger.count("audit.weights.not_finite", (_bad(t, s) for t, s in floats if s.nan or s.inf))
    _saturation(floats, ledger)
    _zeros(floats, ledger)
    ledger.count(
        "audit.weights.constant",
        (Place(t.file, t.name, f"one value, {s.absmax:g}", "different values") for t, s in floats
         if t.is_matrix and t.numel >= 16 and s.constant and not s.zero and not _LORA.search(t.name)),
    )  # fmt: skip
    _norms(checkpoint, floats, ledger)
    _outliers(checkpoint, floats, ledger)
    _profile(floats, ledger)
    _twins(checkpoint, judged, ledger)
    _against_base(checkpoint, judged, ledger)


_FACTS = (
    "audit.weights.not_finite", "audit.weights.saturated", "audit.weights.zero", "audit.weights.zero_rows",
    "audit.weights.constant", "audit.weights.degenerate_norms", "audit.weights.outlier_ratio",
    "audit.weights.outlier_against_base", "audit.weights.far_layers", "audit.weights.twins",
    "audit.weights.unchanged_share", "audit.weights.frozen_changed",
)  # fmt: skip


def _why_unreadable(checkpoint: Checkpoint) -> tuple[str, str] | None:
    tensors = checkpoint.tensors
    if not tensors:
        return "No tensors could be listed.", "未能列出任何张量。"
    if len(tensors) > MAX_TENSORS:
        return (
            f"More than {MAX_TENSORS:,} tensors: their numbers are not judged.",
            f"张量超过 {MAX_TENSORS:,} 个，不判断其数值。",
        )
    missing = sorted({t.file for t in tensors.values() if t.file in checkpoint.scanned.problems})
    if missing:
        why = checkpoint.scanned.problems[missing[0]]
        return f"{missing[0]} could not be read to its end: {why}.", f"{missing[0]} 未能读完：{why}。"
    return None


def _bad(tensor: TensorInfo, stats: TensorStats) -> Place:
    kinds = [f"{count:,} {name}" for name, count in (("NaN", stats.nan), ("Inf", stats.inf)) if count]
    observed = f"{' and '.join(kinds)} of {tensor.numel:,}, first at element {stats.first_bad:,}"
    return Place(tensor.file, tensor.name, observed, "finite numbers", "format")


def _saturation(floats: Iterable[Judged], ledger: Ledger) -> None:
    """Half-precision numbers at or near the largest: what a cast from bfloat16 clamps to."""
    halves = [(t, s) for t, s in floats if t.dtype == "F16"]
    near = [Place(t.file, t.name, f"largest {s.absmax:g}, {s.saturated:,} at the limit", "below 0.9 × 65504", "format")
            for t, s in halves if s.absmax >= 0.9 * 65504.0 or s.saturated > 1e-4 * t.numel]  # fmt: skip
    ledger.count("audit.weights.saturated", near)


def _zeros(floats: Iterable[Judged], ledger: Ledger) -> None:
    matrices = [(t, s) for t, s in floats if t.is_matrix and not _LORA.search(t.name)]
    ledger.count(
        "audit.weights.zero", (Place(t.file, t.name, "all zero", "trained numbers") for t, s in matrices if s.zero)
    )
    # Rows of reserved tokens are zero on purpose.
    rows = [(t, s) for t, s in matrices if not s.zero and not _TABLE.search(t.name) and s.zero_rows > 0]
    rows.sort(key=lambda one: (-one[1].zero_rows, one[0].name))
    worst = rows[0][1].zero_rows if rows else 0.0
    ledger.fact(
        "audit.weights.zero_rows",
        worst,
        (Place(t.file, t.name, f"{s.zero_rows:.1%} of the rows are zero", "few") for t, s in rows),
    )


def _norms(checkpoint: Checkpoint, floats: Iterable[Judged], ledger: Ledger) -> None:
    """Weights of norms that have collapsed. Not for families whose norm weight is an offset from one."""
    norms = [(t, s) for t, s in floats if len(t.shape) == 1 and t.numel > 1 and _NORM.search(t.name)]
    if _CENTRED.search(checkpoint.architecture or ""):
        norms = []
    ledger.count(
        "audit.weights.degenerate_norms",
        (Place(t.file, t.name, "all negative" if s.negative else f"mean magnitude {s.mean_abs:.2g}", "near 1")
         for t, s in norms if not (s.nan or s.inf) and (s.mean_abs < 1e-3 or s.negative)),
    )  # fmt: skip


def _outliers(checkpoint: Checkpoint, floats: Iterable[Judged], ledger: Ledger) -> None:
    """The largest number of a matrix against its own root mean square, and against the same matrix of the base."""
    own = [(s.absmax / s.rms, t, s) for t, s in floats if t.is_matrix and 0 < s.rms < float("inf")]
    own.sort(key=lambda one: (-one[0], one[1].name))
    ledger.fact(
        "audit.weights.outlier_ratio",
        own[0][0] if own else 0.0,
        (Place(t.file, t.name, f"{s.absmax:.3g}, {ratio:.0f} × the root mean square", "no lone giant")
         for ratio, t, s in own[:20] if ratio > 100),
    )  # fmt: skip
    base = checkpoint.base
    if base is None or not base.tensors:
        ledger.unknown(
            "audit.weights.outlier_against_base",
            "The weights of the base are not at hand to compare with.",
            "没有基座权重可供比较。",
        )
        return
    # Numbers in eight bits are times a scale, so that they say nothing beside those of the base.
    ratios = [(s.absmax / b.absmax, t, s, b) for t, s in floats
              if t.is_matrix and not t.dtype.startswith("F8")
              and (b := base.stats.get(t.name)) is not None and b.absmax > 0]  # fmt: skip
    ratios.sort(key=lambda one: (-one[0], one[1].name))
    ledger.fact(
        "audit.weights.outlier_against_base",
        ratios[0][0] if ratios else 0.0,
        (Place(t.file, t.name, f"{s.absmax:.3g}", f"{b.absmax:.3g}", "base") for _, t, s, b in ratios[:5]),
    )


def _profile(floats: Iterable[Judged], ledger: Ledger) -> None:
    """Layers whose scale is far from that of their like; the first and last two layers differ by nature.

    Far: 4 times the median over the layers and 6 median absolute deviations away, both on the logarithm.
    """
    kinds: dict[str, list[tuple[int, TensorInfo, float]]] = defaultdict(list)
    for tensor, stats in floats:
        layer = _LAYER.search(tensor.name)
        if layer and tensor.is_matrix and 0 < stats.rms < float("inf") and not _LORA.search(tensor.name):
            kinds[re.sub(r"\.\d+\.", ".*.", tensor.name)].append((int(layer[1]), tensor, stats.rms))
    ledger.count("audit.weights.far_layers", (place for found in kinds.values() for place in _far(found)))


def _far(found: list[tuple[int, TensorInfo, float]]) -> Iterator[Place]:
    last = max(layer for layer, _, _ in found)
    inner = [(tensor, rms) for layer, tensor, rms in found if 2 <= layer <= last - 2]
    if len(inner) < _MIN_LAYERS:
        return
    logs = np.log10([rms for _, rms in inner])
    middle = float(np.median(logs))
    spread = float(np.median(np.abs(logs - middle)))
    for (tensor, rms), value in zip(inner, logs.tolist(), strict=True):
        if abs(value - middle) > max(6 * spread, np.log10(_FAR_FACTOR)):
            yield Place(tensor.file, tensor.name, f"root mean square {rms:.3g}", f"near {10**middle:.3g}, as its like")


def _twins(checkpoint: Checkpoint, judged: Iterable[Judged], ledger: Ledger) -> None:
    """Large matrices of different names with the same bytes that are not one tensor on purpose."""
    if _SHARING.search(checkpoint.architecture or ""):
        ledger.count("audit.weights.twins", ())
        return
    alike: dict[tuple[object, ...], list[TensorInfo]] = defaultdict(list)
    for tensor, stats in judged:
        plain = tensor.is_matrix and tensor.numel >= _BIG_MATRIX and not stats.constant
        if plain and not _TABLE.search(tensor.name) and not _LORA.search(tensor.name):
            alike[tensor.dtype, tensor.shape, stats.mark, stats.absmax, stats.rms].append(tensor)
    places = []
    for group in alike.values():
        first = group[0]
        for other in group[1:]:
            tied = first.storage and first.storage == other.storage and first.file == other.file
            if not tied and same_bytes(checkpoint.folder, first, checkpoint.folder, other):
                places.append(Place(other.file, other.name, f"the same bytes as {first.name}", "weights of its own"))
    ledger.count("audit.weights.twins", places)


def _against_base(checkpoint: Checkpoint, judged: list[Judged], ledger: Ledger) -> None:
    """How many matrices are those of the base to the byte, and which of those declared frozen are not."""
    base = checkpoint.base
    pairs = [(t, s, base.tensors[t.name], base.stats[t.name]) for t, s in judged
             if t.is_matrix and t.name in base.stats] if base else []  # fmt: skip
    comparable = [pair for pair in pairs if (pair[0].dtype, pair[0].shape) == (pair[2].dtype, pair[2].shape)]
    frozen = checkpoint.intent.expected_changes.frozen
    if base is None or not comparable or 2 * len(comparable) < len(pairs):
        why = (
            ("The weights of the base are not at hand to compare with.", "没有基座权重可供比较。")
            if not pairs
            else ("The base has another dtype or other shapes, so its bytes cannot be compared.",
                  "基座的 dtype 或形状不同，无法逐字节比较。")
        )  # fmt: skip
        ledger.unknown("audit.weights.unchanged_share", *why)
        if frozen:
            ledger.unknown("audit.weights.frozen_changed", *why)
        else:
            ledger.count("audit.weights.frozen_changed", ())
        return
    same = {
        t.name
        for t, s, other, stats in comparable
        if s.mark == stats.mark and s.absmax == stats.absmax and same_bytes(checkpoint.folder, t, base.folder, other)
    }
    examples = [Place(t.file, t.name, "the same bytes as in the base", "trained", "base")
                for t, *_ in comparable if t.name in same]  # fmt: skip
    ledger.fact("audit.weights.unchanged_share", len(same) / len(comparable), examples)
    ledger.count(
        "audit.weights.frozen_changed",
        (Place(t.file, t.name, "differs from the base", "frozen", "intent") for t, *_ in comparable
         if t.name not in same and any(part in t.name for part in frozen)),
    )  # fmt: skip
