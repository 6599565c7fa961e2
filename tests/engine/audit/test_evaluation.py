"""Evidence of evaluations at its thresholds, with holes in it, and in the shapes that tools write."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.audit.decide import Auditor
from engine.model.audit import AuditedGate
from tests.engine.audit.build.embedding_results import mteb_evaluated
from tests.engine.audit.build.evidence import (
    RIGHT,
    edited,
    evidenced_lm,
    rows_edited,
    texts,
    write_evaluation,
    write_rows,
)
from tests.engine.audit.defects.evaluation import BASELINE, CANDIDATE
from tests.engine.audit.given import Given, audited

Spoil = Callable[[Given], object]


def plain(folder: Path) -> Given:
    """Without a chat template, which takes a process to render."""
    return evidenced_lm(folder, chat=False)


def gate(auditor: Auditor, given: Given, name: str) -> AuditedGate:
    return next(g for g in audited(auditor, given).gates if g.id == f"evaluation/{name}")


def again(given: Given, *, samples: bool = False, **right: int) -> None:
    """The candidate once more, with other counts of right answers."""
    shutil.rmtree(given.root.parent / "evals/candidate")
    counts = {(task, metric): right.get(task, both[0]) for (task, metric), both in RIGHT.items()}
    write_evaluation(given.root.parent / "evals/candidate", counts, "release/tiny-chat", samples=samples)


@pytest.mark.parametrize(
    ("right", "status"),
    [(499, "fail"), (500, "not_enough_evidence"), (530, "not_enough_evidence"), (532, "pass")],
)
def test_a_target_is_held_against_its_lower_bound(tmp_path: Path, auditor: Auditor, right: int, status: str) -> None:
    given = plain(tmp_path)
    again(given, gsm8k=right)
    assert gate(auditor, given, "eval-target").status == status


@pytest.mark.parametrize(("needed", "status"), [(0.15, "pass"), (0.151, "fail")])
def test_a_gain_is_held_against_its_threshold(tmp_path: Path, auditor: Auditor, needed: float, status: str) -> None:
    given = plain(tmp_path)
    given.intent["targets"][0]["min_gain_over_baseline"] = needed
    assert gate(auditor, given, "eval-target").status == status


def test_a_target_without_thresholds_is_not_below_the_baseline(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    given.intent["targets"] = [{"task": "gsm8k", "metric": "exact_match"}]
    again(given, gsm8k=450)
    assert gate(auditor, given, "eval-target").status == "pass"


def test_percent_against_a_share_is_said(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    given.intent["targets"][0]["min_value"] = 45
    found = gate(auditor, given, "eval-target")
    assert found.status == "not_enough_evidence"
    assert "write the threshold as a share" in found.because


def test_a_gain_without_a_baseline_is_not_known(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    del given.intent["evidence"]["baseline"]
    assert gate(auditor, given, "eval-target").status == "not_enough_evidence"
    del given.intent["targets"][0]["min_gain_over_baseline"]
    assert gate(auditor, given, "eval-target").status == "pass"


@pytest.mark.parametrize(("right", "status"), [(695, "pass"), (694, "fail")])
def test_flips_of_a_neighbour_are_counted(tmp_path: Path, auditor: Auditor, right: int, status: str) -> None:
    """Five items of 1000 that all fell are 3.1 % likely by chance, six 1.6 %; two standard errors are 2.3 %."""
    given = plain(tmp_path)
    again(given, samples=True, hellaswag=right)
    assert gate(auditor, given, "eval-neighbour").status == status


@pytest.mark.parametrize(("right", "status"), [(659, "pass"), (657, "fail")])
def test_without_samples_the_errors_add_up(tmp_path: Path, auditor: Auditor, right: int, status: str) -> None:
    given = plain(tmp_path)
    again(given, hellaswag=right)
    assert gate(auditor, given, "eval-neighbour").status == status


def test_samples_of_another_run_are_not_paired(tmp_path: Path, auditor: Auditor) -> None:
    """The reported score is 0.690, the samples are of 0.702."""
    given = plain(tmp_path)
    edited(given, CANDIDATE, lambda d: d["results"]["hellaswag"].update({"acc_norm,none": 0.69}))
    found = gate(auditor, given, "eval-neighbour")
    assert found.status == "pass"
    assert not any("paired" in place.observed and "hellaswag" in place.at for place in found.places)


def test_four_neighbours_are_tested_together(tmp_path: Path, auditor: Auditor) -> None:
    """2.1 standard errors fail alone; among four Holm asks for 2.53 of the first."""
    given = plain(tmp_path)
    again(given, hellaswag=656)
    assert gate(auditor, given, "eval-neighbour").status == "fail"
    given.intent["neighbours"] += [
        {"task": "lambada_openai", "metric": "acc"},
        {"task": "gsm8k", "metric": "exact_match"},
    ]
    found = gate(auditor, given, "eval-neighbour")
    assert found.status == "pass"
    assert "4 tests, Holm" in found.expected


@pytest.mark.parametrize(
    ("tolerance", "right", "status"),
    [(0.06, 702, "pass"), (0.05, 702, "not_enough_evidence"), (0.05, 660, "not_enough_evidence"), (0.05, 640, "fail")],
)
def test_no_regression_is_a_claim_too(
    tmp_path: Path, auditor: Auditor, tolerance: float, right: int, status: str
) -> None:
    """Without samples a drop is detectable from 2.8 x 0.0205 = 0.057 on."""
    given = plain(tmp_path)
    given.intent["neighbours"] = [{"task": "hellaswag", "metric": "acc_norm", "max_drop": tolerance}]
    again(given, hellaswag=right)
    found = gate(auditor, given, "eval-neighbour")
    assert found.status == status
    if right == 702 and status == "not_enough_evidence":
        assert "n needed = 1,3" in found.because


@pytest.mark.parametrize(("score", "status"), [(0.3281, "pass"), (0.3279, "fail")])
def test_mteb_states_no_errors_and_is_held_against_tolerances(
    tmp_path: Path, auditor: Auditor, score: float, status: str
) -> None:
    given = mteb_evaluated(tmp_path)
    edited(given, "evals/candidate/NFCorpus.json", lambda d: d["scores"]["test"][0].update(ndcg_at_10=score))
    assert gate(auditor, given, "eval-neighbour").status == status
    assert gate(auditor, given, "eval-neighbour-coverage").status == "pass"


def test_mteb_without_a_tolerance_is_open(tmp_path: Path, auditor: Auditor) -> None:
    given = mteb_evaluated(tmp_path)
    del given.intent["neighbours"][0]["max_drop"]
    assert gate(auditor, given, "eval-neighbour").status == "not_enough_evidence"


def test_flat_files_of_old_mteb_are_read(tmp_path: Path, auditor: Auditor) -> None:
    given = mteb_evaluated(tmp_path)
    for side in ("candidate", "baseline"):
        for task in ("SciFact", "NFCorpus"):
            path = tmp_path / f"evals/{side}/{task}.json"
            new = json.loads(path.read_text("utf-8"))
            score = new["scores"]["test"][0]["ndcg_at_10"]
            old = {"mteb_dataset_name": task, "mteb_version": "1.1.2", "dataset_revision": None}
            path.write_text(json.dumps(old | {"test": {"ndcg_at_10": score, "evaluation_time": 3.0}}), "utf-8")
    assert gate(auditor, given, "eval-target").status == "pass"
    assert gate(auditor, given, "eval-mteb-interface").status == "pass"


def test_flat_files_of_the_old_harness_are_read(tmp_path: Path, auditor: Auditor) -> None:
    """Before 0.4: no filter in the names, no count of items, no settings but the limit."""
    given = plain(tmp_path)
    for side in ("candidate", "baseline"):
        folder = tmp_path / f"evals/{side}"
        document = json.loads((folder / "results_2026-05-20T10-00-00.json").read_text("utf-8"))
        flat = {
            task: {name.split(",")[0]: value for name, value in scores.items() if name != "alias"}
            for task, scores in document["results"].items()
        }
        config = {"model": "hf-causal", "model_args": "pretrained=release/tiny-chat", "limit": None}
        shutil.rmtree(folder)
        old = {"results": flat, "versions": dict.fromkeys(flat, 0), "config": config}
        folder.with_suffix(".json").write_text(json.dumps(old), "utf-8")
        given.intent["evidence"][side] = f"evals/{side}.json"
    given.intent["targets"][0]["metric"] = "exact_match"
    found = {g.id: g.status for g in audited(auditor, given).gates}
    assert found["evaluation/eval-target"] == "pass"
    assert found["evaluation/eval-neighbour"] == "pass"
    assert found["evaluation/eval-full-set"] == "pass"
    assert found["evaluation/eval-settings-equal"] == "pass"


def test_evidence_of_the_command_line_stands_in(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    named = {key: given.intent["evidence"].pop(key) for key in ("candidate", "baseline")}
    paths = {"evals": tmp_path / named["candidate"], "baseline": tmp_path / named["baseline"]}
    given = Given(given.root, given.intent, given.base, paths)
    assert gate(auditor, given, "eval-target").status == "pass"
    assert gate(auditor, given, "eval-neighbour").status == "pass"


@pytest.mark.parametrize("gate_", ["eval-target", "eval-neighbour", "eval-settings-equal", "eval-full-set"])
@pytest.mark.parametrize("broken", ["absent", "outside", "no_json", "no_results", "deep"])
def test_useless_results_are_no_evidence(tmp_path: Path, auditor: Auditor, gate_: str, broken: str) -> None:
    given = plain(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/results.json").write_bytes(
        {"no_json": b'{"results": {"a"', "no_results": b"{}", "deep": b"[" * 100_000}.get(broken, b"")
    )
    name = {"absent": "nowhere.json", "outside": "../../../etc/passwd"}.get(broken, "bad")
    given.intent["evidence"]["candidate"] = name
    found = gate(auditor, given, gate_)
    assert found.status == "not_enough_evidence"
    assert name in found.because


def test_a_hash_confirms_the_model(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    assert gate(auditor, given, "eval-model-identity").status == "not_enough_evidence"
    digest = hashlib.sha256((given.root / "model.safetensors").read_bytes()).hexdigest()
    edited(given, CANDIDATE, lambda d: d["config"].update(model_sha256=digest))
    assert gate(auditor, given, "eval-model-identity").status == "pass"


@pytest.mark.parametrize(("factor", "status"), [(1.004, "not_enough_evidence"), (1.006, "fail")])
def test_half_a_percent_of_the_parameters(tmp_path: Path, auditor: Auditor, factor: float, status: str) -> None:
    given = plain(tmp_path)

    def edit(document: dict[str, Any]) -> None:
        document["config"]["model_num_parameters"] *= factor

    edited(given, CANDIDATE, edit)
    assert gate(auditor, given, "eval-model-identity").status == status


def test_a_wider_dtype_is_no_other_model(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    edited(given, CANDIDATE, lambda d: d["config"].update(model_dtype="torch.float32"))
    assert gate(auditor, given, "eval-model-identity").status == "not_enough_evidence"


def test_batch_size_and_device_may_differ(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    edited(given, BASELINE, lambda d: d["config"].update(batch_size="8", device="cuda:3"))
    edited(given, CANDIDATE, lambda d: d["config"].update(batch_size="64", device="cpu"))
    assert gate(auditor, given, "eval-settings-equal").status == "pass"


def test_settings_of_tasks_that_nobody_asked_for_may_differ(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    edited(given, BASELINE, lambda d: d["n-shot"].update(lambada_openai=5))
    assert gate(auditor, given, "eval-settings-equal").status == "pass"


def _every(count: int, **values: Any) -> Spoil:
    """Give the first ``count`` of forty generations these values."""
    return lambda given: rows_edited(
        given, "evals/generations.jsonl", lambda row: row.update(values) if int(row["id"][1:]) < count else None
    )


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        # One of forty is cut already: with one more it is 5 %.
        (_every(1, finish_reason="length"), "pass"),
        (_every(2, finish_reason="length"), "fail"),
        (_every(0, output=""), "pass"),
        (_every(1, output=""), "fail"),
        (_every(40, finish_reason=None, new_tokens=None), "not_enough_evidence"),
        (_every(40, finish_reason=None), "pass"),
        (_every(1, output="Use <|im_start|> here.", prompt="What does <|im_start|> do?"), "pass"),
        (_every(1, output="cut in a chara\ufffd", finish_reason="length"), "pass"),
        (_every(1, output="一二三四五六七八九十" * 3), "fail"),
        (_every(1, output="春有百花秋有月夏有凉风冬有雪若无闲事挂心头便是人间好时节今日良宴会欢乐难具陈"), "pass"),
    ],
)
def test_generations_at_their_thresholds(tmp_path: Path, auditor: Auditor, spoil: Spoil, status: str) -> None:
    given = plain(tmp_path)
    given.intent["chat"] = {}
    spoil(given)
    assert gate(auditor, given, "eval-generations").status == status


@pytest.mark.parametrize(("count", "status"), [(4, "not_enough_evidence"), (5, "pass")])
def test_a_handful_of_generations_shows_nothing(tmp_path: Path, auditor: Auditor, count: int, status: str) -> None:
    given = plain(tmp_path)
    path = tmp_path / "evals/generations.jsonl"
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:count]), "utf-8")
    assert gate(auditor, given, "eval-generations").status == status


def test_new_failures_weigh_by_their_tag(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    rows_edited(given, "evals/failure_set.jsonl", lambda row: row.update(candidate_pass=row["id"] != "f7"))
    assert gate(auditor, given, "eval-failure-set").severity == "major"
    rows_edited(given, "evals/failure_set.jsonl", lambda row: row.update(tags=["blocker"] if row["id"] == "f7" else []))
    assert gate(auditor, given, "eval-failure-set").severity == "blocker"


def test_the_majority_of_repeats_counts(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    rows = [{"id": "flaky", "baseline_pass": True, "candidate_pass": passes} for passes in (True, False, True)]
    write_rows(tmp_path / "evals/failure_set.jsonl", rows)
    assert gate(auditor, given, "eval-failure-set").status == "pass"


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [(1, 3, "pass"), (1, 4, "fail"), (9, 10, "pass"), (9, 11, "fail"), (9, None, "fail"), (None, 40, "pass")],
)
def test_ranks_of_the_failure_set(
    tmp_path: Path, auditor: Auditor, before: int | None, after: int | None, status: str
) -> None:
    given = mteb_evaluated(tmp_path)
    write_rows(tmp_path / "evals/failure_set.jsonl", [{"query": "q", "baseline_rank": before, "candidate_rank": after}])
    assert gate(auditor, given, "eval-failure-set").status == status


@pytest.mark.parametrize(("line", "said"), [("{", "line 2: not JSON"), ("3", "line 2: no object")])
def test_a_damaged_file_is_no_evidence(tmp_path: Path, auditor: Auditor, line: str, said: str) -> None:
    given = plain(tmp_path)
    path = tmp_path / "evals/failure_set.jsonl"
    path.write_text(path.read_text("utf-8").splitlines()[0] + "\n" + line + "\n", "utf-8")
    found = gate(auditor, given, "eval-failure-set")
    assert found.status == "not_enough_evidence"
    assert said in found.because


@pytest.mark.parametrize(("words", "status"), [(12, "pass"), (13, "fail")])
def test_overlap_is_thirteen_words(tmp_path: Path, auditor: Auditor, words: int, status: str) -> None:
    given = plain(tmp_path)
    seen = " ".join(texts("evaluation", 4)[3]["text"].upper().split()[5 : 5 + words])
    write_rows(tmp_path / "evals/training_sample.jsonl", [*texts("training", 9), {"text": f"So, {seen}!"}])
    assert gate(auditor, given, "eval-contamination").status == status


@pytest.mark.parametrize(("characters", "status"), [(49, "pass"), (50, "fail")])
def test_overlap_without_spaces_is_fifty_characters(
    tmp_path: Path, auditor: Auditor, characters: int, status: str
) -> None:
    given = plain(tmp_path)
    text = "".join(chr(0x4E00 + 37 * place) for place in range(90))
    write_rows(tmp_path / "evals/documents.jsonl", [{"question": text}])
    write_rows(
        tmp_path / "evals/training_sample.jsonl", [{"text": "前" + text[20 : 20 + characters]}, {"text": "后" * 60}]
    )
    assert gate(auditor, given, "eval-contamination").status == status


def test_boilerplate_of_a_task_is_no_overlap(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    frame = " ".join(f"please{n}" for n in range(15))
    documents = [{"text": f"{frame} {row['text']}"} for row in texts("evaluation", 5)]
    write_rows(tmp_path / "evals/documents.jsonl", documents)
    write_rows(tmp_path / "evals/training_sample.jsonl", [*texts("training", 9), {"text": frame}])
    assert gate(auditor, given, "eval-contamination").status == "pass"


def test_older_results_in_the_folder_do_not_count(tmp_path: Path, auditor: Auditor) -> None:
    given = plain(tmp_path)
    old = json.loads((tmp_path / CANDIDATE).read_text("utf-8"))
    old["date"] -= 86_400
    old["config"].update(model_num_parameters=7, limit=10)
    old["results"]["gsm8k"]["exact_match,strict-match"] = 0.1
    (tmp_path / "evals/candidate/results_2026-05-21T00-00-00.json").write_text(json.dumps(old), "utf-8")
    found = {g.id: g.status for g in audited(auditor, given).gates}
    assert found["evaluation/eval-target"] == "pass"
    assert found["evaluation/eval-full-set"] == "pass"
    assert found["evaluation/eval-model-identity"] == "not_enough_evidence"
