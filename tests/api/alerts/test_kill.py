"""An alert that was acknowledged becomes a case, whatever happens to the process: tried with SIGKILL."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest

from tests.api.alerts.sent import JSON, alert, group
from tests.api.test_serve import free_port, is_up, wait_until
from tests.effort import effort


def serve(port: int, folder: Path) -> subprocess.Popen[str]:
    environ = {**os.environ, "TRAINTRIAGE_STORE_URL": f"sqlite:///{folder}/store.db", "TRAINTRIAGE_LOG_LEVEL": "error"}
    command = [sys.executable, "-m", "api.cli", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environ, text=True)
    wait_until(lambda: is_up(f"http://127.0.0.1:{port}/readyz", process))
    return process


def post_until_it_dies(url: str, name: str, acknowledged: list[str]) -> None:
    with httpx2.Client(timeout=60) as client:
        for number in range(10_000):
            told = f"{name}x{number}x"
            body = json.dumps(group(told, alert(told)))
            try:
                answer = client.post(f"{url}/v1/webhooks/alertmanager", content=body, headers=JSON)
            except httpx2.TransportError:
                return
            assert answer.status_code == 202
            acknowledged.append(told)


@pytest.mark.long
def test_nothing_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = serve(port, tmp_path)
    for number in range(effort(2, 10)):
        thread = threading.Thread(target=post_until_it_dies, args=(url, f"Kill{number}", acknowledged))
        thread.start()
        enough = len(acknowledged) + random.randint(1, 20)
        wait_until(lambda enough=enough: len(acknowledged) >= enough)
        process.send_signal(signal.SIGKILL)
        process.wait()
        thread.join()
        process = serve(port, tmp_path)
    try:
        with httpx2.Client(base_url=url, timeout=60) as client:
            waiting = set(acknowledged)
            deadline = time.monotonic() + 400  # a job that was being done is done again when its lease ends
            while waiting and time.monotonic() < deadline:
                for told in sorted(waiting):
                    items = client.get("/v1/cases", params={"q": told}).json()["items"]
                    if items:
                        assert len(items) == 1, told
                        waiting.discard(told)
                time.sleep(0.5)
    finally:
        process.terminate()
        process.wait()
    assert len(acknowledged) > 5
    assert not waiting
