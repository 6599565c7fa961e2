"""Who asks, for whom, and what they may do."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from fastapi import Depends
from starlette.requests import HTTPConnection, Request

from api.access.refusals import forbidden, unauthenticated


class Scope(enum.StrEnum):
    """What a caller may do."""

    KNOWLEDGE_READ = "knowledge:read"
    DIAGNOSE = "diagnose"
    CASES_READ = "cases:read"
    CASES_WRITE = "cases:write"
    CASES_RESOLVE = "cases:resolve"
    CASES_DELETE = "cases:delete"
    AUDITS_READ = "audits:read"
    AUDITS_WRITE = "audits:write"
    ALERTS_WRITE = "alerts:write"
    METRICS_READ = "metrics:read"
    ADMIN = "admin"


@dataclass(frozen=True)
class Caller:
    """Somebody who asks.

    Args:
        tenant: whose cases and audits they see; those of others do not exist for them.
        id: stable, with its kind before the colon: ``key:…``, ``person:…``, ``slack:…``, ``alert:…``, ``local``.
        name: for people to read.
        scopes: what they may do.
    """

    tenant: str
    id: str
    name: str
    scopes: frozenset[Scope]


TENANT = "default"  # of an open service, and of keys that name no other
LOCAL = Caller(TENANT, "local", "local", frozenset(Scope))


def caller_of(request: HTTPConnection) -> Caller:
    """Who sent ``request``, on a route that needs a scope. (On a public one there may be nobody, which raises.)"""
    caller: Caller | None = request.state.caller
    if caller is None:
        raise RuntimeError("a public route has no caller")
    return caller


def require(request: HTTPConnection, scope: Scope) -> None:
    """Let through only a caller with ``scope``.

    Raises:
        Problem: 401 if nobody has said, or proved, who they are, or what else hindered that; 403 if they may not.
    """
    caller: Caller | None = request.state.caller
    if caller is None:
        raise request.state.refusal or unauthenticated(request, "no-credentials")
    require_scope(caller, scope)


def require_scope(caller: Caller, scope: Scope) -> None:
    """Let through only a caller with ``scope``.

    Raises:
        Problem: 403 if they may not.
    """
    if scope not in caller.scopes:
        raise forbidden(scope)


def needs(scope: Scope) -> Any:
    """A dependency that lets through only callers with ``scope``."""

    async def check(request: Request) -> None:
        require(request, scope)

    return _declaring(check, scope)


def public() -> Any:
    """A dependency that says: everybody may ask this."""

    async def check() -> None:
        return

    return _declaring(check, None)


def _declaring(check: Any, scope: Scope | None) -> Any:
    check.scope = scope  # what :mod:`api.access.gates` looks for
    return Depends(check)
