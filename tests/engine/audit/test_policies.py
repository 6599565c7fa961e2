"""Which policy a release falls under, what it needs evidence for, and how verdict and waivers come out."""

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import Auditor
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.audit.ledger import Ledger
from engine.model.audit import AuditResult
from tests.engine.audit.build.causal_lm import causal_lm, renew_sums
from tests.engine.audit.given import TODAY, audited

LLM = {"config.json": '{"architectures": ["LlamaForCausalLM"]}'}
EMBEDDER = {"modules.json": "[]"}
ADAPTER = {"adapter_config.json": "{}"}
REWARD = {"config.json": '{"architectures": ["LlamaForSequenceClassification"]}'}
TARGET, NEIGHBOUR = "evaluation/eval-target", "evaluation/eval-neighbour"
GENERATIONS, FAILURES = "evaluation/eval-generations", "evaluation/eval-failure-set"


def checkpoint(folder: Path, files: dict[str, str], **intent: Any) -> Checkpoint:
    for name, content in files.items():
        (folder / name).write_text(content, "utf-8")
    return Checkpoint(Folder.of(folder), parse_intent(json.dumps(intent, default=str).encode()), folder)


@pytest.mark.parametrize(
    ("files", "intent", "policy"),
    [
        (LLM, {}, "any"),
        (LLM, {"paradigm": "sft"}, "any"),
        (LLM, {"paradigm": "pretraining", "release_kind": "downstream"}, "base-model"),
        (LLM, {"paradigm": "sft", "release_kind": "downstream"}, "sft-chat"),
        (LLM, {"paradigm": "dpo", "release_kind": "downstream"}, "preference"),
        (REWARD, {"paradigm": "rlhf", "release_kind": "downstream"}, "preference"),
        (ADAPTER, {"paradigm": "lora_sft", "release_kind": "downstream"}, "adapter"),
        (EMBEDDER, {"paradigm": "embedding_finetune", "release_kind": "downstream"}, "embedding-same-interface"),
        (EMBEDDER, {"paradigm": "embedding_finetune", "release_kind": "index_rebuild"}, "embedding-index-rebuilt"),
        (LLM, {"paradigm": "sft", "release_kind": "resume"}, "resume"),
        (ADAPTER, {"paradigm": "sft", "release_kind": "internal"}, "internal"),
        (LLM, {"paradigm": "sft", "release_kind": "downstream", "policy": "internal"}, "internal"),
    ],
)
def test_the_most_specific_policy_is_used(
    tmp_path: Path, auditor: Auditor, files: dict[str, str], intent: dict[str, Any], policy: str
) -> None:
    given = checkpoint(tmp_path, files, **intent)
    assert auditor.policy(given, given.intent.policy).id == policy


def test_what_every_release_to_others_needs(auditor: Auditor) -> None:
    """Target, neighbours, failure set and a manifest; a template for chat; interface and index for embeddings."""
    for name, policy in auditor.knowledge.policies.items():
        if name in ("internal", "resume"):
            assert policy.requires == ()
            continue
        assert {TARGET, NEIGHBOUR, FAILURES, "provenance/prov-manifest"} <= set(policy.requires), name
        assert policy.stages == ()
        assert (GENERATIONS in policy.requires) is not name.startswith("embedding"), name
        if name in ("any", "sft-chat", "preference", "adapter"):
            assert {"template/tmpl-present", "template/tmpl-renders"} <= set(policy.requires), name
        if name in ("any", "embedding-same-interface", "embedding-index-rebuilt"):
            assert {"embedding/emb-pooling", "embedding/emb-normalize", "embedding/emb-prompts"} <= set(policy.requires)
    assert "embedding/emb-index-fingerprint" in auditor.knowledge.policies["embedding-index-rebuilt"].requires


Facts = Callable[[Ledger], None]


