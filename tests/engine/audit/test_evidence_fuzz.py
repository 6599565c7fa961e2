"""Whatever stands in the files of evidence: facts or reasons, never an exception, and no number that is none."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.audit.ledger import Ledger
from engine.audit.probes import evaluation, run, training
from tests.engine.audit.build.evidence import RIGHT, failure_set, generations, metrics, results, trainer_state

# Few of each: shapes matter, not sizes.
DOCUMENTS: dict[str, Any] = {
    "candidate.json": results({key: both[0] for key, both in RIGHT.items()}, "m"),
    "baseline.json": results({key: both[1] for key, both in RIGHT.items()}, "b"),
    "trainer_state.json": trainer_state(120),
}
ROWS: dict[str, list[dict[str, Any]]] = {
    "generations.jsonl": generations(6),
    "failure_set.jsonl": failure_set()[:4],
    "samples_hellaswag.jsonl": [{"doc_id": n, "filter": "none", "acc_norm": 1.0} for n in range(4)],
    "log.jsonl": metrics(8, lambda step: 3.0 - 0.1 * step),
    "texts.jsonl": [{"text": "a b c d e f g h i j k l m n o p"}] * 2,
}
INTENT = {
    "schedule": "linear",
    "targets": [{"task": "gsm8k", "metric": "exact_match,strict-match", "min_value": 0.5}],
    "neighbours": [
        {"task": "hellaswag", "metric": "acc_norm", "max_drop": 0.01}, {"task": "arc_easy", "metric": "acc"},
    ],
    "evidence": {
        "candidate": "candidate.json", "baseline": "baseline.json", "candidate_samples": "samples_hellaswag.jsonl",
        "baseline_samples": "samples_hellaswag.jsonl", "generations": "generations.jsonl",
        "failure_set": "failure_set.jsonl", "trainer_state": "trainer_state.json", "training_data": "texts.jsonl",
        "eval_documents": "texts.jsonl",
    },
    "stages": {"single_batch_overfit": "log.jsonl", "small_run": "log.jsonl", "scale_up": ["log.jsonl", "log.jsonl"]},
}  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats()
    | st.sampled_from(["", "N/A", "nan", "acc,none", "\ufffd", "checkpoint-3", "x" * 300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["gsm8k", "loss", "limit"]), inner),
    max_leaves=4,
)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths of all parts of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [place for key, item in items for place in _places(item, (*path, key))]


def _replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


FILES = {name: _places(value) for name, value in (DOCUMENTS | ROWS).items()}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_one_value_is_something_else(data: st.DataObject) -> None:
    _one_value_is_something_else(data)


@pytest.mark.long
@settings(max_examples=1_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_one_value_is_something_else_a_thousand_times(data: st.DataObject) -> None:
    _one_value_is_something_else(data)


def _one_value_is_something_else(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    content: Any = _replaced((DOCUMENTS | ROWS)[name], data.draw(st.sampled_from(FILES[name])), data.draw(VALUES))
    cut = data.draw(st.none() | st.floats(0, 1))
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "model").mkdir()
        for file, value in (DOCUMENTS | ROWS | {name: content}).items():
            lines = file.endswith("l") and isinstance(value, list)
            text = "".join(json.dumps(row) + "\n" for row in value) if lines else json.dumps(value)
            if file == name and cut is not None:
                text = text[: int(cut * len(text))]
            (root / file).write_text(text, "utf-8")
        ledger = Ledger()
        checkpoint = Checkpoint(Folder.of(root / "model"), parse_intent(json.dumps(INTENT).encode()), root)
        for probe in (training.probe, run.probe, evaluation.probe):
            probe(checkpoint, ledger)
    for fact, seen in ledger.seen.items():
        if isinstance(seen.value, float):
            # Scores and losses may be below zero; counts and shares may not.
            assert math.isfinite(seen.value), fact
            assert seen.value >= 0 or fact.endswith(("_loss", "_score", "_baseline", "_norm")), fact
