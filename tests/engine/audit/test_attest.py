"""Signed statements: what they cover, and every way in which they stop holding."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from engine.audit.attest import attest, verify
from engine.audit.decide import Auditor
from engine.audit.folder import Folder
from engine.audit.signing import AttestError, keygen
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import audited


@pytest.fixture
def signed(tmp_path: Path, auditor: Auditor) -> tuple[Path, bytes, bytes]:
    """The folder, the envelope, and the public key."""
    given = causal_lm(tmp_path)
    private, public = keygen()
    return given.root, attest(audited(auditor, given), private), public


def test_an_untouched_folder_is_verified(signed: tuple[Path, bytes, bytes]) -> None:
    root, envelope, public = signed
    found = verify(envelope, Folder.of(root), public)
    assert found.problems == ()
    assert found.files == len(list(root.iterdir()))


def test_the_statement_is_an_in_toto_test_result(signed: tuple[Path, bytes, bytes]) -> None:
    payload = json.loads(base64.b64decode(json.loads(signed[1])["payload"]))
    assert payload["_type"] == "https://in-toto.io/Statement/v1"
    assert payload["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert payload["predicate"]["result"] in ("PASSED", "WARNED", "FAILED")
    assert {"name", "digest"} == set(payload["subject"][0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda root: (root / "config.json").write_text("{}"), "its bytes changed"),
        (lambda root: (root / "config.json").unlink(), "is missing"),
        (lambda root: (root / "added.txt").write_text("x"), "was not audited"),
    ],
)
def test_any_other_folder_is_not(signed: tuple[Path, bytes, bytes], change, says: str) -> None:
    root, envelope, public = signed
    change(root)
    (problem,) = verify(envelope, Folder.of(root), public).problems
    assert says in problem


def test_a_changed_payload_or_another_key_proves_nothing(signed: tuple[Path, bytes, bytes]) -> None:
    root, envelope, public = signed
    data = json.loads(envelope)
    payload = base64.b64decode(data["payload"]).replace(b"FAILED", b"PASSED").replace(b"WARNED", b"PASSED")
    forged = json.dumps(data | {"payload": base64.b64encode(payload).decode()}).encode()
    for sent, key in ((forged, public), (envelope, keygen()[1])):
        found = verify(sent, Folder.of(root), key)
        assert found.problems
        assert found.verdict == "unknown"


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b'{"payload": 1, "payloadType": "x", "signatures": []}', b"\xff"]
)
def test_what_is_no_envelope_is_a_clear_error(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(AttestError):
        verify(content, Folder.of(tmp_path), keygen()[1])


def test_a_key_of_another_kind_is_a_clear_error(
    signed: tuple[Path, bytes, bytes], auditor: Auditor, tmp_path: Path
) -> None:
    with pytest.raises(AttestError, match="key"):
        attest(audited(auditor, causal_lm(tmp_path / "other")), b"-----BEGIN NOTHING-----")
    with pytest.raises(AttestError, match="key"):
        verify(signed[1], Folder.of(signed[0]), b"no key")
