"""``traintriage mcp``: the tools for a chatbot on this machine, over standard input and output."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from api.cli import Problem

if TYPE_CHECKING:
    from api.access import Caller
    from api.settings import Settings


@click.command("mcp")
@click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="Keep the cases in this file.")
@click.option(
    "--knowledge", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of the knowledge base."
)
@click.option(
    "--audit-root",
    "audit_roots",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="A folder whose checkpoints may be audited.",
)
def command(store: Path | None, knowledge: Path | None, audit_roots: tuple[Path, ...]) -> None:
    """Answer a chat client over standard input and output (Model Context Protocol), until it closes the input.

    Not meant to be typed: the client starts it, see docs/mcp.md. Cases are kept as by the service on this machine.
    """
    from api.settings import Settings, SettingsError

    try:
        settings = Settings.from_env(
            os.environ,
            knowledge=knowledge,
            store_url=f"sqlite:///{store.absolute()}" if store is not None else None,
            audit_roots=tuple(root.absolute() for root in audit_roots) or None,
            mcp=True,  # refused here if the SDK is not installed
            log_level="warning" if "TRAINTRIAGE_LOG_LEVEL" not in os.environ else None,
        )
    except SettingsError as error:
        raise Problem("the tools cannot start so", str(error)) from None
    asyncio.run(_serve(settings))


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
