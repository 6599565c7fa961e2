"""Proof that a request comes from Slack: its signature over the raw bytes, checked before anything is read of them.

Slack's recipe (docs.slack.dev, "Verifying requests from Slack"): HMAC-SHA256 with the signing secret over
``v0:<timestamp>:<body>``, sent as ``X-Slack-Signature: v0=<hex>``. Bolt's own check raises on a timestamp that is no
number and on bytes that are no UTF-8, which would be answered with 500.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from api.messages import Words
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMESTAMP, SIGNATURE = "x-slack-request-timestamp", "x-slack-signature"
MAX_AGE = 300  # seconds, either way: Slack's own advice
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_UNPROVEN = Words(
    "The request does not prove that it comes from Slack: {why}. Check TRAINTRIAGE_SLACK_SIGNING_SECRETS and the "
    "clock.",
    "请求不能证明来自 Slack：{why}。请检查 TRAINTRIAGE_SLACK_SIGNING_SECRETS 与系统时钟。",
)
_NO_TIMESTAMP = Words("its timestamp is missing or no number", "时间戳缺失或不是数字")
_NO_SIGNATURE = Words("its signature is missing or malformed", "签名缺失或格式不对")
_TOO_OLD = Words("it is too old, or from the future", "时间过旧，或在未来")
_WRONG = Words("its signature is wrong", "签名不符")


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """What Slack sends for ``body`` at ``timestamp``."""
    return "v0=" + hmac.new(secret, b"v0:" + timestamp.encode("ascii") + b":" + body, hashlib.sha256).hexdigest()


def verify(headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes], now: float) -> None:
    """Let pass only what Slack signed within the last five minutes with one of ``secrets``.

    Args:
        headers: by lower-case name.
        secrets: the signing secret; while it is changed, the old one as well.
        now: seconds since 1970, UTC.

    Raises:
        Problem: 401 ``unproven``.
    """
    timestamp, sent = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    if _TIMESTAMP.fullmatch(timestamp) is None:
        raise _problem(_NO_TIMESTAMP)
    if _SIGNATURE.fullmatch(sent) is None:
        raise _problem(_NO_SIGNATURE)
    if abs(now - int(timestamp)) > MAX_AGE:
        raise _problem(_TOO_OLD)
    # Every secret is tried, so that the time tells nothing about which one it was.
    matches = [hmac.compare_digest(signature(secret, timestamp, body), sent) for secret in secrets]
    if not any(matches):
        raise _problem(_WRONG)


def _problem(why: Words) -> Problem:
    return Problem("unproven", Words(_UNPROVEN.en.format(why=why.en), _UNPROVEN.zh.format(why=why.zh)))
