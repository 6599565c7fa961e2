"""lm-evaluation-harness: both forms of its JSON, its table, and what a single evaluation says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from engine.evidence.readers.results.scores import Evaluation, Score, chance_of
from engine.evidence.series import RunRecord

Read = Callable[..., RunRecord]
Said = Callable[[RunRecord], dict[str, object]]


def harness(results: dict[str, dict[str, Any]], *, parameters: float | None = 7e9, **more: Any) -> dict[str, Any]:
    config = {"model": "hf", "model_args": "pretrained=org/model-7b", "model_num_parameters": parameters}
    return {"results": results, "group_subtasks": {}, "config": config | more.pop("config", {}), **more}


def acc(value: float, stderr: float | str = 0.005) -> dict[str, Any]:
    return {"alias": "x", "acc,none": value, "acc_stderr,none": stderr}


def test_scores_of_the_present_form(evaluation: Callable[..., Evaluation]) -> None:
    document = harness(
        {"gsm8k": {"exact_match,strict-match": 0.4, "exact_match_stderr,strict-match": 0.01, "alias": "gsm8k"},
         "lambada_openai": {"perplexity,none": 4.2, "perplexity_stderr,none": "N/A", "acc,none": 0.7}},
        **{"n-samples": {"gsm8k": {"original": 1319, "effective": 100}}, "date": 1.7e9, "n-shot": {"gsm8k": 5}},
    )  # fmt: skip
    found = evaluation(document)
    assert found.scores == (
        Score("gsm8k", "exact_match,strict-match", 0.4, 0.01, True, None, 100),
        Score("lambada_openai", "perplexity", 4.2, None, False),
        Score("lambada_openai", "acc", 0.7, None, True),
    )
    assert (found.model, found.parameters, found.when) == ("org/model-7b", 7e9, 1.7e9)
    assert found.protocol["n-shot gsm8k"] == "5"


def test_scores_of_the_flat_form_before_0_4(evaluation: Callable[..., Evaluation]) -> None:
    document = {
        "results": {"hellaswag": {"acc": 0.5, "acc_stderr": 0.005, "acc_norm": 0.7, "acc_norm_stderr": 0.004}},
        "versions": {"hellaswag": 0}, "config": {"model": "gpt2", "model_args": "pretrained=org/m,peft=org/adapter"},
    }  # fmt: skip
    found = evaluation(document)
    assert [(one.metric, one.value, one.stderr, one.chance) for one in found.scores] == [
        ("acc", 0.5, 0.005, 0.25),
        ("acc_norm", 0.7, 0.004, 0.25),
    ]
    assert (found.model, found.adapter) == ("org/m", "org/adapter")


def test_a_file_cut_short_gives_the_tasks_that_are_whole(result: Read) -> None:
    text = json.dumps(harness({"piqa": acc(0.8)}))
    record = result(text[: text.index('"config"')])
    assert record.read.records == 1
    assert "damaged or cut short" in record.not_understood[0]


def test_nan_and_infinity_are_scores_too(result: Read, said: Said) -> None:
    text = json.dumps(harness({"wikitext": {"word_perplexity,none": float("inf")}, "piqa": acc(0.8, float("nan"))}))
    assert "Infinity" in text
    assert said(result(text))["eval.score_nan"] is True
    assert said(result(harness({"piqa": acc(0.8, "N/A")})))["eval.score_nan"] is False


def test_a_guess_on_an_easy_task_is_told_by_its_chance_level(result: Read, said: Said) -> None:
    found = said(result(harness({"hellaswag": acc(0.2504), "winogrande": acc(0.6)})))
    assert (found["eval.score"], found["eval.chance_level"]) == (0.2504, 0.25)


def test_a_guess_on_hard_tasks_alone_is_no_fault(result: Read, said: Said) -> None:
    found = said(result(harness({"hellaswag": acc(0.55), "mmlu": acc(0.251), "winogrande": acc(0.58)})))
    assert (found["eval.score"], found["eval.chance_level"]) == (0.55, 0.25)


def test_small_models_may_guess(result: Read, said: Said) -> None:
    found = said(result(harness({"hellaswag": acc(0.25), "piqa": acc(0.0)}, parameters=1.4e7)))
    assert found == {"eval.score_nan": False}


@pytest.mark.parametrize(
    ("task", "value", "items", "zero"),
    [("gsm8k", 0.0, 1319, True), ("gsm8k", 0.001, 1319, False), ("gsm8k", 0.0, 5, False), ("aime24", 0.0, 30, False)],
)
def test_nothing_right(result: Read, said: Said, task: str, value: float, items: int, zero: bool) -> None:
    document = harness(
        {task: {"exact_match,none": value}}, **{"n-samples": {task: {"original": items, "effective": items}}}
    )
    assert (said(result(document)).get("eval.score-zero") == "present") is zero


@pytest.mark.parametrize(("lenient", "found"), [(0.62, "present"), (0.33, None)])
def test_strict_against_lenient_matching(result: Read, said: Said, lenient: float, found: str | None) -> None:
    metrics = {
        "exact_match,strict-match": 0.3, "exact_match_stderr,strict-match": 0.012,
        "exact_match,flexible-extract": lenient, "exact_match_stderr,flexible-extract": 0.012,
    }  # fmt: skip
    assert said(result(harness({"gsm8k": metrics}))).get("eval.gold-differs-by-formatting") == found


@pytest.mark.parametrize(("parameters", "told"), [(1.5e9, 3870.3), (1.4e7, None), (None, None)])
def test_perplexity_of_models_whose_good_values_are_known(
    result: Read, said: Said, parameters: float | None, told: float | None
) -> None:
    document = harness({"lambada_openai": {"perplexity,none": 3870.3}}, parameters=parameters)
    assert said(result(document)).get("eval.perplexity") == told


def test_remarks_on_what_makes_scores_rough(result: Read) -> None:
    remarks = result(harness({"piqa": {"acc,none": 0.8}}, config={"limit": 10})).not_understood
    assert any("no standard errors" in one for one in remarks)
    assert any("a limit was set" in one for one in remarks)
    assert result(harness({"piqa": acc(0.8)})).not_understood == ()
    assert any("holds no scores" in one for one in result(harness({})).not_understood)


TABLE = """2026-01-01 INFO evaluating
hf (pretrained=org/model-7b), gen_kwargs: (None), limit: 100.0, num_fewshot: None, batch_size: 8
|    Tasks     |Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|
|--------------|------:|----------------|-----:|-----------|---|-----:|---|-----:|
|arc_easy      |      1|none            |     0|acc        |↑  |0.7900|±  |0.0084|
|              |       |none            |     0|acc_norm   |↑  |0.7500|±  |np.float64(0.0090)|
|gsm8k         |      3|strict-match    |     5|exact_match|↑  |0.4100|±  |0.0135|
| - wikitext   |      2|none            |     0|word_perplexity|↓|9.3000|±|   N/A|

