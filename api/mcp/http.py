"""MCP over streamable HTTP at ``/mcp``, as one more route of the service: same hosts, limits, keys and log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from mcp.server.mcpserver import Context
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from api.access import Caller, Scope, caller_of, needs, public
from api.access.discovery import MCP, METADATA, address, is_told
from api.mcp.server import make_server
from api.mcp.tools import Services
from api.messages import say
from api.problem import Problem
from api.settings import Settings

router = APIRouter()


_SCOPES = (
    Scope.DIAGNOSE, Scope.KNOWLEDGE_READ, Scope.CASES_READ, Scope.CASES_WRITE, Scope.CASES_RESOLVE, Scope.AUDITS_READ,
    Scope.AUDITS_WRITE,
)  # fmt: skip
_INVALID_REQUEST = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": INVALID_REQUEST, "message": "Invalid Request: id must be a string or a whole number"},
}


class _Handled(Response):
    """The answer of the SDK to a request with this body."""

    def __init__(self, manager: StreamableHTTPSessionManager, body: bytes) -> None:
        super().__init__()
        self._manager = manager
        self._unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        async def again() -> Message:
            return self._unread.pop() if self._unread else await receive()

        await self._manager.handle_request(scope, again, send)


@router.post(MCP, include_in_schema=False, dependencies=[needs(Scope.DIAGNOSE)])
async def mcp(request: Request) -> Response:
    """One message of the protocol. Nothing is kept between two of them, so that any worker can answer any.

    Each tool and resource asks for the scope of what it does; the one here lets in, at the rate of diagnoses.
    """
    body = await request.body()
    if _has_bad_id(body):
        return JSONResponse(_INVALID_REQUEST, 400)
    return _Handled(request.app.state.mcp, body)


@router.get(METADATA, include_in_schema=False, dependencies=[public()])
@router.get(METADATA + MCP, include_in_schema=False, dependencies=[public()])
async def protected_resource(request: Request) -> Response:
    """Which identity provider gives tokens for ``/mcp``."""
    settings: Settings = request.app.state.settings
    if not is_told(settings):
        raise Problem("not-found", say("no-path"))
    document = {
        "resource": address(settings, MCP),
        "authorization_servers": [settings.oidc_issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "traintriage",
    }
    # With roles in the settings the provider's tokens name those, and not our scopes.
    scopes = {} if settings.oidc_roles else {"scopes_supported": [str(scope) for scope in _SCOPES]}
    return JSONResponse({**document, **scopes})


def _has_bad_id(body: bytes) -> bool:
    """Whether the id is none in JSON-RPC: the SDK would take the request for a message that wants no answer."""
    try:
        message = from_json(body)
    except ValueError:
        return False  # the SDK says where it breaks
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return isinstance(message["id"], bool) or not isinstance(message["id"], str | int)


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """Have a server of the app's own for the time of the ``async with``."""
    settings: Settings = app.state.settings
    server = make_server(services_of(app), _caller, app.state.logger)
    server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=settings.max_document_bytes,
        # Host and Origin were checked before: see api.limits.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.state.mcp = server.session_manager
    async with server.session_manager.run():
        yield


def services_of(app: FastAPI) -> Services:
    """What the tools need of an app."""
    state = app.state
    return Services(state.cases, state.expert, state.audits, state.settings.audit_roots)


def _caller(context: Context[Any, Any]) -> Caller:
    request = context.request_context.request
    assert request is not None
    return caller_of(request)
