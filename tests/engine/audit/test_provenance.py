"""The hash manifest where something stands in its way: rubbish, files that cannot be read, files that are broken."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.audit.decide import Auditor
from engine.audit.folder import Folder, UnreadableError
from engine.model.audit import AuditedGate, AuditResult
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import Given, audited

MANIFEST = "provenance/prov-manifest"


@pytest.fixture
def given(tmp_path: Path) -> Given:
    return causal_lm(tmp_path)


def gate(result: AuditResult, id_: str) -> AuditedGate:
    (found,) = [one for one in result.gates if one.id == id_]
    return found


@pytest.mark.parametrize(("text", "seen"), [("rubbish\n" * 3, "no hash and name"), ("", "lists no file")])
def test_a_manifest_without_any_hash_is_a_broken_one_and_not_none(
    text: str, seen: str, given: Given, auditor: Auditor
) -> None:
    (given.root / "SHA256SUMS").write_text(text)
    found = gate(audited(auditor, given), MANIFEST)
    assert (found.status, found.observed) == ("fail", seen)
    assert {place.file for place in found.places} == {"SHA256SUMS"}


@pytest.mark.parametrize("name", ["generation_config.json", "SHA256SUMS"])
def test_a_file_that_cannot_be_read_leaves_the_manifest_open(
    name: str, given: Given, auditor: Auditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Folder.open

    def refusing(folder: Folder, path: str) -> object:
        if path == name:
            raise UnreadableError(f"{path} cannot be opened: Permission denied")
        return opened(folder, path)

    monkeypatch.setattr(Folder, "open", refusing)
    found = gate(audited(auditor, given), MANIFEST)
    assert found.status == "not_enough_evidence"
    assert f"{name} cannot be opened: Permission denied" in found.because


@pytest.mark.parametrize("in_manifest", [False, True])
@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("config.json", "config/cfg-readable"),
        ("tokenizer.json", "tokenizer/tok-present-loads"),
        ("tokenizer_config.json", "tokenizer/tok-present-loads"),
        ("special_tokens_map.json", "tokenizer/tok-present-loads"),
    ],
)
def test_a_broken_document_is_one_root_with_its_consequences(
    name: str, root: str, in_manifest: bool, given: Given, auditor: Auditor
) -> None:
    before = hashlib.sha256((given.root / name).read_bytes()).hexdigest()
    (given.root / name).write_text('{"broken": ')
    if in_manifest:
        sums = given.root / "SHA256SUMS"
        after = hashlib.sha256((given.root / name).read_bytes()).hexdigest()
        assert before in sums.read_text()
        sums.write_text(sums.read_text().replace(before, after))
    result = audited(auditor, given)
    assert [one.id for one in result.gates if one.root] == [root]
    assert (gate(result, MANIFEST).status == "pass") is in_manifest
