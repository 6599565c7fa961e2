"""MCP over streamable HTTP at ``/mcp``, as one more route of the service: same hosts, limits, keys and log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from mcp.server.mcpserver import Context
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from api.access import Caller, Scope, caller_of, needs
from api.mcp.server import make_server
from api.mcp.tools import Services
from api.settings import Settings

PATH = "/mcp"
router = APIRouter()


class _Handled(Response):
    """The answer of the SDK to a request."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


@router.post(PATH, include_in_schema=False, dependencies=[needs(Scope.DIAGNOSE)])
async def mcp(request: Request) -> Response:
    """One message of the protocol. Nothing is kept between two of them, so that any worker can answer any.

    Each tool and resource asks for the scope of what it does; the one here lets in, at the rate of diagnoses.
    """
    return _Handled(request.app.state.mcp)


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
