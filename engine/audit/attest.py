"""A signed statement of an audit: which files, by hash, passed and failed which gates; and its verification.

Formats: in-toto Statement v1 with the test-result predicate v0.1, in a DSSE envelope (see :mod:`engine.audit.signing`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from engine.audit.folder import Folder, UnreadableError
from engine.audit.scan import scan
from engine.audit.signing import AttestError, opened, signed
from engine.model.audit import AuditResult, encodable

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
_RESULT = {"pass": "PASSED", "fail": "FAILED", "incomplete": "WARNED"}


@dataclass(frozen=True)
class Verified:
    """What a verification found. ``problems`` is empty exactly if the statement holds for the folder."""

    verdict: str
    key_id: str
    files: int
    problems: tuple[str, ...]


def statement(result: AuditResult) -> dict[str, Any]:
    """The in-toto statement of an audit.

    Raises:
        AttestError: if a file was not hashed, so that the statement would not cover it.
    """
    unread = [file.path for file in result.files if file.sha256 is None]
    if unread:
        raise AttestError(f"{unread[0]} could not be read, so there is no hash to sign")
    by_status: dict[str, list[str]] = {}
    for gate in result.gates:
        by_status.setdefault(gate.status, []).append(gate.id)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": file.path, "digest": {"sha256": file.sha256}} for file in result.files],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": _RESULT[result.verdict],
            "configuration": [
                {"name": f"knowledge base {result.kb_version}", "digest": {"sha256": result.kb_digest}},
                {"name": f"policy {result.policy}"},
                {"name": f"traintriage {result.engine_version}"},
            ],
            "passedTests": by_status.get("pass", []),
            "warnedTests": by_status.get("not_enough_evidence", []) + by_status.get("waived", []),
            "failedTests": by_status.get("fail", []),
        },
    }


def attest(result: AuditResult, private_key: bytes) -> bytes:
    """The statement in a signed envelope, as JSON.

    Args:
        private_key: Ed25519, PEM, not encrypted.

    Raises:
        AttestError: if the key is none, or a file has no hash.
    """
    payload = json.dumps(statement(result), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    return signed(payload, PAYLOAD_TYPE, private_key)


def verify(envelope: bytes, folder: Folder, public_key: bytes) -> Verified:
    """Hold a signed statement against a folder: the signature first, then every file, and no file besides.

    Raises:
        AttestError: if envelope or key cannot be read at all.
    """
    found = opened(envelope, PAYLOAD_TYPE, public_key)
    if not found.valid:
        why = "no signature of this key is valid: the statement proves nothing"
        return Verified("unknown", found.key_id, 0, (why,))
    subjects, verdict, problems = _read_statement(found.payload)
    return Verified(verdict, found.key_id, len(subjects), (*problems, *_differences(subjects, folder)))


def _read_statement(payload: bytes) -> tuple[dict[str, str], str, list[str]]:
    """Digests by path, the verdict, and what is wrong with the statement itself."""
    data = json.loads(payload)
    problems = []
    if data.get("_type") != STATEMENT_TYPE or data.get("predicateType") != PREDICATE_TYPE:
        problems.append("the statement is of another type than an audit's")
    subjects = {item["name"]: item["digest"]["sha256"] for item in data.get("subject", [])}
    words = {word: verdict for verdict, word in _RESULT.items()}
    return subjects, words.get(data.get("predicate", {}).get("result"), "unknown"), problems


def _differences(subjects: dict[str, str], folder: Folder) -> list[str]:
    try:
        found = scan(folder, ())
    except (UnreadableError, OSError) as error:
        return [str(error)]
    # Names as the result writes them: bytes that are no UTF-8 are written out.
    hashes = {encodable(path): digest for path, digest in found.hashes.items()}
    problems = [f"{path}: {why}" for path, why in sorted(found.problems.items())]
    problems += [
        f"{path}: " + ("its bytes changed since the audit" if path in hashes else "is missing")
        for path, digest in sorted(subjects.items())
        if hashes.get(path) != digest and path not in found.problems
    ]
    return problems + [f"{path}: was not audited" for path in sorted(hashes.keys() - subjects.keys())]
