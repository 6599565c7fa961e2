"""Evidence beside a tiny chat model: harness results with samples, texts, a failure set, and logs of its runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.audit.build.causal_lm import BASE_MODEL, release, shapes, write_json
from tests.engine.audit.build.tokenizer import END
from tests.engine.audit.given import Given

# Right answers of candidate and baseline over so many items, by task and metric. gsm8k is the target.
ITEMS = 1000
RIGHT = {
    ("gsm8k", "exact_match,strict-match"): (600, 450),
    ("hellaswag", "acc_norm,none"): (702, 700),
    ("arc_easy", "acc,none"): (640, 645),
    ("lambada_openai", "acc,none"): (551, 550),
}
STEPS = 400
Edit = Callable[[dict[str, Any]], None]


def evidenced_lm(folder: Path, chat: bool = True) -> Given:
    """A model with evidence for everything: evaluations, texts, failure set, trainer state, and three stages."""
    given = release(folder, chat=chat)
    for side, place, model in (("candidate", 0, "release/tiny-chat"), ("baseline", 1, BASE_MODEL)):
        write_evaluation(folder / "evals" / side, {key: right[place] for key, right in RIGHT.items()}, model)
    write_rows(folder / "evals/generations.jsonl", generations())
    write_rows(folder / "evals/failure_set.jsonl", failure_set())
    write_rows(folder / "evals/training_sample.jsonl", texts("training", 30))
    write_rows(folder / "evals/documents.jsonl", texts("evaluation", 20))
    (folder / "run").mkdir()
    write_json(folder / "run/trainer_state.json", trainer_state())
    write_rows(folder / "logs/overfit.jsonl", metrics(60, lambda step: 6.0 * 0.9**step + 0.002))
    write_rows(
        folder / "logs/small.jsonl", [row | {"save_time": 0.5 * (row["step"] % 100 == 99)} for row in small_run()]
    )
    write_rows(folder / "logs/dp1.jsonl", metrics(40, lambda step: 5.0 - 0.02 * step))
    write_rows(folder / "logs/dp8.jsonl", metrics(40, lambda step: 5.0 - 0.02 * step + 0.01 * math.sin(step)))
    given.intent.update(
        schedule="cosine",
        targets=[
            {"task": "gsm8k", "metric": "exact_match,strict-match", "min_value": 0.5, "min_gain_over_baseline": 0.03}
        ],
        neighbours=[
            {"task": "hellaswag", "metric": "acc_norm,none", "max_drop_in_stderr_of_difference": 2.0},
            {"task": "arc_easy", "metric": "acc,none"},
        ],
        evidence={
            "candidate": "evals/candidate",
            "baseline": "evals/baseline",
            "generations": "evals/generations.jsonl",
            "failure_set": "evals/failure_set.jsonl",
            "training_data": "evals/training_sample.jsonl",
            "eval_documents": "evals/documents.jsonl",
            "trainer_state": "run/trainer_state.json",
        },
        stages={
            "single_batch_overfit": "logs/overfit.jsonl",
            "small_run": "logs/small.jsonl",
            "scale_up": ["logs/dp1.jsonl", "logs/dp8.jsonl"],
        },
    )
    return given


def write_evaluation(folder: Path, right: Mapping[tuple[str, str], int], model: str, *, samples: bool = True) -> None:
    """results_<time>.json and the samples of each task; the first items are the right ones."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "results_2026-05-20T10-00-00.json", results(right, model))
    for (task, metric), count in right.items() if samples else ():
        name, _, filter_ = metric.partition(",")
        rows = [
            {"doc_id": item, "doc_hash": f"{task}{item}", "filter": filter_, name: float(item < count)}
            for item in range(ITEMS)
        ]
        write_rows(folder / f"samples_{task}_2026-05-20T10-00-00.jsonl", rows)


