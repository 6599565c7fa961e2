"""The service under load, in processes of its own: as users start it, or with an engine that does nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKERS = 2
PATIENCE = 300
ROOT = Path(__file__).resolve().parents[2]
SHIPPED = "api.cli"
NO_ENGINE = "bench.api.no_engine"


@contextmanager
def service(module: str, folder: Path) -> Iterator[tuple[int, int]]:
    """Port and process id of a service that is ready; ended afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", module, "serve", "--port", str(port), "--workers", str(WORKERS)]
    environ = {**os.environ, "TRAINTRIAGE_STORE_URL": f"sqlite:///{folder}/store.db"}
    with (folder / "service.log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stderr=log)
        try:
            _wait(port, process)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until every worker has started; each says so on its first readiness check at the latest."""
    end = time.monotonic() + PATIENCE
    ready = 0
    while ready < 10 * WORKERS:
        assert process.poll() is None, "the service ended"
        assert time.monotonic() < end, "the service did not start"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
                ready += answer.status == 200
        except OSError:
            time.sleep(0.1)


def cpu_seconds(parent: int) -> float:
    """CPU time of the worker processes of ``parent`` so far: user and system."""
    tick = os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    # Fields 14 and 15 of proc(5) stat, counted after the command's closing bracket.
    fields = [Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split() for child in children]
    return sum(int(field[11]) + int(field[12]) for field in fields) / tick
