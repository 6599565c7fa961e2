"""Whether MTEB results are comparable and were taken through the interface that is released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.audit.checkpoint import Checkpoint
from engine.audit.documents import shown, written
from engine.audit.evaluation.results import Result, Results
from engine.audit.interface import interface
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
    """``model_meta.json`` against the released interface; what either side leaves out is not compared."""
    released = interface(checkpoint)
    if released is None:
        return
    for label, meta in candidate.meta.items():
        settings = meta.get("loader_kwargs")
        prompts = settings.get("model_prompts") if isinstance(settings, Mapping) else None
        for key, seen, expected in (
            ("max_tokens", meta.get("max_tokens"), released.max_length),
            ("embed_dim", meta.get("embed_dim"), released.dimension),
            ("prompts", prompts, released.prompts or None),
        ):
            if seen is not None and expected is not None:
                yield Place(label, key, _said(seen), _said(expected), "config")


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return written({str(k): v for k, v in sorted(value.items()) if v})
    return f"{value:g}" if isinstance(value, int | float) else shown(value)