def results(right: Mapping[tuple[str, str], int], model: str) -> dict[str, Any]:
    """A result file in the shape that lm-evaluation-harness 0.4 writes."""
    scores: dict[str, dict[str, Any]] = {}
    for (task, metric), count in right.items():
        share = count / ITEMS
        name, _, filter_ = metric.partition(",")
        error = math.sqrt(share * (1 - share) / (ITEMS - 1))
        scores.setdefault(task, {"alias": task}).update({metric: share, f"{name}_stderr,{filter_}": error})
    return {
        "results": scores,
        "group_subtasks": {task: [] for task in scores},
        "configs": {task: {"task": task, "generation_kwargs": {"do_sample": False}} for task in scores},
        "versions": dict.fromkeys(scores, 1.0),
        "n-shot": dict.fromkeys(scores, 0),
        "higher_is_better": {task: {key.split(",")[0]: True for t, key in right if t == task} for task in scores},
        "n-samples": {task: {"original": ITEMS, "effective": ITEMS} for task in scores},
        "config": {
            "model": "hf",
            "model_args": f"pretrained={model},dtype=bfloat16",
            "model_num_parameters": sum(math.prod(shape) for shape in shapes().values()),
            "model_dtype": "torch.bfloat16",
            "limit": None,
            "gen_kwargs": None,
        },
        "lm_eval_version": "0.4.9",
        "date": 1779271200.0,
        "chat_template_sha": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": False,
        "max_length": 128,
        "task_hashes": {task: f"{len(task):064x}" for task in scores},
    }


def generations(count: int = 40) -> list[dict[str, Any]]:
    """Answers that end by themselves, the last of them not."""
    rows = [
        {
            "id": f"g{number}",
            "prompt": f"Name {number} towns.",
            "output": " ".join(f"Town {number} {place} lies by a river." for place in range(6)) + END,
            "finish_reason": "stop",
            "new_tokens": 48,
            "max_new_tokens": 256,
            "chat": True,
        }
        for number in range(count)
    ]
    rows[-1] |= {"finish_reason": "length", "new_tokens": 256}
    return rows


def failure_set() -> list[dict[str, Any]]:
    """Twelve cases of which the baseline passed ten and the candidate eleven."""
    return [
        {"id": f"f{number}", "case": f"case {number}", "baseline_pass": number >= 2, "candidate_pass": number >= 1}
        for number in range(12)
    ]


def texts(kind: str, count: int) -> list[dict[str, Any]]:
    """Documents of forty words that have little in common."""
    return [{"text": " ".join(f"{kind}{number}word{place}" for place in range(40))} for number in range(count)]


def trainer_state(steps: int = STEPS) -> dict[str, Any]:
    """A finished run with a cosine schedule, logged every ten steps and evaluated every eighty."""
    noise = np.random.default_rng(5).normal(0.0, 0.01, steps + 1)
    history: list[dict[str, Any]] = []
    for step in range(10, steps + 1, 10):
        rate = 1e-5 * (1 + math.cos(math.pi * step / steps))
        loss = 1.2 + 1.5 * math.exp(-step / 60) + noise[step]
        history.append({"epoch": 3 * step / steps, "step": step, "loss": loss, "grad_norm": 1.1, "learning_rate": rate})
        if step % 80 == 0:
            history.append({"epoch": 3 * step / steps, "step": step, "eval_loss": 1.3 + math.exp(-step / 80)})
    history.append({"epoch": 3.0, "step": steps, "train_loss": 1.6, "train_runtime": 900.0, "total_flos": 1e15})
    return {
        "best_metric": None,
        "best_model_checkpoint": None,
        "epoch": 3.0,
        "global_step": steps,
        "max_steps": steps,
        "num_train_epochs": 3,
        "log_history": history,
        "stateful_callbacks": {},
    }


def metrics(steps: int, loss: Callable[[int], float]) -> list[dict[str, Any]]:
    """A log with a loss for each step."""
    return [{"step": step, "loss": loss(step)} for step in range(steps)]


def small_run(steps: int = 200) -> list[dict[str, Any]]:
    """A log of all that a small run has to record."""
    speed = {
        "tokens_per_second": 9000.0,
        "step_time": 0.9,
        "grad_norm": 1.3,
        "dataloader_time": 0.03,
        "truncated_share": 0.002,
    }
    return [row | speed | {"peak_memory_bytes": 3.1e10} for row in metrics(steps, lambda step: 4.0 - 0.005 * step)]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def edited(given: Given, path: str, edit: Edit) -> None:
    """Change a JSON document of the evidence in place."""
    file = given.root.parent / path
    document = json.loads(file.read_text("utf-8"))
    edit(document)
    file.write_text(json.dumps(document), "utf-8")


def rows_edited(given: Given, path: str, edit: Edit) -> None:
    """Change every row of JSON lines in place."""
    file = given.root.parent / path
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for row in rows:
        edit(row)
    write_rows(file, rows)
