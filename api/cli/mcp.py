"""``traintriage mcp``: the tools for a chatbot on this machine, over standard input and output."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from api.cli import Problem

if TYPE_CHECKING:
    from api.access import Caller
    from api.settings import Settings


@click.command("mcp")
def command() -> None:
    """Answer a chat client over standard input and output (Model Context Protocol), until it closes the input.

    Not meant to be typed: the client starts it, see docs/mcp.md. Settings come from the environment as for the
    service, whose cases it shares: TRAINTRIAGE_STORE_URL, TRAINTRIAGE_KNOWLEDGE, TRAINTRIAGE_AUDIT_ROOTS and others.
    """
    from api.settings import Settings, SettingsError
    from engine.knowledge.problems import KbError

    quiet = None if "TRAINTRIAGE_LOG_LEVEL" in os.environ else "warning"  # clients show each line as an error
    try:
        # Refused here if the SDK is not installed.
        settings = Settings.from_env(os.environ, mcp=True, log_level=quiet)
    except SettingsError as error:
        raise Problem("the tools cannot start so", str(error)) from None
    try:
        asyncio.run(_serve(settings))
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error)) from None


async def _serve(settings: Settings) -> None:
    from api.app import create_app
    from api.mcp.http import services_of
    from api.mcp.server import make_server

    app = create_app(settings)
    async with app.router.lifespan_context(app):
        await make_server(services_of(app), _local, app.state.logger).run_stdio_async()


def _local(_: Any) -> Caller:
    """Whoever can start this process can read its store."""
    from api.access import LOCAL

    return LOCAL
