"""Proofs that a body comes from who has the secret: HMAC-SHA256 over the raw bytes, checked and made."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from api.alerts.words import REFUSALS
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import SecretStr

TOLERANCE = 300  # seconds that clocks, or the way here, may differ; as Slack and Standard Webhooks advise
MOST_SIGNATURES = 20
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_DIGITS = re.compile(r"[0-9]{1,12}")


def require_pagerduty(body: bytes, header: str | None, secrets: Sequence[SecretStr]) -> None:
    """``X-PagerDuty-Signature: v1=<hex>[,v1=<hex>…]``, several while a secret is replaced; any may fit.

    Raises:
        Problem: 401 ``bad-signature``.
    """
    sent = [part.strip() for part in (header or "").split(",")[:MOST_SIGNATURES]]
    _require_any(body, [part[3:] for part in sent if part.startswith("v1=")], secrets)


def require_grafana(
    body: bytes, signature: str | None, timestamp: str | None, secrets: Sequence[SecretStr], now: float
) -> None:
    """The hex HMAC of the body, or of ``timestamp:body`` where the contact point names a header for the time.

    Args:
        timestamp: seconds since 1970, UTC.
        now: the same, by our clock.

    Raises:
        Problem: 401 ``bad-signature``, also if the time is more than ``TOLERANCE`` away.
    """
    signed = body
    if timestamp is not None:
        if not _DIGITS.fullmatch(timestamp) or abs(now - int(timestamp)) > TOLERANCE:
            raise Problem("bad-signature", REFUSALS["time"])
        signed = timestamp.encode() + b":" + body
    _require_any(signed, [(signature or "").strip()], secrets)


def standard_signature(message_id: str, timestamp: int, body: bytes, secret: SecretStr) -> str:
    """``webhook-signature`` of Standard Webhooks 1.0: base64 of the HMAC of ``id.timestamp.body``."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def key_of(secret: SecretStr) -> bytes:
    """The bytes of a secret: those of its base64 if it is written ``whsec_<base64>``, else its own."""
    text = secret.get_secret_value()
    if text.startswith("whsec_"):
        try:
            return base64.b64decode(text.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            pass
    return text.encode()


def _require_any(signed: bytes, signatures: Iterable[str], secrets: Sequence[SecretStr]) -> None:
    offered = [bytes.fromhex(text) for text in signatures if _HEX.fullmatch(text)]
    if not offered:
        raise Problem("bad-signature", REFUSALS["none"])
    made = [hmac.new(secret.get_secret_value().encode(), signed, hashlib.sha256).digest() for secret in secrets]
    # All are compared, so that the time taken does not tell which of them was close.
    if not any([hmac.compare_digest(one, other) for one in offered for other in made]):  # noqa: C419
        raise Problem("bad-signature", REFUSALS["wrong"])
