"""Whether what was evaluated is what is released: by hash, by count of parameters, by dtype, by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from engine.audit.checkpoint import Checkpoint
from engine.audit.evaluation.results import Result, Results
from engine.audit.ledger import Place
from engine.audit.tensors import FLOAT_DTYPES, TensorInfo

_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
_HASH_KEYS = ("model_sha256", "weights_sha256", "checkpoint_sha256")
# Half a percent: buffers that are counted by one side only.
_COUNT_TOLERANCE = 0.005
_WHOLE = frozenset({"causal_lm", "seq2seq", "encoder", "classifier", "sentence_transformers"})


def mismatches(checkpoint: Checkpoint, files: Sequence[Result], baseline: Results | None) -> list[Place]:
    """Every record of the candidate's result files that is of another model."""
    return [place for one in files for place in _of_file(checkpoint, one, baseline)]


def confirmed(checkpoint: Checkpoint, files: Sequence[Result]) -> bool:
    """Whether every result file records a hash of the released weights."""
    return all(_hash(one) in set(checkpoint.hashes.values()) for one in files)


def _of_file(checkpoint: Checkpoint, one: Result, baseline: Results | None) -> Iterator[Place]:
    digest = _hash(one)
    if digest in set(checkpoint.hashes.values()):
        return
    weights = {tensor.file for tensor in checkpoint.tensors.values()}
    if digest is not None and len(weights) == 1:  # of several files the hash may be of their sum
        yield Place(one.label, "config.model_sha256", digest, checkpoint.hashes.get(weights.pop(), ""), "header")
        return
    yield from _parameters(checkpoint, one)
    yield from _dtype(checkpoint, one)
    yield from _name(checkpoint, one, baseline)


def _hash(one: Result) -> str | None:
    for place in (("config",), ()):
        for key in _HASH_KEYS:
            value = one.part(*place, key)
            if isinstance(value, str) and re.fullmatch(r"(?:sha256:)?[0-9a-fA-F]{64}", value):
                return value.removeprefix("sha256:").lower()
    return None


def _parameters(checkpoint: Checkpoint, one: Result) -> Iterator[Place]:
    """Compared only where both count the same: whole models of unpacked floats, tied tensors once or twice."""
    stated = one.evaluation.parameters
    tensors = list(checkpoint.tensors.values())
    if stated is None or stated <= 0 or checkpoint.kind not in _WHOLE or not _plain(checkpoint, tensors):
        return
    total = sum(tensor.numel for tensor in tensors)
    head = sum(tensor.numel for tensor in tensors if tensor.name.endswith("lm_head.weight"))
    if all(abs(stated - count) > _COUNT_TOLERANCE * count for count in (total, total - head)):
        yield Place(one.label, "config.model_num_parameters", f"{stated:,.0f}", f"{total:,}", "header")


def _plain(checkpoint: Checkpoint, tensors: list[TensorInfo]) -> bool:
    broken = any(header.broken for header in checkpoint.headers.values())
    return bool(tensors) and not broken and all(t.dtype in FLOAT_DTYPES for t in tensors if t.is_matrix)


def _dtype(checkpoint: Checkpoint, one: Result) -> Iterator[Place]:
    """A wider dtype than the released one holds the same numbers and is no other model."""
    stated = one.part("config", "model_dtype")
    sizes: Counter[str] = Counter()
    for tensor in checkpoint.tensors.values():
        sizes[tensor.dtype] += tensor.nbytes
    if not isinstance(stated, str) or not sizes:
        return
    seen, released = stated.removeprefix("torch."), _DTYPES.get(sizes.most_common(1)[0][0])
    if released is None or seen not in _DTYPES.values() or seen in (released, "float32", "float64"):
        return
    yield Place(one.label, "config.model_dtype", stated, released, "header")


def _name(checkpoint: Checkpoint, one: Result, baseline: Results | None) -> Iterator[Place]:
    """The base, or the baseline once more, evaluated in place of the release."""
    name, adapter = one.evaluation.model, one.evaluation.adapter
    base = checkpoint.intent.base_model
    if adapter or not name:
        return
    if base is not None and name.split("@")[0].rstrip("/") == base:
        yield Place(one.label, "config.model_args", name, "the released model, not its base", "intent")
        return
    revision = one.part("config", "model_sha")
    for other in baseline.files if baseline else ():
        same = (other.evaluation.model, other.evaluation.adapter) == (name, "")
        if same and revision and revision == other.part("config", "model_sha"):
            yield Place(one.label, "config.model_sha", str(revision)[:120], f"not that of {other.label}", "baseline")
            return
