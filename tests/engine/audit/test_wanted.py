"""A gate that lacks evidence says which key of which file to add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import GIVE_EVIDENCE, Auditor
from engine.audit.evaluation.files import NoEvidenceError, declared
from engine.audit.folder import Folder
from engine.audit.intent import EvidenceFiles, Stages, parse_intent
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import Given, audited

TARGETS = [{"task": "gsm8k", "metric": "exact_match", "min_gain_over_baseline": 0.01}]
NEIGHBOURS = [{"task": "hellaswag", "metric": "acc"}]


def wanted(auditor: Auditor, root: Path, **intent: Any) -> dict[str, str]:
    """What each gate wants to be given, by the end of its id."""
    given = causal_lm(root)
    result = audited(auditor, Given(given.root, given.intent | intent, given.base))
    return {
        gate.id.rpartition("/")[2]: check.title
        for gate in result.gates
        for check in gate.next_checks
        if check.id == GIVE_EVIDENCE and gate.status == "not_enough_evidence"
    }


def test_what_the_intent_does_not_name_is_to_be_added_to_it(tmp_path: Path, auditor: Auditor) -> None:
    found = wanted(auditor, tmp_path)
    for gate, key in {
        "eval-target": "evidence.candidate",
        "eval-generations": "evidence.generations",
        "eval-failure-set": "evidence.failure_set",
        "eval-contamination": "evidence.training_data",
        "ts-finite": "evidence.trainer_state",
    }.items():
        assert f"`{key}`" in found[gate]
        assert "intent" in found[gate]


def test_what_the_files_do_not_hold_is_to_be_added_to_them(tmp_path: Path, auditor: Auditor) -> None:
    results = {"results": {"gsm8k": {"exact_match,none": 0.5, "exact_match_stderr,none": 0.01}}}
    (tmp_path / "ours.json").write_text(json.dumps(results))
    (tmp_path / "theirs.json").write_text(json.dumps({"results": {"mmlu": {"acc,none": 0.5, "acc_stderr,none": 0.01}}}))
    (tmp_path / "rows.jsonl").write_text('{"id": 1}\n')
    evidence = {"candidate": "ours.json", "generations": "rows.jsonl", "failure_set": "rows.jsonl"}
    without = wanted(auditor, tmp_path, targets=TARGETS, neighbours=NEIGHBOURS, evidence=evidence)
    assert "`evidence.baseline`" in without["eval-target"]
    assert "`config.model_sha256` to ours.json" in without["eval-model-identity"]
    assert "`n-samples` to ours.json" in without["eval-full-set"]
    assert "`output`" in without["eval-generations"]
    assert "`baseline_pass`" in without["eval-failure-set"]
    evidence["baseline"] = "theirs.json"
    both = wanted(auditor, tmp_path, targets=TARGETS, neighbours=NEIGHBOURS, evidence=evidence)
    assert "`results.gsm8k` with `exact_match` to theirs.json" in both["eval-target"]


@pytest.mark.parametrize(
    "key", [*(f"evidence.{k}" for k in EvidenceFiles.model_fields), *(f"stages.{k}" for k in Stages.model_fields)]
)
def test_every_key_for_evidence_says_what_its_file_holds(key: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    checkpoint = Checkpoint(Folder.of(tmp_path / "model"), parse_intent(b""), tmp_path)
    for name in (None, "nowhere"):
        with pytest.raises(NoEvidenceError) as refused:
            declared(checkpoint, name, key)
        assert refused.value.wanted is not None
        assert f"`{key}`" in refused.value.wanted.en