RuntimeError: after the table
"""


def test_the_printed_table_and_the_log_around_it(result: Read, evaluation: Callable[..., Evaluation]) -> None:
    found = evaluation(TABLE)
    assert [(one.task, one.metric, one.value, one.stderr, one.higher_is_better) for one in found.scores] == [
        ("arc_easy", "acc", 0.79, 0.0084, True),
        ("arc_easy", "acc_norm", 0.75, 0.009, True),
        ("gsm8k", "exact_match,strict-match", 0.41, 0.0135, True),
        ("wikitext", "word_perplexity", 9.3, None, False),
    ]
    assert (found.model, found.limited) == ("pretrained=org/model-7b", True)
    record = result(TABLE)
    assert any("after the table" in event.text for event in record.events)


LIGHTEVAL = """|            Task            |Version|Metric|Value |   |Stderr|
|----------------------------|------:|------|-----:|---|-----:|
|all                         |       |acc   |0.5100|±  |0.0200|
|leaderboard:arc:challenge:25|      0|acc   |0.5200|±  |0.0140|
"""


def test_the_table_of_lighteval_without_its_mean_over_tasks(evaluation: Callable[..., Evaluation]) -> None:
    found = evaluation(LIGHTEVAL)
    assert [(one.task, one.chance) for one in found.scores] == [("leaderboard:arc:challenge:25", 0.25)]


@pytest.mark.parametrize(
    ("task", "metric", "choices", "chance"),
    [("hellaswag", "acc", None, 0.25), ("custom", "acc", 5, 0.2), ("mmlu_pro", "acc", None, 0.1),
     ("boolq", "f1", None, None),
     ("mmlu_abstract_algebra", "acc", None, 0.25), ("leaderboard|mmlu:anatomy|5", "acc", None, 0.25),
     ("unheard_of", "acc", None, None), ("hendrycksTest-anatomy", "acc_norm", None, 0.25)],
)  # fmt: skip
def test_chance_levels(task: str, metric: str, choices: int | None, chance: float | None) -> None:
    assert chance_of(task, metric, choices) == chance


def test_the_standard_error_of_a_share_without_one() -> None:
    assert Score("t", "acc", 0.5, items=100).error == pytest.approx(math.sqrt(0.25 / 102))
    assert (Score("t", "acc", 0.0, items=100).error or 0) > 0
    assert Score("t", "acc", 0.5).error is None
