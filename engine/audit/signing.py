"""Signed texts: a DSSE envelope (secure-systems-lab/dsse, protocol v1) signed with Ed25519; keys are PEM.

The library is imported when something is signed or verified, and never else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class AttestError(ValueError):
    """Something that cannot be signed or read; the message says what and what to do."""


@dataclass(frozen=True)
class Opened:
    """What is in an envelope, the key it was held against, and whether that key signed it."""

    payload: bytes
    key_id: str
    valid: bool


def signed(payload: bytes, kind: str, private_key: bytes) -> bytes:
    """``payload``, of the media type ``kind``, in a signed envelope, as JSON.

    Args:
        private_key: Ed25519, PEM, not encrypted.

    Raises:
        AttestError: if the key is none.
    """
    key = _private(private_key)
    signature = {"keyid": key_id(_raw(key.public_key())), "sig": _encoded(key.sign(encoding(payload, kind)))}
    envelope = {"payload": _encoded(payload), "payloadType": kind, "signatures": [signature]}
    return json.dumps(envelope, indent=1).encode()


def opened(envelope: bytes, kind: str, public_key: bytes) -> Opened:
    """The payload of an envelope, and whether ``public_key`` signed it.

    Raises:
        AttestError: if envelope or key cannot be read at all, or the payload is of another kind.
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
    payload, signatures = _parts(envelope, kind)
    name = key_id(_raw(key))
    for signature in signatures:
        try:
            key.verify(signature, encoding(payload, kind))
        except InvalidSignature:
            continue
        return Opened(payload, name, valid=True)
    return Opened(payload, name, valid=False)


def keygen() -> tuple[bytes, bytes]:
    """A new Ed25519 key pair as PEM: private, public."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, public_of(private)


def public_of(private_key: bytes) -> bytes:
    """The public key that belongs to a private one, both as PEM.

    Raises:
        AttestError: if the key is no Ed25519 private key.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return _private(private_key).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def encoding(payload: bytes, kind: str) -> bytes:
    """What is signed: DSSE's pre-authentication encoding, which binds the payload to its type."""
    return b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)


def key_id(raw: bytes) -> str:
    """The name of a public key: SHA-256 of its 32 bytes, in hex."""
    return hashlib.sha256(raw).hexdigest()


def _private(pem: bytes) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AttestError(f"the key cannot be read: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise AttestError("the key is not an Ed25519 private key; make one with `traintriage audit keygen`")
    return key


def _raw(key: Any) -> bytes:
    raw: bytes = key.public_bytes_raw()
    return raw


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _parts(envelope: bytes, kind: str) -> tuple[bytes, list[bytes]]:
    try:
        data = json.loads(envelope)
        if data["payloadType"] != kind:
            raise AttestError(f"the payload is {data['payloadType']!r:.80}, not {kind}")
        payload = base64.b64decode(data["payload"], validate=True)
        return payload, [base64.b64decode(item["sig"], validate=True) for item in data["signatures"]]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        if isinstance(error, AttestError):
            raise
        raise AttestError("this is no DSSE envelope: a JSON object with payload, payloadType and signatures") from None
