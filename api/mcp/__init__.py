"""The expert system as tools for a chatbot (Model Context Protocol).

The SDK takes a second to import: this module does so only where MCP is switched on.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from api.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import APIRouter, FastAPI

MISSING = "MCP needs the package mcp, which is not installed: pip install 'traintriage[mcp]'"


def mcp_router() -> APIRouter:
    """The route ``/mcp``.

    Raises:
        SettingsError: if the SDK is not installed.
    """
    try:
        from api.mcp.http import router
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        raise SettingsError(f"TRAINTRIAGE_MCP: {MISSING}") from error
    return router


@asynccontextmanager
async def mcp_running(app: FastAPI) -> AsyncIterator[None]:
    """Serve ``/mcp`` for the time of the ``async with``, if it is switched on."""
    if not app.state.settings.mcp:
        yield
        return
    from api.mcp.http import running

    async with running(app):
        yield