def _judged(auditor: Auditor, folder: Path, facts: Facts, **intent: Any) -> AuditResult:
    """The verdict on facts alone, under a policy of which nothing is missing but what ``facts`` leaves out."""
    ledger = Ledger()
    ledger.fact("audit.kind", "causal_lm")
    ledger.fact("audit.generates", True)
    facts(ledger)
    given = checkpoint(folder, LLM, paradigm="pretrain", release_kind="downstream", **intent)
    return auditor.judge(given, ledger, policy=None, today=TODAY, lang="en")


def _complete(ledger: Ledger) -> None:
    ledger.fact("audit.evaluation.targets", 1.0)
    ledger.fact("audit.evaluation.targets_missed", 0.0)
    ledger.fact("audit.evaluation.neighbours", 2.0)
    ledger.fact("audit.evaluation.neighbours_fell", 0.0)
    ledger.fact("release.failure_set_new_failures", 0.0)
    ledger.fact("audit.evaluation.blocking_new_failures", 0.0)
    ledger.fact("audit.evaluation.generations_read", 40.0)
    for share in ("empty", "repeated", "broken", "with_template"):
        ledger.fact(f"audit.evaluation.generations_{share}", 0.0)
    ledger.fact("release.generation_cut_share", 0.0)
    ledger.fact("audit.config.readable", True)
    ledger.fact("audit.config.impossible", 0.0)
    for kind in ("calls", "imports", "settings", "malformed"):
        ledger.fact(f"audit.security.pickle_{kind}", 0.0)
    ledger.fact("release.manifest_present", True)
    ledger.fact("release.manifest_matches", True)


def _with(fact: str, value: float) -> Facts:
    def facts(ledger: Ledger) -> None:
        _complete(ledger)
        ledger.fact(fact, value)

    return facts


def _without(fact: str) -> Facts:
    def facts(ledger: Ledger) -> None:
        _complete(ledger)
        del ledger.seen[fact]

    return facts


def test_with_all_evidence_it_passes_and_stages_are_optional(tmp_path: Path, auditor: Auditor) -> None:
    result = _judged(auditor, tmp_path, _complete)
    status = {gate.id: gate.status for gate in result.gates}
    assert result.verdict == "pass"
    assert status["code/single-batch-overfits"] == "not_enough_evidence"
    assert status["evaluation/eval-contamination"] == "not_enough_evidence"
    assert status["evaluation/eval-model-identity"] == "not_enough_evidence"


@pytest.mark.parametrize(
    ("fact", "gate"),
    [
        ("audit.evaluation.targets_missed", TARGET),
        ("audit.evaluation.neighbours_fell", NEIGHBOUR),
        ("release.failure_set_new_failures", FAILURES),
        ("release.generation_cut_share", GENERATIONS),
    ],
)
def test_evidence_that_is_lacking_makes_it_incomplete(tmp_path: Path, auditor: Auditor, fact: str, gate: str) -> None:
    result = _judged(auditor, tmp_path, _without(fact))
    found = next(one for one in result.gates if one.id == gate)
    assert (result.verdict, found.status, found.required) == ("incomplete", "not_enough_evidence", True)


def test_internal_use_needs_no_evidence(tmp_path: Path, auditor: Auditor) -> None:
    given = checkpoint(tmp_path, LLM, release_kind="internal")
    ledger = Ledger()
    ledger.fact("release.small_run_wait", 0.01)
    result = auditor.judge(given, ledger, policy=None, today=TODAY, lang="en")
    assert (result.verdict, result.policy) == ("pass", "internal")


def test_a_failure_outranks_what_is_lacking(tmp_path: Path, auditor: Auditor) -> None:
    def facts(ledger: Ledger) -> None:
        _with("audit.evaluation.targets_missed", 1.0)(ledger)
        del ledger.seen["release.failure_set_new_failures"]

    assert _judged(auditor, tmp_path, facts).verdict == "fail"


def test_a_minor_failure_blocks_nothing(tmp_path: Path, auditor: Auditor) -> None:
    result = _judged(auditor, tmp_path, _with("audit.run.save_share", 0.3))
    assert result.verdict == "pass"
    assert result.counts["fail"] == 1


