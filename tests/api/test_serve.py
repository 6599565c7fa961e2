"""The service as a process: start, reload, several workers, graceful end."""

import asyncio
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

from api import serve

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
def service(folder: Path, workers: int, store: str | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    (folder / "knowledge").write_text("one")
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                sys.executable, str(program), str(port), str(workers), str(folder / "knowledge"),
                store or f"sqlite:///{folder}/store.db",
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
    """What was logged: all of standard error but the line for people that says when the service listens."""
    lines = (folder / "log").read_text().splitlines()
    return [json.loads(line) for line in lines if not line.startswith("listening on ")]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_people_are_told_once_where_it_listens(workers: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with service(tmp_path, workers) as (_, url):
        wait_until(lambda: f"listening on {url} (docs at /docs)\n" in log.read_text())
        assert httpx2.get(f"{url}/readyz").status_code == 200
    assert log.read_text().count("listening on") == 1


def test_answers_are_not_held_back() -> None:
    """An answer is two writes: with Nagle's algorithm the second waits for the client's delayed acknowledgement."""

    async def option_of_an_accepted_connection() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(note, sock=serve._bound("127.0.0.1", 0)) as server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await accepted
            finally:
                writer.close()

    assert asyncio.run(option_of_an_accepted_connection()) == 1


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


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_taken_port_is_one_clear_line(workers: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "api.cli", "serve", "--port", str(port), "--workers", workers],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
            env={**os.environ, "TRAINTRIAGE_STORE_URL": f"sqlite:///{tmp_path}/store.db"},
        )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"127.0.0.1:{port}: address already in use" in line
    assert "--port" in line


BODY = b'{"report": "x"}'


def half_a_request(url: str) -> socket.socket:
    """A connection on which the first bytes of a body have been sent."""
    connection = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=PATIENCE)
    head = "POST /v1/diagnoses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    head += str(len(BODY))
    connection.sendall(head.encode() + b"\r\n\r\n" + BODY[:5])
    return connection


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_requests_under_way_are_answered_before_the_end(workers: int, tmp_path: Path) -> None:
    with service(tmp_path, workers) as (process, url), half_a_request(url) as connection:
        assert digest(url) == "one"  # the worker, if it is the only one, has seen the other connection by now
        process.send_signal(signal.SIGTERM)
        ending = "SIGTERM" if workers > 1 else "Shutting down"
        wait_until(lambda: ending in (tmp_path / "log").read_text())
        connection.sendall(BODY[5:])
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert process.wait(PATIENCE) in {0, -signal.SIGTERM}


def test_a_live_stream_ends_when_the_service_does(tmp_path: Path) -> None:
    with service(tmp_path, workers=1) as (process, url):
        opened = httpx2.post(f"{url}/v1/cases", json={"report": "the loss is NaN"})
        assert opened.status_code == 201
        with httpx2.stream("GET", f"{url}{opened.headers['location']}/events", timeout=PATIENCE) as stream:
            chunks = stream.iter_text()
            assert "retry" in next(chunks)
            process.send_signal(signal.SIGTERM)
            rest = "".join(chunks)  # a stream that was cut off would raise
        assert "event: opened" in rest
        assert process.wait(PATIENCE) in {0, -signal.SIGTERM}
    assert "graceful shutdown exceeded" not in (tmp_path / "log").read_text()


def test_a_second_interrupt_does_not_wait_for_the_rest(tmp_path: Path) -> None:
    with service(tmp_path, workers=1) as (process, url), half_a_request(url):
        assert digest(url) == "one"
        process.send_signal(signal.SIGINT)
        wait_until(lambda: "Waiting for connections to close" in (tmp_path / "log").read_text())
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) is not None


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_does_not_delay_the_end(tmp_path: Path) -> None:
    with service(tmp_path, workers=2) as (process, url):
        wait_until(lambda: sum(line["event"] == "started" for line in log_lines(tmp_path)) == 2)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        started = [line["event"] for line in log_lines(tmp_path)]
        worker = next(child for child in children if f"Started server process [{child}]" in started)
        os.kill(int(worker), signal.SIGKILL)
        wait_until(lambda: sum(line["event"] == "started" for line in log_lines(tmp_path)) == 3)
        assert digest(url) == "one"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_headers_are_limited(tmp_path: Path) -> None:
    with service(tmp_path, workers=1) as (_, url):
        with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=PATIENCE) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 200_000)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 431 ")
        assert httpx2.get(f"{url}/healthz", headers={"X-Long": "x" * 20_000}).status_code == 200
