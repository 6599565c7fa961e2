"""What the OpenAPI document says of access: the ways to prove who asks, and the scope of every operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.described import problems

if TYPE_CHECKING:
    from fastapi import FastAPI

_SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, tt_…, or a token of the identity provider, if one is set up.",
    },
    "keyAsPassword": {
        "type": "http",
        "scheme": "basic",
        "description": "The API key as password, with any user, for programs that know nothing else.",
    },
}


def add_security(app: FastAPI, document: dict[str, Any]) -> None:
    """Put the scope of each operation of ``app`` into ``document``; an open service does not insist on it."""
    document["components"]["securitySchemes"] = _SCHEMES
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            gate = app.state.gates.of(method.upper(), path)
            scope = gate.scope
            too_many = "too-many-alerts" if gate.kind == "webhooks" else "too-many-requests"
            if scope is None:
                operation["security"] = []
                _add_problems(operation, (too_many,))
                continue
            operation["security"] = [{name: [scope.value]} for name in _SCHEMES]
            if app.state.settings.access == "open":
                operation["security"].append({})
            _add_problems(operation, ("unauthenticated", "forbidden", too_many))


def _add_problems(operation: dict[str, Any], slugs: tuple[str, ...]) -> None:
    for status, response in problems(*slugs).items():
        there = operation["responses"].setdefault(str(status), response)
        for kind, content in response["content"].items():
            there["content"][kind]["examples"] |= content["examples"]
