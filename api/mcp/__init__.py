"""The expert system as tools for a chatbot (Model Context Protocol).

The SDK takes a second to import: this module does so only where MCP is switched on.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Add the route ``/mcp``, if it is switched on."""
    if app.state.settings.mcp:
        from api.mcp.http import router

        app.include_router(router)


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """Answer at ``/mcp`` for the time of the ``async with``, if it is switched on."""
    if not app.state.settings.mcp:
        yield
        return
    from api.mcp import http

    async with http.running(app):
        yield
