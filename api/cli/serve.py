"""``traintriage serve``: the REST service."""

from __future__ import annotations

import os
from pathlib import Path

import click

from api.cli import Problem


@click.command("serve")
@click.option("--host", help="Other addresses than loopback need TRAINTRIAGE_ACCESS=keys. [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one. [default: 8080]")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that answer requests. [default: 1]")
@click.option(
    "--knowledge", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of the knowledge base."
)
def command(host: str | None, port: int | None, workers: int | None, knowledge: Path | None) -> None:
    """Start the REST service; /docs on it explains the operations.

    SIGHUP reloads the knowledge base without dropping a request. Every setting can also come from the environment as
    TRAINTRIAGE_NAME; see docs/api.md.
    """
    from api.serve import run
    from api.settings import Settings, SettingsError
    from engine.knowledge.load import load_knowledge
    from engine.knowledge.problems import KbError

    try:
        # Loaded once before workers start, each of which would fail and be started again; they find it in the cache.
        load_knowledge(Settings.from_env(os.environ, knowledge=knowledge).knowledge)
        run(host, port, workers=workers, knowledge=knowledge)
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error)) from None
    except SettingsError as error:
        raise Problem("the service cannot start so", str(error)) from None
    except OSError as error:
        detail = f"{error.strerror or error}; name another with --port, or take a free one with --port 0"
        raise Problem("the port cannot be used", detail) from None
