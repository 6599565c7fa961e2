"""``traintriage serve``: the REST service on the loopback interface."""

from __future__ import annotations

import click


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Only a loopback address is accepted so far.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535))
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes.")
def command(host: str, port: int, workers: int) -> None:
    """Start the REST service. SIGHUP reloads the knowledge base without dropping a request."""
    from api.serve import run

    run(host, port, workers=workers)
