"""The gate of every route: what it needs, and the middleware that stands before all of them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi.routing import iter_route_contexts
from starlette.requests import Request
from starlette.routing import compile_path

from api.access.caller import LOCAL, Caller, Scope, require
from api.access.refusals import too_many
from api.errors import problem_response
from api.problem import Problem
from api.rates import Meter, Rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fastapi import FastAPI
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Connection

    from api.access.authentication import Authenticator
    from api.settings import Networks, Settings

_KINDS = {
    Scope.DIAGNOSE: "diagnosing",
    Scope.CASES_WRITE: "diagnosing",
    Scope.CASES_RESOLVE: "diagnosing",
    Scope.AUDITS_WRITE: "auditing",
    Scope.ALERTS_WRITE: "webhooks",
}


class UndeclaredRouteError(Exception):
    """A route does not say who may use it, so the service does not start."""


@dataclass(frozen=True)
class Gate:
    """What a route needs (``None`` is nothing), and its class, each of which has a rate of its own."""

    scope: Scope | None
    kind: str
    route: Any


class Gates:
    """All gates of an app, found by path and method before the router looks."""

    def __init__(self) -> None:
        self._fixed: dict[str, dict[str, Gate]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, Gate]]] = []

    def learn(self, app: FastAPI) -> None:
        """Take down what each route of ``app`` declares.

        Raises:
            UndeclaredRouteError: if one declares nothing, or more than one thing.
        """
        for context in iter_route_contexts(app.routes):
            path = context.path or ""
            scope = _declared(context, path)
            methods = context.methods or ()
            gate = Gate(scope, _kind(scope, methods), context.original_route)
            gates = dict.fromkeys(methods, gate)
            if "{" in path:
                self._patterns.append((compile_path(path)[0], gates))
            else:
                self._fixed.setdefault(path, {}).update(gates)

    def of(self, method: str, path: str) -> Gate | None:
        """The gate of a request; ``None`` if no route takes it."""
        # The router's patterns end in $, before which a line break may stand (%0a); so it may here.
        gate = self._fixed.get(path.removesuffix("\n"), {}).get(method)
        if gate is not None:
            return gate
        for pattern, gates in self._patterns:
            if method in gates and pattern.match(path):
                return gates[method]
        return None


def _declared(context: Any, path: str) -> Scope | None:
    # What is no route of the framework, a mounted app for one, has no dependencies, and so declares nothing.
    checks = [depends.dependency for depends in getattr(context, "dependencies", ())]
    found: list[Scope | None] = [check.scope for check in checks if hasattr(check, "scope")]
    if len(found) != 1:
        raise UndeclaredRouteError(f"{path} must declare who may use it: once, by needs(Scope…) or public()")
    return found[0]


def _kind(scope: Scope | None, methods: Iterable[str]) -> str:
    """What everybody may send to brings its own proof: it is a webhook."""
    if scope is None:
        return "webhooks" if "POST" in methods else "reading"
    return _KINDS.get(scope, "reading")


class Access:
    """ASGI middleware: finds out who asks, and refuses before a body is read: 401, 403, 429."""

    def __init__(self, app: ASGIApp, *, settings: Settings, gates: Gates, authenticator: Authenticator) -> None:
        self.app = app
        self.is_open = settings.access == "open"
        self.proxies = settings.trusted_proxies
        self.gates = gates
        self.authenticator = authenticator
        self.meter = Meter()
        self.rates: dict[str, Rate] = {
            "reading": settings.rate_reading,
            "diagnosing": settings.rate_diagnosing,
            "auditing": settings.rate_auditing,
            "webhooks": settings.rate_webhooks,
        }

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Pass the request on with ``state.caller``, or answer it."""
        state = scope.setdefault("state", {})
        if scope["type"] != "http" or "caller" in state:  # the service asks itself
            await self.app(scope, receive, send)
            return
        state["caller"], state["refusal"] = (LOCAL if self.is_open else None), None
        if not self.is_open:
            request = Request(scope)
            try:
                await self._admit(request)
            except Problem as problem:
                await problem_response(problem, request)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _admit(self, request: Request) -> None:
        address = peer(request.scope, self.proxies)
        caller: Caller | None = None
        try:
            caller = await self.authenticator.caller(request, address)
        except Problem as refusal:
            request.state.refusal = refusal  # for routes that need somebody; public ones do not care
        request.state.caller = caller
        gate = self.gates.of(request.method, request.scope["path"])
        if gate is None:
            return
        request.scope["route"] = gate.route  # for the log, should it end here
        wait = self.meter.take(self.rates[gate.kind], gate.kind, f"{caller.tenant}/{caller.id}" if caller else address)
        if wait:
            raise too_many(wait, "too-many-alerts" if gate.kind == "webhooks" else "too-many-requests")
        if gate.scope is not None:
            require(request, gate.scope)


def peer(scope: Connection, proxies: Networks) -> str:
    """The address that counts for limits: the nearest that is no trusted proxy, of IPv6 the network of its site."""
    address = (scope.get("client") or ("", 0))[0]
    forwarded = ",".join(
        value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for" and proxies
    )
    for step in reversed(forwarded.split(",") if forwarded else ()):
        if not _is_in(address, proxies):
            break
        address = step.strip()
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)


def _is_in(address: str, networks: Iterable[Any]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)
