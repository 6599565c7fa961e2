"""``traintriage demo``: the main job once, through the real service: an incident in, an answer out."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

from api.cli import Problem
from api.render import console, render_diagnosis
from engine.model.base import Lang
from engine.model.diagnosis import Diagnosis

INCIDENT = Path(__file__).parents[1] / "static" / "demo"
START_SECONDS = 60


@click.command("demo")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en")
def command(lang: Lang) -> None:
    """Start the service on a free port, send it the bundled incident, print the answer, stop the service."""
    out = console()
    with _service() as address:
        url = f"{address}/v1/diagnoses?limit=5"
        out.print(f"[dim]POST {url}  (case.json: what the engineer says, train.log: what the run printed)[/dim]")
        diagnosis = _post(url, lang)
    out.print()
    render_diagnosis(diagnosis, lang)


def _post(url: str, lang: Lang) -> Diagnosis:
    import httpx2

    log = INCIDENT / "train.log"
    answer = httpx2.post(
        url,
        data={"case": (INCIDENT / "case.json").read_text(encoding="utf-8")},
        files={"files": (log.name, log.read_bytes(), "text/plain")},
        headers={"Accept-Language": lang},
        timeout=60,
    )
    if answer.status_code != 200:
        raise Problem("the service refused the incident", json.dumps(answer.json(), ensure_ascii=False))
    return Diagnosis.model_validate_json(answer.content)


@contextlib.contextmanager
def _service() -> Iterator[str]:
    """The service in a process of its own, with a store that is thrown away."""
    import httpx2

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "service.log").open("w+") as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "api.cli", "serve", "--port", str(port)],
            env={**os.environ, "TRAINTRIAGE_STORE_URL": f"sqlite:///{folder}/store.db"}, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + START_SECONDS
            while True:
                with contextlib.suppress(httpx2.TransportError):
                    if httpx2.get(f"{address}/readyz", timeout=5).status_code == 200:
                        break
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise Problem("the service did not start", log.read()[-2000:])
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=20)
