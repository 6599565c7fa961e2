"""Evaluations held against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.evidence.readers.results.compare import Comparison, compare
from engine.evidence.series import RunRecord
from engine.model.evidence import FactReading

Read = Callable[..., RunRecord]


def harness(date: float | None = None, model: str = "pretrained=org/m", **tasks: Any) -> dict[str, Any]:
    shots = tasks.pop("shots", 0)
    results = {
        task: {"acc,none": given, "acc_stderr,none": 0.005} if isinstance(given, float) else given
        for task, given in tasks.items()
    }
    return {
        "results": results, "group_subtasks": {}, "config": {"model_args": model, "model_num_parameters": 7e9},
        "n-shot": dict.fromkeys(tasks, shots), **({"date": date} if date else {}),
    }  # fmt: skip


def said(found: Comparison) -> dict[str, object]:
    return {
        one.fact if isinstance(one, FactReading) else one.finding: one.value
        if isinstance(one, FactReading)
        else one.state
        for one in found.readings
    }


def pair(result: Read, base: dict[str, Any], ours: dict[str, Any]) -> dict[str, object]:
    return said(compare([result(ours, "new/r.json"), result(base, "baseline/r.json")]))


def test_one_evaluation_is_compared_with_nothing(result: Read) -> None:
    assert compare([result(harness(piqa=0.8))]) == Comparison()


@pytest.mark.parametrize(
    ("base", "ours", "dropped"),
    [
        (0.80, 0.70, True),
        (0.80, 0.79, False),  # 1.4 standard errors of the difference
        (0.80, 0.785, True),  # 2.1 of them
        (0.80, 0.90, False),
    ],
)
def test_a_drop_counts_from_two_standard_errors_of_the_difference(
    result: Read, base: float, ours: float, dropped: bool
) -> None:
    found = pair(result, harness(piqa=base), harness(piqa=ours))
    assert found["eval.drop_beyond_noise"] is dropped
    if dropped:
        assert found["eval.dropped_task"] == "piqa acc"
        assert (found["eval.score_candidate"], found["eval.score_baseline"]) == (ours, base)


def test_a_significant_drop_may_be_too_small_to_matter(result: Read) -> None:
    tight = {"acc,none": 0.800, "acc_stderr,none": 0.0001}
    looser = {"acc,none": 0.795, "acc_stderr,none": 0.0001}
    assert pair(result, harness(piqa=tight), harness(piqa=looser))["eval.drop_beyond_noise"] is False


def test_many_tasks_need_more_than_two_standard_errors(result: Read) -> None:
    tasks = {f"task{n}": 0.5 for n in range(50)}
    assert pair(result, harness(**tasks), harness(**tasks | {"task0": 0.485}))["eval.drop_beyond_noise"] is False
    assert pair(result, harness(**tasks), harness(**tasks | {"task0": 0.47}))["eval.drop_beyond_noise"] is True


def test_perplexity_is_held_as_a_ratio_and_lower_is_better(result: Read) -> None:
    good = {"perplexity,none": 4.26, "perplexity_stderr,none": 0.1, "acc,none": 0.7, "acc_stderr,none": 0.006}
    bad = {"perplexity,none": 20.1, "perplexity_stderr,none": 0.7, "acc,none": 0.41, "acc_stderr,none": 0.006}
    found = pair(result, harness(lambada=good), harness(lambada=bad))
    assert found["eval.dropped_task"] == "lambada perplexity"
    assert pair(result, harness(lambada=bad), harness(lambada=good))["eval.drop_beyond_noise"] is False


def test_the_same_weights_that_score_otherwise(result: Read) -> None:
    same = pair(result, harness(piqa=0.8), harness(piqa=0.6))
    assert same["eval.shift-with-equal-weights"] == "present"
    other = pair(result, harness(piqa=0.8), harness(piqa=0.6, model="pretrained=org/tuned"))
    assert "eval.shift-with-equal-weights" not in other


@pytest.mark.parametrize(
    ("gsm8k", "piqa", "drop"),
    [(0.6, 0.7, 0.1), (0.4, 0.8, 0.0), (0.3, 0.7, None), (0.4, 0.7, None)],
)
def test_a_neighbour_fell_only_where_a_target_rose(result: Read, gsm8k: float, piqa: float, drop: float | None) -> None:
    tuned = harness(gsm8k=gsm8k, piqa=piqa, model="pretrained=org/tuned")
    found = [
        one.value
        for one in compare([result(tuned, "new"), result(harness(gsm8k=0.4, piqa=0.8), "baseline")]).readings
        if isinstance(one, FactReading) and one.fact == "release.neighbour_worst_drop"
    ]
    assert found == ([] if drop is None else [pytest.approx(drop)])


@pytest.mark.parametrize(
    ("ours", "theirs", "labels", "how"),
    [
        (harness(piqa=0.7), harness(piqa=0.8), ("a/new.json", "a/baseline.json"), "by the name of the file"),
        (harness(piqa=0.7, model="pretrained=m/sft"), harness(piqa=0.8, model="pretrained=m/base"), ("a", "b"),
         "by the name of the model"),
        (harness(piqa=0.7, model="pretrained=m,peft=x"), harness(piqa=0.8, model="pretrained=m"), ("a", "b"),
         "the one without an adapter"),
        (harness(2e9, piqa=0.7), harness(1e9, piqa=0.8), ("a", "b"), "the earliest"),
        (harness(2e9, piqa=0.7, model="pretrained=run/checkpoint-200"),
         harness(1e9, piqa=0.8, model="pretrained=run/checkpoint-100"), ("a", "b"), "the earliest"),
    ],
)  # fmt: skip
def test_which_is_the_baseline(
    result: Read, ours: dict[str, Any], theirs: dict[str, Any], labels: tuple[str, str], how: str
) -> None:
    for order in (1, -1):
        found = compare([result(ours, labels[0]), result(theirs, labels[1])][::order])
        assert found.judged[0].en.endswith(f"({how})")
        assert said(found)["eval.drop_beyond_noise"] is True


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (harness(2e9, piqa=0.7, model="pretrained=org/llama"), harness(1e9, piqa=0.8, model="pretrained=org/qwen"),
         "not clear which"),
        (harness(piqa=0.7), harness(piqa=0.8), "not clear which"),
        (harness(piqa=0.7), harness(boolq=0.8), "no task and metric in common"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_said(result: Read, first: dict[str, Any], second: dict[str, Any], why: str) -> None:
    found = compare([result(first, "a"), result(second, "b")])
    assert found.readings == ()
    assert why in found.not_judged[0][1].en


def test_every_digit_the_same_under_another_name(result: Read) -> None:
    scores = {"piqa": 0.8012, "boolq": 0.7034, "rte": 0.6611}
    base = harness(**scores)
    assert pair(result, base, harness(**scores, model="pretrained=org/tuned"))["output.same-as-base"] == "present"
    assert "output.same-as-base" not in pair(result, base, harness(**scores))
    other = harness(**scores | {"rte": 0.6612}, model="pretrained=org/tuned")
    assert "output.same-as-base" not in pair(result, base, other)


def test_another_protocol_is_told(result: Read) -> None:
    found = pair(result, harness(piqa=0.8), harness(piqa=0.8, shots=5))
    assert found["eval.metric-variant-differs"] == "present"
    assert "eval.metric-variant-differs" not in pair(result, harness(piqa=0.8), harness(piqa=0.8))


def mteb(task: str, value: float) -> dict[str, Any]:
    return {"mteb_version": "1", "mteb_dataset_name": task, "test": {"ndcg_at_10": value, "map_at_1": value / 3}}


def test_retrieval_is_compared_by_the_mean_over_its_tasks(result: Read) -> None:
    files = [("before", "A", 0.5), ("before", "B", 0.3), ("after", "A", 0.4), ("after", "B", 0.2)]
    found = said(compare([result(mteb(task, value), f"{folder}/{task}.json") for folder, task, value in files]))
    assert found["retrieval.score_before"] == pytest.approx(0.4)
    assert found["retrieval.score_after"] == pytest.approx(0.3)
    assert found["eval.drop_beyond_noise"] is True
