"""The interface in both spellings, changes on purpose, and records of an index that say too little."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.audit.decide import Auditor
from engine.audit.interface import pooling_name
from tests.engine.audit.build.embedding import (
    embedding,
    embedding_in_subfolder,
    embedding_of_new_release,
    renew_index,
)
from tests.engine.audit.defects.embedding import mean_instead
from tests.engine.audit.given import Given, audited
from tests.engine.audit.probes.look import looked


def status(auditor: Auditor, given: Given) -> dict[str, str]:
    return {id_.removeprefix("embedding/"): gate.status for id_, gate in looked(auditor, given).items()}


@pytest.mark.parametrize("build", [embedding, embedding_of_new_release, embedding_in_subfolder])
def test_a_healthy_model_fails_nothing(build: Callable[[Path], Given], tmp_path: Path, auditor: Auditor) -> None:
    given = build(tmp_path)
    result = audited(auditor, given)
    assert [(g.id, g.observed, g.expected) for g in result.gates if g.status == "fail"] == []
    open_ = [g.id for g in result.gates if g.id.startswith("embedding/") and g.status == "not_enough_evidence"]
    assert open_ == []


def test_a_declared_change_needs_no_base(tmp_path: Path, auditor: Auditor) -> None:
    given = embedding(tmp_path)
    mean_instead(given)
    given.intent["embedding_interface"] |= {"pooling": "mean", "must_match_base": False}
    assert status(auditor, given)["emb-pooling"] == "pass"
    given.intent["embedding_interface"]["must_match_base"] = True
    assert status(auditor, given)["emb-pooling"] == "fail"


def test_without_base_and_intent_nothing_can_be_compared(tmp_path: Path, auditor: Auditor) -> None:
    given = embedding(tmp_path)
    found = status(auditor, Given(given.root, {"paradigm": "embedding"}))
    assert found["emb-pooling"] == found["emb-prompts"] == found["emb-dimension"] == "not_enough_evidence"
    assert found["emb-st-config-present"] == "pass"
    assert found["emb-index-fingerprint"] == "not_applicable"


@pytest.mark.parametrize("key", ["built_with_model_sha256", "dim", "document_prompt", "normalized"])
def test_a_record_that_lacks_a_key_is_no_evidence(key: str, tmp_path: Path, auditor: Auditor) -> None:
    given = embedding(tmp_path)
    renew_index(given, **{key: None})
    assert status(auditor, given)["emb-index-fingerprint"] == "not_enough_evidence"


def test_a_claim_without_a_record_is_no_evidence(tmp_path: Path, auditor: Auditor) -> None:
    given = embedding(tmp_path)
    (tmp_path / "index.json").unlink()
    assert status(auditor, given)["emb-index-fingerprint"] == "not_enough_evidence"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"metric": "dot"}, "pass"),  # the vectors are of unit length
        ({"metric": "euclidean"}, "pass"),
        ({"metric": "anything"}, "pass"),
        ({"vectors": 1001}, "fail"),
        ({"vectors": None}, "pass"),
        ({"pooling": "CLS"}, "pass"),
        ({"pooling": "mean"}, "fail"),
    ],
)
def test_a_record_beside_the_interface(
    changes: dict[str, Any], expected: str, tmp_path: Path, auditor: Auditor
) -> None:
    given = embedding(tmp_path)
    renew_index(given, **changes)
    assert status(auditor, given)["emb-index-fingerprint"] == expected


def test_two_encoders_need_their_pair(tmp_path: Path, auditor: Auditor) -> None:
    import json

    given = embedding(tmp_path)
    built = json.loads((tmp_path / "index.json").read_text("utf-8"))["built_with_model_sha256"]
    given.intent["index"]["query_and_document_encoder"] = "separate"
    assert status(auditor, given)["emb-encoder-pair"] == "not_enough_evidence"
    given.intent["index"]["trained_pair"] = {"query": built, "document": f"sha256:{built}"}
    assert status(auditor, given)["emb-encoder-pair"] == "pass"


@pytest.mark.parametrize("content", [b"[]", b"{}", b"[1]", b'[{"type": 3, "path": 4}]', b"{", b'[{"path": "../.."}]'])
@pytest.mark.parametrize("name", ["modules.json", "1_Pooling/config.json", "config_sentence_transformers.json"])
def test_any_content_of_a_file_gives_a_result(name: str, content: bytes, tmp_path: Path, auditor: Auditor) -> None:
    given = embedding(tmp_path)
    (given.root / name).write_bytes(content)
    assert status(auditor, given)["emb-index-fingerprint"] in ("pass", "fail")


def test_pooling_modes_have_one_name() -> None:
    assert pooling_name("Last_Token") == pooling_name("lasttoken")
    assert pooling_name("mean, cls") == pooling_name("cls+mean") == "cls+mean"
