"""Whether MTEB results are comparable and were taken through the interface that is released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.audit.checkpoint import Checkpoint
from engine.audit.evaluation.results import Result, Results
from engine.audit.ledger import Place


def interface_differences(
    checkpoint: Checkpoint, candidate: Results, baseline: Results | None
) -> tuple[list[Place], int]:
    """What differs from the baseline (tool, data) or from the release (length, dimension, prompts), and how many
    settings could be compared.
    """
    found: list[Place] = []
    compared = 0
    for place in (*_against_baseline(candidate, baseline), *_against_release(checkpoint, candidate)):
        compared += 1
        if place.observed != place.expected:
            found.append(place)
    return found, compared


def _against_baseline(candidate: Results, baseline: Results | None) -> Iterator[Place]:
    theirs = {_task(one): one for one in baseline.files} if baseline else {}
    for ours in candidate.files:
        other = theirs.get(_task(ours))
        for key in ("mteb_version", "dataset_revision"):
            a, b = ours.document.get(key), other.document.get(key) if other else None
            if isinstance(a, str) and isinstance(b, str):
                yield Place(ours.label, key, a, b, "baseline")


def _task(one: Result) -> str:
    return str(one.document.get("task_name") or one.document.get("mteb_dataset_name"))


def _against_release(checkpoint: Checkpoint, candidate: Results) -> Iterator[Place]:
    """``model_meta.json`` against the sentence-transformers files; what either side leaves out is not compared."""
    released = _released(checkpoint)
    for label, meta in candidate.meta.items():
        prompts = (meta.get("loader_kwargs") or {}).get("model_prompts") if _is_map(meta.get("loader_kwargs")) else None
        seen = {"max_tokens": meta.get("max_tokens"), "embed_dim": meta.get("embed_dim"), "prompts": prompts}
        for key, value in seen.items():
            if value is not None and released.get(key) is not None:
                yield Place(label, key, _said(value), _said(released[key]), "config")


def _released(checkpoint: Checkpoint) -> dict[str, Any]:
    """Length limit, dimension and prompts as sentence-transformers reads them: modules in order of modules.json."""
    own = checkpoint.json("config_sentence_transformers.json")
    length = checkpoint.json("sentence_bert_config.json")
    pooling = next((d for d in (checkpoint.json(p) for p in _module_configs(checkpoint, "Pooling")) if d), None)
    dense = [d for d in (checkpoint.json(p) for p in _module_configs(checkpoint, "Dense")) if d]
    dimension = dense[-1].mapping.get("out_features") if dense else None
    if dimension is None and pooling is not None:
        dimension = pooling.mapping.get("word_embedding_dimension")
    return {
        "max_tokens": length.mapping.get("max_seq_length") if length else None,
        "embed_dim": dimension,
        "prompts": own.mapping.get("prompts") if own else None,
    }


def _module_configs(checkpoint: Checkpoint, kind: str) -> list[str]:
    modules = checkpoint.json("modules.json")
    value = modules.value if modules else None
    return [
        f"{module.get('path')}/config.json"
        for module in (value if isinstance(value, list) else [])
        if _is_map(module) and str(module.get("type", "")).endswith(f".{kind}")
    ]


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return str({str(k): str(v) for k, v in sorted(value.items()) if v})[:120]
    return f"{value:g}" if isinstance(value, int | float) else str(value)[:120]
