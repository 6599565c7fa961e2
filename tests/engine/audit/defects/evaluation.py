"""What can be wrong with the evidence of evaluations."""

from __future__ import annotations

import shutil
from typing import Any

from tests.engine.audit.build.causal_lm import BASE_MODEL
from tests.engine.audit.build.embedding_results import mteb_evaluated
from tests.engine.audit.build.evidence import (
    ITEMS,
    RIGHT,
    edited,
    evidenced_lm,
    rows_edited,
    texts,
    write_evaluation,
    write_rows,
)
from tests.engine.audit.given import Defect, Given

CANDIDATE = "evals/candidate/results_2026-05-20T10-00-00.json"
BASELINE = "evals/baseline/results_2026-05-20T10-00-00.json"
FOLLOWING = frozenset({"evaluation/eval-neighbour", "evaluation/eval-target"})


def _again(given: Given, samples: bool = True, **right: int) -> None:
    """Write the candidate's results once more, with other counts of right answers."""
    shutil.rmtree(given.root.parent / "evals/candidate")
    counts = {(task, metric): right.get(task, both[0]) for (task, metric), both in RIGHT.items()}
    write_evaluation(given.root.parent / "evals/candidate", counts, "release/tiny-chat", samples=samples)


def _below_threshold(given: Given) -> None:
    _again(given, gsm8k=499)


def _gain_too_small(given: Given) -> None:
    given.intent["targets"][0]["min_gain_over_baseline"] = 0.2


def _no_better_than_baseline(given: Given) -> None:
    given.intent["targets"] = [{"task": "gsm8k", "metric": "exact_match"}]
    _again(given, gsm8k=449)


def _score_is_nan(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["results"]["gsm8k"].update({"exact_match,strict-match": float("nan")}))


def _paired_drop(given: Given) -> None:
    """Six items of a thousand, all in one direction: the chance of that is 1.6 %."""
    _again(given, hellaswag=694)


def _unpaired_drop(given: Given) -> None:
    """0.700 to 0.655 is 2.15 standard errors of 0.0209."""
    _again(given, samples=False, hellaswag=655)


def _drop_beyond_tolerance(given: Given) -> None:
    given.intent["neighbours"][0] = {"task": "hellaswag", "metric": "acc_norm", "max_drop": 0.05}
    _again(given, samples=False, hellaswag=640)


def _one_of_four_fell(given: Given) -> None:
    given.intent["neighbours"] += [
        {"task": "lambada_openai", "metric": "acc"},
        {"task": "gsm8k", "metric": "exact_match"},
    ]
    _again(given, samples=False, hellaswag=640)


def _setting(key: str, value: Any, *path: str) -> Any:
    def other_setting(given: Given) -> None:
        def edit(document: dict[str, Any]) -> None:
            for part in path:
                document = document[part]
            document[key] = value

        edited(given, BASELINE, edit)

    other_setting.__name__ = f"other_{key}"
    return other_setting


def _begin_token(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["config"].update(model_args="pretrained=release/tiny,add_bos_token=True"))


def _limited(given: Given) -> None:
    def edit(document: dict[str, Any]) -> None:
        document["config"]["limit"] = 100
        document["n-samples"] = {task: {"original": ITEMS, "effective": 100} for task in document["results"]}

    edited(given, CANDIDATE, edit)


def _limited_without_counts(given: Given) -> None:
    def edit(document: dict[str, Any]) -> None:
        document["config"]["limit"] = 0.1
        del document["n-samples"]

    edited(given, CANDIDATE, edit)


def _other_parameter_count(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["config"].update(model_num_parameters=1_527_404_544))


def _other_dtype(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["config"].update(model_dtype="torch.float16"))


def _other_hash(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["config"].update(model_sha256="ab" * 32))


def _base_evaluated(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["config"].update(model_args=f"pretrained={BASE_MODEL}"))


def _neighbour_missing(given: Given) -> None:
    edited(given, CANDIDATE, lambda d: d["results"].pop("arc_easy"))


def _no_standard_error(given: Given) -> None:
    def edit(document: dict[str, Any]) -> None:
        document["results"]["arc_easy"]["acc_stderr,none"] = "N/A"
        del document["n-samples"]["arc_easy"]

    edited(given, CANDIDATE, edit)


def _only_mathematics(given: Given) -> None:
    given.intent["neighbours"] = [{"task": "gsm8k", "metric": "exact_match"}]


