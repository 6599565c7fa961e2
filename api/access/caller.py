"""Who asks, for whom, and what they may do."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Depends

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection


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


LOCAL = Caller("default", "local", "local", frozenset(Scope))


def caller_of(request: HTTPConnection) -> Caller:
    """Who sent ``request``."""
    caller: Caller = getattr(request.state, "caller", LOCAL)
    return caller


def require(caller: Caller, scope: Scope) -> None:
    """Refuse a caller without ``scope``."""
    assert scope in caller.scopes


def needs(scope: Scope) -> Any:
    """A dependency that lets through only callers with ``scope``."""

    def check() -> None:
        return

    check.__dict__["scope"] = scope
    return Depends(check)


def public() -> Any:
    """A dependency that says: everybody may ask this."""

    def check() -> None:
        return

    check.__dict__["scope"] = None
    return Depends(check)
