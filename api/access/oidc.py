"""Tokens of an identity provider: signed JWTs (RFC 7519, RFC 9068) of the one issuer that the settings name.

Nothing in a token says where keys are or which kind of signature is good: its algorithm must be in the settings and be
that of the key, so a public key can never be taken for a secret of HMAC; ``jku``, ``x5u`` and ``jwk`` are not read.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import jwt

from api.access.caller import TENANT, Caller, Scope
from api.access.refusals import RefusedError
from api.messages import Words
from api.outbound import OutboundError
from api.problem import Problem
from api.reports.text import visible
from api.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from api.outbound import Outbound
    from api.settings import Settings

REFRESH_SECONDS = 30.0  # the keys are asked for at most so often, however many tokens name unknown ones
RENEW_SECONDS = 600.0  # and at least so often while tokens come
KEPT_SECONDS = 86_400.0  # how long old keys are good if the provider cannot be reached
MOST_BYTES = 1024 * 1024
NO_KEYS = Words(
    "The keys of the identity provider cannot be had at the moment; API keys work.",
    "暂时无法取得身份提供方的密钥；API 密钥可用。",
)
_SUBJECT = re.compile(r"[!-~]{1,200}")
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REQUIRED = ["exp", "iat", "iss", "aud", "sub"]
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "expired-token"),
    (jwt.ImmatureSignatureError, "early-token"),
    (jwt.InvalidAudienceError, "other-audience"),
    (jwt.InvalidIssuerError, "other-issuer"),
    (jwt.MissingRequiredClaimError, "missing-claim"),
    (jwt.InvalidAlgorithmError, "bad-algorithm"),
    (jwt.InvalidSignatureError, "bad-signature"),
)


class Provider:
    """Vouches for people.

    Args:
        settings: who it is, and what its claims mean here.
        outbound: to fetch its keys.
        clock: seconds since 1970.

    Raises:
        SettingsError: if something is missing, or a role gives something that is no scope.
    """

    def __init__(self, settings: Settings, outbound: Outbound, clock: Callable[[], float]) -> None:
        if not settings.oidc_audience or bool(settings.oidc_jwks_url) == (settings.oidc_jwks_file is not None):
            needed = "TRAINTRIAGE_OIDC_AUDIENCE, and TRAINTRIAGE_OIDC_JWKS_URL or TRAINTRIAGE_OIDC_JWKS_FILE"
            raise SettingsError(f"TRAINTRIAGE_OIDC_ISSUER needs {needed}")
        self._settings = settings
        self._outbound = outbound
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = float("-inf")
        self._fetching = asyncio.Lock()
        try:
            self._roles = {
                role: frozenset(map(Scope, scopes))
                for role, scopes in (settings.oidc_roles or {scope.value: (scope.value,) for scope in Scope}).items()
            }
        except ValueError as error:
            raise SettingsError(f"TRAINTRIAGE_OIDC_ROLES: {error}; there are {', '.join(Scope)}") from error

    async def caller(self, token: str) -> tuple[Caller, float]:
        """Whose token it is, and until when it is good.

        Raises:
            RefusedError: if it is not a good one.
            Problem: 503 if there are no keys to check it with.
        """
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError as error:
            raise RefusedError("malformed-token") from error
        if header.get("alg") not in self._settings.oidc_algorithms:
            raise RefusedError("bad-algorithm")
        claims = self._claims(token, await self._key(header.get("kid")))
        return self._caller(claims), claims["exp"] + self._settings.oidc_leeway_seconds

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        settings = self._settings
        try:
            return jwt.decode(
                token,
                key,
                algorithms=settings.oidc_algorithms,
                audience=settings.oidc_audience,
                issuer=settings.oidc_issuer,
                leeway=settings.oidc_leeway_seconds,
                options={"require": _REQUIRED, "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, OverflowError) as error:  # the latter for a time of 1e999
            reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "malformed-token")
            raise RefusedError(reason) from error

    def _caller(self, claims: dict[str, Any]) -> Caller:
        subject = claims["sub"]
        if not _SUBJECT.fullmatch(subject):
            raise RefusedError("bad-subject")
        tenant = TENANT
        if self._settings.oidc_tenant_claim:
            tenant = _claim(claims, self._settings.oidc_tenant_claim)
            if not isinstance(tenant, str) or not _TENANT.fullmatch(tenant):
                raise RefusedError("no-tenant")
        held = _claim(claims, self._settings.oidc_scope_claim)
        values = held.split() if isinstance(held, str) else held if isinstance(held, list) else ()
        scopes = frozenset().union(*(self._roles.get(value, ()) for value in values if isinstance(value, str)))
        named = (claims.get(claim) for claim in ("name", "preferred_username", "email"))
        name = next((text for text in named if isinstance(text, str) and text.strip()), subject)
        return Caller(tenant, f"person:{subject}", visible(name[:100]), scopes)

    async def _key(self, kid: Any) -> jwt.PyJWK:
        if not isinstance(kid, str):
            raise RefusedError("unknown-signer")
        is_due = self._clock() - self._fetched > RENEW_SECONDS
        if kid not in self._keys or (is_due and not self._fetching.locked()):
            async with self._fetching:
                await self._refresh(kid)
        if not self._keys:
            raise Problem("not-ready", NO_KEYS, headers={"Retry-After": str(int(REFRESH_SECONDS))})
        if kid not in self._keys:
            raise RefusedError("unknown-signer")
        return self._keys[kid]

    async def _refresh(self, kid: str) -> None:
        now = self._clock()
        fresh = kid in self._keys and now - self._fetched <= RENEW_SECONDS  # another request was faster
        if fresh or now - self._tried < REFRESH_SECONDS:
            return
        self._tried = now
        try:
            self._keys = _usable(await self._fetch(), self._settings.oidc_algorithms)
            self._fetched = now
        except (OutboundError, OSError, ValueError, RecursionError):
            if now - self._fetched > KEPT_SECONDS:
                self._keys = {}

    async def _fetch(self) -> bytes:
        path = self._settings.oidc_jwks_file
        if path is not None:
            with path.open("rb") as stream:
                return stream.read(MOST_BYTES)
        answer = await self._outbound.send("GET", self._settings.oidc_jwks_url, most_bytes=MOST_BYTES)
        if answer.status != 200:
            raise OutboundError(f"status {answer.status}")
        return answer.content


def _usable(text: bytes, algorithms: tuple[str, ...]) -> dict[str, jwt.PyJWK]:
    """The keys of a JWK set (RFC 7517) by their ids: those for signatures that are taken.

    Raises:
        ValueError: if it is no such set.
    """
    document = json.loads(text)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("this is no set of keys")
    usable: dict[str, jwt.PyJWK] = {}
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or not isinstance(entry.get("kid"), str):
            continue
        try:
            key = jwt.PyJWK(entry)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        if key.algorithm_name in algorithms:
            usable[entry["kid"]] = key
    return usable


def _claim(claims: dict[str, Any], name: str) -> Any:
    """A claim by its name, or, where that has dots, by the way to it: ``realm_access.roles``."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