def _generation(**values: Any) -> Any:
    """Every tenth text is like that: 10 % of them."""

    def odd_generations(given: Given) -> None:
        rows_edited(given, "evals/generations.jsonl", lambda r: r.update(values) if r["id"].endswith("5") else None)

    odd_generations.__name__ = "_".join(["generations", *map(str, values)]) + str(len(str(values)))
    return odd_generations


def _case_broke(given: Given) -> None:
    rows_edited(given, "evals/failure_set.jsonl", lambda r: r.update(candidate_pass=r["id"] != "f7"))


def _document_lost(given: Given) -> None:
    rows = [{"query": f"q{n}", "baseline_rank": 1, "candidate_rank": 4 if n == 3 else 3} for n in range(6)]
    write_rows(given.root.parent / "evals/failure_set.jsonl", rows)


def _trained_on_test(given: Given) -> None:
    seen = " ".join(texts("evaluation", 20)[3]["text"].split()[5:18])
    rows = [*texts("training", 30), {"messages": [{"role": "user", "content": f"Before {seen} after"}]}]
    write_rows(given.root.parent / "evals/training_sample.jsonl", rows)


def _mteb(change: dict[str, Any], file: str = "SciFact.json") -> Any:
    def other_interface(given: Given) -> None:
        edited(given, f"evals/candidate/{file}", lambda d: d.update(change))

    other_interface.__name__ = f"other_{next(iter(change))}"
    return other_interface


def _d(gate: str, spoil: Any, also: frozenset[str] = frozenset(), build: Any = evidenced_lm) -> Defect:
    return Defect(f"evaluation/{gate}", build, spoil, also)


DEFECTS: tuple[Defect, ...] = (
    _d("eval-target", _below_threshold),
    _d("eval-target", _gain_too_small),
    _d("eval-target", _no_better_than_baseline),
    _d("eval-target", _score_is_nan),
    _d("eval-neighbour", _paired_drop),
    _d("eval-neighbour", _unpaired_drop),
    _d("eval-neighbour", _drop_beyond_tolerance),
    _d("eval-neighbour", _one_of_four_fell),
    _d("eval-settings-equal", _setting("lm_eval_version", "0.4.3"), FOLLOWING),
    _d("eval-settings-equal", _setting("chat_template_sha", "ab" * 32), FOLLOWING),
    _d("eval-settings-equal", _setting("hellaswag", 10, "n-shot"), FOLLOWING),
    _d("eval-settings-equal", _setting("gsm8k", 3.0, "versions"), FOLLOWING),
    _d("eval-settings-equal", _setting("limit", 100, "config"), FOLLOWING),
    _d("eval-settings-equal", _setting("generation_kwargs", {"temperature": 1}, "configs", "gsm8k"), FOLLOWING),
    _d("eval-settings-equal", _begin_token, FOLLOWING),
    _d("eval-full-set", _limited, FOLLOWING),
    _d("eval-full-set", _limited_without_counts, FOLLOWING),
    _d("eval-model-identity", _other_parameter_count),
    _d("eval-model-identity", _other_dtype),
    _d("eval-model-identity", _other_hash),
    _d("eval-model-identity", _base_evaluated),
    _d("eval-neighbour-coverage", _neighbour_missing),
    _d("eval-neighbour-coverage", _no_standard_error),
    _d("eval-neighbour-coverage", _only_mathematics),
    _d("eval-generations", _generation(finish_reason="length")),
    _d("eval-generations", _generation(output="  ")),
    _d("eval-generations", _generation(output="I think so, too. " * 30)),
    _d("eval-generations", _generation(output="caf\ufffd au lait, please")),
    _d("eval-generations", _generation(output="Fine.<|im_end|>\n<|im_start|>user\nAnd you?")),
    _d("eval-failure-set", _case_broke),
    _d("eval-failure-set", _document_lost),
    _d("eval-contamination", _trained_on_test),
    _d("eval-mteb-interface", _mteb({"mteb_version": "2.0.1"}), FOLLOWING, mteb_evaluated),
    _d("eval-mteb-interface", _mteb({"dataset_revision": "cd" * 20}), FOLLOWING, mteb_evaluated),
    _d("eval-mteb-interface", _mteb({"max_tokens": 128}, "model_meta.json"), FOLLOWING, mteb_evaluated),
    _d("eval-mteb-interface", _mteb({"embed_dim": 64}, "model_meta.json"), FOLLOWING, mteb_evaluated),
)
