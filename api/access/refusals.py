"""How those are answered who may not do what they ask."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.access import discovery
from api.messages import Words
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import HTTPConnection

REALM = 'realm="traintriage"'


class RefusedError(Exception):
    """A key or token that is not taken; the text is a key of ``REASONS``."""


def unauthenticated(request: HTTPConnection, reason: str) -> Problem:
    """The 401 for a reason, with the challenge of RFC 9110 and RFC 6750."""
    challenge = f"Bearer {REALM}" + ("" if reason == "no-credentials" else ', error="invalid_token"')
    challenge += discovery.challenge(request.app.state.settings, request.url.path)
    if "text/html" in request.headers.get("accept", ""):  # a browser, which can ask for a key as a password
        challenge += f', Basic {REALM}, charset="UTF-8"'
    return Problem("unauthenticated", REASONS[reason], headers={"WWW-Authenticate": challenge})


def forbidden(scope: str) -> Problem:
    """The 403 for a caller without ``scope``."""
    challenge = f'Bearer {REALM}, error="insufficient_scope", scope="{scope}"'
    missing = Words(f"This needs the scope {scope}, which you do not have.", f"此操作需要权限 {scope}，您没有。")
    return Problem("forbidden", missing, headers={"WWW-Authenticate": challenge})


def too_many(wait: float, slug: str = "too-many-requests") -> Problem:
    """The 429 (for alerts 503) that says when to come again, after ``wait`` seconds."""
    seconds = math.ceil(wait)
    again = Words(f"Too many requests. Send this one again in {seconds} s.", f"请求过多。请在 {seconds} 秒后重发。")
    return Problem(slug, again, headers={"Retry-After": str(seconds)})


REASONS: Mapping[str, Words] = MappingProxyType(
    {
        "no-credentials": Words(
            "Send an API key (Authorization: Bearer tt_…), or a token of the identity provider if one is set up.",
            "请发送 API 密钥（Authorization: Bearer tt_…），若已接入身份提供方，也可发送其令牌。",
        ),
        "malformed-authorization": Words(
            "Send one Authorization header: Bearer and a key or token, or Basic with the key as password.",
            "请发送一个 Authorization 头：Bearer 加密钥或令牌，或以密钥为密码的 Basic。",
        ),
        "malformed-key": Words(
            "This is not an API key. A whole one has tt_, 12 characters, _ and 64 characters.",
            "这不是 API 密钥。完整的密钥为 tt_、12 个字符、_ 和 64 个字符。",
        ),
        "wrong-key": Words("There is no such API key.", "没有这个 API 密钥。"),
        "revoked-key": Words("This API key was revoked.", "此 API 密钥已被撤销。"),
        "expired-key": Words(
            "This API key has expired. Ask those who run the service for a new one.",
            "此 API 密钥已过期。请向服务的维护者索取新密钥。",
        ),
        "malformed-token": Words("The token is not a signed JWT that can be read.", "令牌不是可读取的签名 JWT。"),
        "bad-algorithm": Words("The token is signed in a way that is not taken here.", "此处不接受该令牌的签名算法。"),
        "bad-signature": Words("The signature of the token is wrong.", "令牌的签名不正确。"),
        "unknown-signer": Words(
            "The token names no key (kid) that its issuer publishes.", "令牌所写的密钥（kid）不在签发方公布的密钥之中。"
        ),
        "expired-token": Words("The token has expired. Sign in again.", "令牌已过期。请重新登录。"),
        "early-token": Words("The token is not valid yet. Check the clocks.", "令牌尚未生效。请检查时钟。"),
        "other-audience": Words("The token was made for another service (aud).", "令牌是发给其他服务的（aud）。"),
        "other-issuer": Words("The token comes from another issuer (iss).", "令牌来自其他签发方（iss）。"),
        "missing-claim": Words(
            "The token must say exp, iat, iss, aud and sub.", "令牌须含 exp、iat、iss、aud 与 sub。"
        ),
        "bad-subject": Words(
            "The subject (sub) of the token is longer than 200 characters, or not printable ASCII.",
            "令牌的主体（sub）超过 200 个字符，或不是可打印的 ASCII。",
        ),
        "no-tenant": Words("The token names no tenant.", "令牌未写明租户。"),
    }
)
