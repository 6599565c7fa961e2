"""A running service with the real engine, and the SDK's own client connected to it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI
from mcp import Client
from mcp_types import CallToolResult, TextContent

from api.access import LOCAL, Caller
from api.app import create_app
from api.mcp.http import services_of
from api.mcp.server import ExpertServer, make_server
from api.settings import Settings


@dataclass(frozen=True)
class Chat:
    """Calls tools as a chat client does."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a call that succeeds; its text says the same."""
        result = await self.result(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        assert json.loads(text_of(result)) == result.structured_content
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """What a call that fails is told."""
        result = await self.result(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        return text_of(result)

    async def result(self, tool: str, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def a_server(app: FastAPI, caller: Caller = LOCAL) -> ExpertServer:
    """A server that takes everybody for ``caller``."""
    return make_server(services_of(app), lambda _: caller, app.state.logger)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FastAPI]:
    """A service with the tools, its store empty at first, that may audit below a folder of its own."""
    folder = tmp_path_factory.mktemp("mcp")
    settings = Settings(store_url=f"sqlite:///{folder}/store.db", audit_roots=(folder,), mcp=True, log_level="error")
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        yield app


@pytest.fixture(scope="session")
async def chat(service: FastAPI) -> AsyncIterator[Chat]:
    """Somebody who may do everything."""
    async with Client(a_server(service)) as client:
        yield Chat(client)
