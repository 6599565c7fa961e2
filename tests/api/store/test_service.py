"""The service as processes on one store."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from api.serve import run
from api.settings import SettingsError
from api.store.audit_log import verify
from tests.api.conftest import REPORT
from tests.api.store.open_store import open_store
from tests.api.test_serve import PATIENCE, service


@pytest.mark.parametrize("url", ["sqlite:////proc/nothing/store.db", "postgresql://user:secret@127.0.0.1:1/nothing"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_that_cannot_be_used_is_said_before_anything_starts(url: str, workers: int) -> None:
    with pytest.raises(SettingsError, match=r"^TRAINTRIAGE_STORE_URL: .*(folder|server)") as raised:
        run(port=0, workers=workers, store_url=url)
    assert "secret" not in str(raised.value)


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
