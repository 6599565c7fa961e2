"""The service as a process: start, reload, several workers, graceful end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

PROGRAM = """
import sys
from pathlib import Path
from api import app, serve
from api.reader import Source
from api.settings import Settings
from tests.api.fake_engine import FakeDiagnoser
from tests.api.test_reload import FromFile

def application(settings):
    return app.create_app(settings, source=Source(load=FromFile(settings.knowledge), build=FakeDiagnoser))

serve.application = application
if __name__ == "__main__":
    serve.run(port=int(sys.argv[1]), workers=int(sys.argv[2]), knowledge=Path(sys.argv[3]), store_url=sys.argv[4])
"""
PATIENCE = 90  # seconds until a test gives up; nothing is measured by it


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def service(folder: Path, workers: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    (folder / "knowledge").write_text("one")
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                sys.executable, str(program), str(port), str(workers), str(folder / "knowledge"),
                f"sqlite:///{folder}/store.db",
            ],
            stderr=log, text=True,
        )  # fmt: skip
        try:
            wait_until(lambda: is_up(f"http://127.0.0.1:{port}/readyz", process))
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def is_up(url: str, process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None
    try:
        return httpx2.get(url).status_code == 200
    except httpx2.TransportError:
        return False


def wait_until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def digest(url: str) -> str:
    return str(httpx2.post(f"{url}/v1/diagnoses", json={"report": "x"}).json()["kb_digest"])


def log_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def test_one_process_reloads_on_sighup_and_ends_cleanly(tmp_path: Path) -> None:
    with service(tmp_path, workers=1) as (process, url):
        assert digest(url) == "one"
        (tmp_path / "knowledge").write_text("two")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: digest(url) == "two")
        (tmp_path / "knowledge").write_text("broken")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("reload failed" in line["event"] for line in log_lines(tmp_path)))
        assert digest(url) == "two"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in {0, -signal.SIGTERM}
    events = [line["event"] for line in log_lines(tmp_path)]
    assert events[-1] != "started"
    assert "stopped" in events


@pytest.mark.long
def test_workers_share_a_port_and_reload_one_by_one(tmp_path: Path) -> None:
    with service(tmp_path, workers=2) as (process, url):
        (tmp_path / "knowledge").write_text("two")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: [digest(url) for _ in range(10)] == ["two"] * 10)
        metrics = httpx2.get(f"{url}/metrics").text
        assert 'traintriage_diagnoses_total{answered_by="durable-rules"}' in metrics


def test_a_taken_port_is_one_clear_failure(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        (tmp_path / "knowledge").write_text("one")
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, str(program), port, "1", str(tmp_path / "knowledge"), f"sqlite:///{tmp_path}/store.db"],
            capture_output=True, text=True, timeout=PATIENCE, env=dict(os.environ), check=False,
        )  # fmt: skip
    assert done.returncode != 0
    assert "address already in use" in done.stderr
    assert "Traceback" not in done.stderr