def _waiver(**changes: Any) -> dict[str, Any]:
    return {"gate": FAILURES, "reason": "known, see 12", "by": "release manager", "until": TODAY, **changes}


def test_a_waiver_is_shown_and_lets_it_pass(tmp_path: Path, auditor: Auditor) -> None:
    result = _judged(auditor, tmp_path, _with("release.failure_set_new_failures", 1.0), waivers=[_waiver()])
    found = next(one for one in result.gates if one.id == FAILURES)
    assert result.verdict == "pass"
    assert found.status == "waived"
    assert found.waived_by is not None
    assert all(said in found.waived_by for said in ("release manager", "known, see 12", TODAY.isoformat()))
    assert result.counts["waived"] == 1


def test_a_waiver_ends(tmp_path: Path, auditor: Auditor) -> None:
    old = _waiver(until=TODAY - datetime.timedelta(days=1))
    result = _judged(auditor, tmp_path, _with("release.failure_set_new_failures", 1.0), waivers=[old])
    assert (result.verdict, result.waivers_unused) == ("fail", [FAILURES])


def test_a_waiver_covers_its_own_gate_only(tmp_path: Path, auditor: Auditor) -> None:
    result = _judged(auditor, tmp_path, _with("audit.evaluation.targets_missed", 1.0), waivers=[_waiver()])
    assert (result.verdict, result.waivers_unused) == ("fail", [FAILURES])


def test_a_waiver_is_no_evidence(tmp_path: Path, auditor: Auditor) -> None:
    result = _judged(auditor, tmp_path, _without("release.failure_set_new_failures"), waivers=[_waiver()])
    assert (result.verdict, result.waivers_unused) == ("incomplete", [FAILURES])


def test_a_consequence_is_folded_under_its_cause(tmp_path: Path, auditor: Auditor) -> None:
    """The neighbour fell in an evaluation of another model: what is wrong is the model."""

    def facts(ledger: Ledger) -> None:
        _with("audit.evaluation.neighbours_fell", 1.0)(ledger)
        ledger.fact("audit.evaluation.other_model", 1.0)

    gates = {gate.id: gate for gate in _judged(auditor, tmp_path, facts).gates}
    assert gates[NEIGHBOUR].follows_from == "evaluation/eval-model-identity"
    assert [gates[NEIGHBOUR].root, gates["evaluation/eval-model-identity"].root] == [False, True]


def test_what_a_waived_cause_explained_stands_alone(tmp_path: Path, auditor: Auditor) -> None:
    def facts(ledger: Ledger) -> None:
        _with("audit.evaluation.neighbours_fell", 1.0)(ledger)
        ledger.fact("audit.evaluation.other_model", 1.0)

    waiver = _waiver(gate="evaluation/eval-model-identity")
    result = _judged(auditor, tmp_path, facts, waivers=[waiver])
    gates = {gate.id: gate for gate in result.gates}
    assert gates[NEIGHBOUR].root
    assert result.verdict == "fail"


def test_a_failure_that_does_not_block_explains_none_that_does(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    file = given.root / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-64:] = b"\xff\x7f" * 32  # NaN in bfloat16
    (length,) = struct.unpack("<Q", content[:8])
    header = (b" " + bytes(content[8 : 8 + length]).rstrip(b" ")).ljust(length, b" ")
    file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(content[8 + length :]))
    renew_sums(given.root)
    result = audited(auditor, given)
    failing = {gate.id: gate for gate in result.gates if gate.status == "fail"}
    assert failing["container/st-header-json"].severity == "minor"
    assert failing["weights/nonfinite"].root
    assert result.verdict == "fail"


def test_a_folder_without_weights_is_no_release(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / "model.safetensors").unlink()
    renew_sums(given.root)
    for policy in auditor.knowledge.policies:
        assert audited(auditor, given, policy).verdict != "pass"
