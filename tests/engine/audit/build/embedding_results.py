"""A tiny embedding model with MTEB results of it and of its predecessor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.audit.build.causal_lm import write_json
from tests.engine.audit.build.embedding import HIDDEN, POSITIONS, embedding
from tests.engine.audit.build.evidence import write_rows
from tests.engine.audit.given import Given

SCORES = {"SciFact": (0.71, 0.68), "NFCorpus": (0.335, 0.338)}


def mteb_evaluated(folder: Path) -> Given:
    """Targets and neighbours by ndcg_at_10 with fixed tolerances: MTEB states no standard errors."""
    given = embedding(folder)
    for side in (0, 1):
        evals = folder / "evals" / ("candidate", "baseline")[side]
        evals.mkdir(parents=True)
        for task, scores in SCORES.items():
            write_json(evals / f"{task}.json", result(task, scores[side]))
        meta = {"name": "example-org/tiny-embedder", "embed_dim": HIDDEN, "max_tokens": POSITIONS, "revision": "1"}
        write_json(evals / "model_meta.json", meta)
    rows = [{"id": f"q{n}", "query": f"query {n}", "baseline_rank": 1 + n, "candidate_rank": 1} for n in range(8)]
    write_rows(folder / "evals/failure_set.jsonl", rows)
    given.intent.update(
        targets=[{"task": "SciFact", "metric": "ndcg_at_10", "min_value": 0.7, "min_gain_over_baseline": 0.02}],
        neighbours=[{"task": "NFCorpus", "metric": "ndcg_at_10", "max_drop": 0.01}],
        evidence={
            "candidate": "evals/candidate",
            "baseline": "evals/baseline",
            "failure_set": "evals/failure_set.jsonl",
        },
    )
    return given


def result(task: str, score: float) -> dict[str, Any]:
    """A result file in the shape of MTEB since 1.6."""
    return {
        "dataset_revision": "ab" * 20,
        "task_name": task,
        "mteb_version": "1.38.9",
        "scores": {
            "test": [{"hf_subset": "default", "languages": ["eng-Latn"], "ndcg_at_10": score, "main_score": score}]
        },
        "evaluation_time": 12.5,
    }
