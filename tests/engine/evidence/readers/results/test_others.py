"""MTEB, PEFT's benchmark, summaries of the Hugging Face scripts; damaged files of all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine.evidence.readers.results import FORMATS
from engine.evidence.readers.results.scores import Evaluation
from engine.evidence.series import RunRecord

Read = Callable[..., RunRecord]
Said = Callable[[RunRecord], dict[str, object]]


def ranking(value: float, deep: float = 0.01) -> dict[str, float]:
    shallow = {f"{name}_at_{k}": value for name in ("map", "ndcg", "recall") for k in (1, 10, 100)}
    return {**shallow, "ndcg_at_1000": deep}


def test_mteb_flat_form(evaluation: Callable[..., Evaluation]) -> None:
    document = {
        "mteb_version": "1.1.0", "mteb_dataset_name": "STS", "dataset_revision": None,
        "test": {"cos_sim": {"spearman": 0.75, "accuracy_threshold": 0.9}, "evaluation_time": 1.3},
    }  # fmt: skip
    found = evaluation(document, "runs/my-model/STS.json")
    assert [(one.task, one.metric, one.value) for one in found.scores] == [("STS", "cos_sim spearman", 0.75)]
    assert found.model == "runs/my-model"


def test_mteb_flat_form_with_languages(evaluation: Callable[..., Evaluation]) -> None:
    document = {
        "mteb_version": "1.1.0", "mteb_dataset_name": "Massive",
        "test": {"de": {"accuracy": 0.6}, "zh-CN": {"accuracy": 0.5}, "evaluation_time": 2},
    }  # fmt: skip
    assert [(one.task, one.value) for one in evaluation(document).scores] == [
        ("Massive de", 0.6),
        ("Massive zh-CN", 0.5),
    ]


def test_mteb_scores_form(evaluation: Callable[..., Evaluation]) -> None:
    part = {"accuracy": 0.7, "main_score": 0.7, "hf_subset": "default", "languages": ["eng-Latn"],
            "scores_per_experiment": [{"accuracy": 0.71}]}  # fmt: skip
    document = {
        "mteb_version": "1.6.37",
        "task_name": "Banking",
        "evaluation_time": "25.04",
        "scores": {"test": [part]},
    }
    assert [(one.metric, one.value) for one in evaluation(document).scores] == [("accuracy", 0.7), ("main_score", 0.7)]


@pytest.mark.parametrize(("value", "told"), [(0.0, 0.0), (0.001, None)])
def test_retrieval_that_finds_nothing_in_the_first_hundred(
    result: Read, said: Said, value: float, told: float | None
) -> None:
    document = {"mteb_version": "1.1.0", "mteb_dataset_name": "R", "test": ranking(value)}
    assert said(result(document)).get("retrieval.score_after") == told


def benchmark(accuracy: float, **train: Any) -> dict[str, Any]:
    rows = [
        {"step": 250 * n, "valid accuracy": accuracy, "train loss": 1.3 - n / 100, "tokens / sec": 8000.0 + n}
        for n in range(1, 6)
    ]
    last = {"step": 1250, "test accuracy": accuracy, "train loss": 1.24}
    return {
        "run_info": {"created_at": "2026-07-15T03:42:36+00:00", "experiment_name": "lora/x",
                     "train_config": {"model_id": "org/m", "batch_size": 4, "dtype": "bfloat16"},
                     "peft_config": {"peft_type": "LORA", "r": 32}, "error_msg": ""},
        "train_info": {"status": "success", "num_total_params": 3e9, "metrics": [*rows, last], **train},
        "meta_info": {"dataset_info": {"gsm8k": {"sha": "0"}}},
    }  # fmt: skip


def test_the_benchmark_of_peft(
    result: Read, said: Said, evaluation: Callable[..., Evaluation],
    column: Callable[[RunRecord, str], list[tuple[float, float]]],
) -> None:  # fmt: skip
    record = result(benchmark(0.4))
    assert column(record, "loss")[:2] == [(250, 1.29), (500, 1.28)]
    assert len(column(record, "loss")) == 5
    assert column(record, "eval_accuracy")[0] == (250, 0.4)
    assert column(record, "tokens_per_second")[0] == (250, 8001.0)
    assert record.end.kind == "finished"
    assert record.config["peft_config"] == {"peft_type": "LORA", "r": 32}
    score = evaluation(benchmark(0.4)).scores[0]
    assert (score.task, score.metric, score.value, score.items) == ("test", "accuracy", 0.4, 1319)
    assert said(record) == {"eval.score_nan": False}
    assert said(result(benchmark(0.0)))["eval.score-zero"] == "present"


def test_a_benchmark_that_failed(result: Read) -> None:
    assert result(benchmark(0.4, status="failed")).end.kind == "crashed"


def test_the_summary_of_a_finished_run(result: Read, said: Said, evaluation: Callable[..., Evaluation]) -> None:
    document = {
        "epoch": 3.0, "train_loss": 0.45, "train_runtime": 100.0, "train_samples": 3290, "eval_loss": 0.9,
        "eval_accuracy": 0.81, "eval_samples": 872, "eval_runtime": 5.0, "eval_samples_per_second": 9.0,
    }  # fmt: skip
    record = result(document)
    assert said(record) == {"eval.score_nan": False, "eval_loss.last": 0.9, "data.epochs": 3.0}
    assert record.end.kind == "finished"
    assert record.config["train_samples"] == 3290
    assert [(one.task, one.metric, one.items) for one in evaluation(document).scores] == [("eval", "accuracy", 872)]


def test_a_summary_with_nan(result: Read, said: Said) -> None:
    found = said(result('{"train_loss": NaN, "train_runtime": 1.0, "eval_loss": NaN, "eval_runtime": 1}'))
    assert found["loss.nan"] is True
    assert found["eval_loss.nan"] is True


@pytest.mark.parametrize(
    "text",
    [
        '{"results": 3, "config": {"model_args": 1}, "n-shot": []}',
        '{"results": {"a": [1], "b": {"acc,none": {}}}, "n-shot": {"a": null}, "higher_is_better": 1}',
        '{"mteb_version": 1, "task_name": ["x"], "scores": {"test": [1, {"main_score": true}]}}',
        '{"mteb_version": "1", "mteb_dataset_name": "R", "test": {"ndcg_at_10": 0.',
        '{"run_info": [], "train_info": {"metrics": [1, {"step": "x", "train loss": []}]}}',
        '{"run_info": {"created_at": "never"}, "train_info": {"metrics": null}',
        '{"train_runtime": "long", "eval_loss": 1e999}',
        '{"n-shot": {}, "results": ' + '{"a":' * 20_000,
        "|Tasks|Version|Filter|n-shot|Metric| |Value| |Stderr|\n|a|1|none|0|acc|x|\n|a|1|none|0|acc||?|±|y|\n",
    ],
)
def test_odd_content_gives_a_partial_record(result: Read, text: str) -> None:
    record = result(text)
    assert all(isinstance(one, str) for one in record.not_understood)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "step 1 loss 2", '{"a": {"train_runtime": 1}}', json.dumps({"results": {"x": 1}})]
)
def test_what_is_no_result(text: str) -> None:
    assert not any(one.recognises(text.encode()) for one in FORMATS)
