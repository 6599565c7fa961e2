"""The service as processes on one store."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from api.store.audit_log import verify
from tests.api.conftest import REPORT
from tests.api.store.open_store import open_store
from tests.api.test_serve import PATIENCE, service


@pytest.mark.parametrize("url", ["sqlite:////proc/nothing/store.db", "postgresql://user:secret@127.0.0.1:1/nothing"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_store_that_cannot_be_used_is_one_clear_line(url: str, workers: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--workers", workers],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "TRAINTRIAGE_STORE_URL": url},
    )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "TRAINTRIAGE_STORE_URL" in line
    assert "secret" not in line


@pytest.mark.long
def test_workers_and_replicas_share_a_store(store_url: str, tmp_path: Path) -> None:
    """Two services of two workers each: a key is answered once, and all write one audit log."""
    with ExitStack() as stack:
        urls = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            urls.append(stack.enter_context(service(tmp_path / name, 2, store_url))[1])

        def post(number: int, path: str, **headers: str) -> httpx2.Response:
            return httpx2.post(f"{urls[number % 2]}{path}", json=REPORT, headers=headers, timeout=PATIENCE)

        with ThreadPoolExecutor(8) as threads:
            keyed = list(threads.map(lambda number: post(number, "/v1/cases", **{"Idempotency-Key": "k"}), range(24)))
            opened = list(threads.map(lambda number: post(number, "/v1/cases"), range(24)))
    assert {answer.status_code for answer in keyed} <= {201, 409}
    assert len({answer.json()["id"] for answer in keyed if answer.status_code == 201}) == 1
    assert {answer.status_code for answer in opened} == {201}

    async def log() -> None:
        async with open_store(store_url) as store:
            found = await store.read(verify)
            assert (found.size, found.problems) == (25, ())

    asyncio.run(log())
