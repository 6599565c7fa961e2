"""A case from what was given to the answer, on the bundled knowledge base."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_core import to_json

from engine.diagnose import Diagnoser, EvidenceFile
from engine.model.base import Lang
from engine.model.case import Case
from engine.model.diagnosis import Diagnosis

DEMO = Path(__file__).parents[2] / "api" / "static" / "demo"


def demo() -> tuple[Case, list[EvidenceFile]]:
    case = Case.model_validate_json((DEMO / "case.json").read_text())
    return case, [EvidenceFile("train.log", path=DEMO / "train.log")]


def test_bundled_incident_is_fp16_overflow(diagnoser: Diagnoser) -> None:
    diagnosis = diagnoser.diagnose(*demo())
    assert diagnosis.answered_by == "durable-rules"
    assert diagnosis.causes[0].family == "fp16_range"
    sources = [source.where for item in diagnosis.causes[0].evidence_for for source in item.sources]
    assert any(where.startswith("train.log:") for where in sources)
    assert diagnosis.next_checks
    assert diagnosis.timeline[0].step <= diagnosis.timeline[-1].step


def test_probabilities_sum_to_one(diagnoser: Diagnoser) -> None:
    diagnosis = diagnoser.diagnose(*demo(), limit=50)
    shown = sum(cause.probability for cause in diagnosis.causes) + diagnosis.unknown.probability
    # Causes below the shown-from probability are left out; nothing is ever counted twice.
    assert 0.8 < shown <= 1.0005


def test_proof_adds_up_to_cited_findings(diagnoser: Diagnoser) -> None:
    diagnosis = diagnoser.diagnose(*demo())
    known = {finding.id for finding in (*diagnosis.findings, *diagnosis.context)}
    for cause in diagnosis.causes:
        for item in cause.evidence_for:
            assert item.bits > 0
            assert item.state == "absent" or item.finding in known


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_plain_data_is_the_model_word_for_word(diagnoser: Diagnoser, lang: Lang) -> None:
    """What a service sends is never validated there: here it is, key by key and in order."""
    rich = {"paradigm": "release", "facts": {"model.params": 7e9, "gpu.count": 8, "loss.last": math.nan}}
    for case, files in (demo(), (Case(report="hello world"), []), (Case.model_validate(rich), [])):
        answer = to_json(diagnoser.answer(diagnoser.collect(case, files), lang=lang), inf_nan_mode="null")
        model = Diagnosis.model_validate_json(answer)
        assert model.model_dump_json(by_alias=True).encode() == answer
        assert answer == diagnoser.diagnose(case, files, lang=lang).model_dump_json(by_alias=True).encode()


def test_order_of_input_does_not_matter(diagnoser: Diagnoser) -> None:
    case, files = demo()
    body = case.model_dump()
    body["facts"] = {"run.precision": "fp16", "model.vocab_size": 50257, "loss.falling": False}
    first = diagnoser.diagnose(Case.model_validate(body), files).model_dump_json()
    shuffled = dict(body)
    random.Random(3).shuffle(shuffled["observations"])
    shuffled["facts"] = dict(reversed(body["facts"].items()))
    assert diagnoser.diagnose(Case.model_validate(shuffled), files).model_dump_json() == first


def test_same_bytes_under_other_hash_seeds(diagnoser: Diagnoser) -> None:
    script = (
        "from pathlib import Path; from engine.diagnose import *; from engine.knowledge.load import load_knowledge;"
        "from engine.model.case import Case;"
        f"p = Path({str(DEMO)!r}); d = Diagnoser(load_knowledge(), keep=True);"
        "print(d.diagnose(Case.model_validate_json((p/'case.json').read_text()),"
        " [EvidenceFile('train.log', path=p/'train.log')]).model_dump_json())"
    )
    here = diagnoser.diagnose(*demo()).model_dump_json()  # under the seed of this process
    there = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout.decode()
        for seed in ("0", "4242")
    }
    assert there == {f"{here}\n"}


def test_nothing_abnormal_is_not_called_healthy(diagnoser: Diagnoser) -> None:
    values = [3.0 - 0.01 * i for i in range(60)]
    diagnosis = diagnoser.diagnose(Case.model_validate({"series": [{"name": "loss", "values": values}]}))
    assert diagnosis.causes == []
    assert diagnosis.findings == []
    assert diagnosis.unknown.probability == 1.0
    assert "healthy" not in diagnosis.summary.lower()


def test_measured_value_wins_over_prose_and_both_are_shown(diagnoser: Diagnoser) -> None:
    case = Case.model_validate({"report": "We train in bf16.", "facts": {"run.precision": "fp16"}})
    facts = {fact.id: fact for fact in diagnoser.diagnose(case).facts}
    assert facts["run.precision"].value == "fp16"
    assert facts["run.precision"].contradicted_by[0]["value"] == "bf16"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "NaN", "inf"])
def test_nonfinite_numbers_set_the_fact_that_says_so(diagnoser: Diagnoser, value: object) -> None:
    diagnosis = diagnoser.diagnose(Case.model_validate({"facts": {"loss.last": value}}))
    facts = {fact.id: fact.value for fact in diagnosis.facts}
    assert facts["loss.nan"] is True
    assert "loss.last" not in facts
    json.loads(diagnosis.model_dump_json(), parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))


def test_what_is_not_understood_is_kept(diagnoser: Diagnoser) -> None:
    case = Case.model_validate({
        "facts": {"run.precission": "fp16"},
        "observations": [{"name": "zebra", "value": [1, {"a": 2}]}],
        "files": {"blob.bin": 17},
    })  # fmt: skip
    kept = {item.where for item in diagnoser.diagnose(case).not_understood}
    assert {"facts.run.precission", "observation zebra", "files/blob.bin"} <= kept


@pytest.mark.parametrize("typed", ["1", 1.5, "true "])
def test_a_choice_is_never_a_number_or_a_bool(diagnoser: Diagnoser, typed: object) -> None:
    diagnosis = diagnoser.diagnose(Case.model_validate({"facts": {"run.precision": typed}}))
    assert "run.precision" not in {fact.id for fact in diagnosis.facts}
    assert diagnosis.not_understood


def test_chinese_answer_is_chinese(diagnoser: Diagnoser) -> None:
    diagnosis = diagnoser.diagnose(*demo(), lang="zh")
    texts = [diagnosis.summary, diagnosis.causes[0].title, diagnosis.causes[0].meaning, diagnosis.next_checks[0].title]
    assert all(any("\u4e00" <= character <= "\u9fff" for character in text) for text in texts)


def test_why_not_names_what_is_missing_and_who_outweighs(diagnoser: Diagnoser) -> None:
    case, files = demo()
    last = diagnoser.diagnose(case, files, limit=50).causes[-1].id
    answer = diagnoser.why_not(case, last, files)
    assert answer.rank is not None
    assert answer.rank > 1
    assert answer.outweighed_by[0].probability > answer.probability
    assert answer.missing or answer.opposing
    with pytest.raises(KeyError):
        diagnoser.why_not(case, "no/such-cause", files)


def test_replaying_the_cited_facts_concludes_the_same_findings(diagnoser: Diagnoser) -> None:
    diagnosis = diagnoser.diagnose(*demo())
    values = {fact.id: fact.value for fact in diagnosis.facts}
    for finding in diagnosis.findings:
        if finding.concluded_by != "rule" or not finding.facts:
            continue
        cited = {fact: values[fact] for fact in finding.facts if fact in values}
        again = diagnoser.diagnose(Case.model_validate({"facts": cited}))
        assert finding.id in {found.id for found in again.findings}, finding.id


def test_answering_a_check_settles_it(diagnoser: Diagnoser) -> None:
    case, files = demo()
    diagnosis = diagnoser.diagnose(case, files)
    asked = diagnosis.next_checks[0].asks[0]
    body = case.model_dump() | {"facts": {asked: True}}
    after = diagnoser.diagnose(Case.model_validate(body), files)
    assert all(asked not in check.asks for check in after.next_checks)


def test_release_checklist_says_what_is_missing(diagnoser: Diagnoser) -> None:
    facts = {
        "release.single_batch_first_loss": 9.2, "release.single_batch_last_loss": 0.02,
        "release.target_score": 0.41, "release.target_baseline": 0.44,
    }  # fmt: skip
    diagnosis = diagnoser.diagnose(Case.model_validate({"paradigm": "release", "facts": facts}))
    status = {gate.id: gate.status for gate in diagnosis.checklist}
    assert status["code/single-batch-overfits"] == "pass"
    assert status["evaluation/eval-target"] == "fail"
    assert status["scale/loss-is-equivalent"] == "not_enough_evidence"
    assert [gate.stage for gate in diagnosis.checklist] == sorted(gate.stage for gate in diagnosis.checklist)


def test_ways_to_split_follow_the_numbers(diagnoser: Diagnoser) -> None:
    facts = {"model.parameters": 7e9, "parallel.world_size": 8, "gpu.memory_gb": 80, "optimizer.name": "adamw"}
    diagnosis = diagnoser.diagnose(Case.model_validate({"facts": facts}))
    numbers = {item.fact: item.value for item in diagnosis.calculations}
    assert numbers["memory.static_gb_dp"] == 112
    assert numbers["memory.static_gb_zero1"] == 38.5
    assert "zero-1" in {advice.id for advice in diagnosis.advice}


def test_a_gap_in_a_series_is_no_nan(diagnoser: Diagnoser) -> None:
    values = [3, 2, 1, 1.5, 1.2, 1.1, 1.0, None, 0.9, 0.8]
    diagnosis = diagnoser.diagnose(Case.model_validate({"series": [{"name": "loss", "values": values}]}))
    assert "loss.nan" not in {finding.id for finding in diagnosis.findings}
    assert diagnosis.not_understood == []


def test_a_report_that_says_nothing_known_is_said_so(diagnoser: Diagnoser) -> None:
    diagnosis = diagnoser.diagnose(Case(report="hello world"))
    assert [item.where for item in diagnosis.not_understood] == ["report"]
    assert "could not be interpreted" in diagnosis.summary


def test_what_is_only_as_it_was_does_not_silence_a_complaint(diagnoser: Diagnoser) -> None:
    complaint = (
        "Answers of the merged adapter are garbage although the adapter alone answers well; merged into a 4-bit base."
    )
    same = f"{complaint} Same environment as before, same weights."
    assert diagnoser.diagnose(Case(report=complaint)).causes
    assert diagnoser.diagnose(Case(report=same)).causes


def test_what_reassures_silences_no_long_complaint(diagnoser: Diagnoser) -> None:
    complaint = (
        "Contrastive training over several ranks with in-batch negatives: loss and gradients of two ranks do not agree "
        "with one reference over the full batch of the same pairs; the labels of the second rank seem to point at the "
        "columns of the first. With one rank all agrees. The loss decreases."
    )
    assert "loss.falls" in {finding.id for finding in diagnoser.diagnose(Case(report=complaint)).context}
    assert diagnoser.diagnose(Case(report=complaint)).causes
    assert not diagnoser.diagnose(Case(report="The loss decreases as it should, all good so far.")).causes
