"""A signed statement of an audit: which files, by hash, passed and failed which gates; and its verification.

Formats: in-toto Statement v1 with the test-result predicate v0.1, in a DSSE envelope (secure-systems-lab/dsse, protocol
v1), signed with Ed25519. Keys are PEM. The library is imported when something is signed or verified, and never else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from engine.audit.folder import Folder, UnreadableError
from engine.audit.scan import scan
from engine.model.audit import AuditResult, encodable

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
_RESULT = {"pass": "PASSED", "fail": "FAILED", "incomplete": "WARNED"}


class AttestError(ValueError):
    """Something that cannot be signed or read; the message says what and what to do."""


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
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(private_key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AttestError(f"the key cannot be read: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise AttestError("the key is not an Ed25519 private key; make one with `traintriage audit keygen`")
    payload = json.dumps(statement(result), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    signature = {"keyid": key_id(_raw(key.public_key())), "sig": _encoded(key.sign(encoding(payload)))}
    envelope = {"payload": _encoded(payload), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    return json.dumps(envelope, indent=1).encode()


def verify(envelope: bytes, folder: Folder, public_key: bytes) -> Verified:
    """Hold a signed statement against a folder: the signature first, then every file, and no file besides.

    Raises:
        AttestError: if envelope or key cannot be read at all.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(public_key)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AttestError(f"the key cannot be read: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise AttestError("the key is not an Ed25519 public key")
    payload, signatures = _opened(envelope)
    name = key_id(_raw(key))
    for signature in signatures:
        try:
            key.verify(signature, encoding(payload))
            break
        except InvalidSignature:
            continue
    else:
        return Verified("unknown", name, 0, ("no signature of this key is valid: the statement proves nothing",))
    subjects, verdict, problems = _read_statement(payload)
    return Verified(verdict, name, len(subjects), (*problems, *_differences(subjects, folder)))


def keygen() -> tuple[bytes, bytes]:
    """A new Ed25519 key pair as PEM: private, public."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def encoding(payload: bytes) -> bytes:
    """What is signed: DSSE's pre-authentication encoding, which binds the payload to its type."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def key_id(raw: bytes) -> str:
    """The name of a public key: SHA-256 of its 32 bytes, in hex."""
    return hashlib.sha256(raw).hexdigest()


def _raw(key: Any) -> bytes:
    raw: bytes = key.public_bytes_raw()
    return raw


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _opened(envelope: bytes) -> tuple[bytes, list[bytes]]:
    try:
        data = json.loads(envelope)
        if data["payloadType"] != PAYLOAD_TYPE:
            raise AttestError(f"the payload is {data['payloadType']!r:.80}, not {PAYLOAD_TYPE}")
        payload = base64.b64decode(data["payload"], validate=True)
        return payload, [base64.b64decode(item["sig"], validate=True) for item in data["signatures"]]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        if isinstance(error, AttestError):
            raise
        raise AttestError("this is no DSSE envelope: a JSON object with payload, payloadType and signatures") from None


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
