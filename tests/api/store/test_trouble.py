"""A store that is full or away: the answer says so, nothing is torn, and it goes on when the trouble is over."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from api.store import Store, StoreError
from api.store.audit_log import verify
from tests.api.conftest import REPORT, a_client
from tests.api.fake_engine import SOURCE
from tests.api.postgres import NOBODY, Server
from tests.api.store import processes
from tests.api.store.open_store import open_store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 12 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small disk")
    tmp_path.chmod(0o755)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """A file that leaves no room."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            return filler


def diagnose(client: TestClient) -> tuple[int, str]:
    """Status and kind of the answer to a request that is kept."""
    report = {**REPORT, "log": [secrets.token_hex(2000)]}
    answer = client.post("/v1/diagnoses", json=report, headers={"Idempotency-Key": secrets.token_hex(8)})
    return answer.status_code, answer.json().get("type", "")


async def write_until_refused(store: Store) -> tuple[int, StoreError]:
    """How many cases were acknowledged, and what was said then."""
    for number in range(1000):
        try:
            await store.run(lambda connection, number=number: processes.write_case(connection, f"case-{number}"))
        except StoreError as error:
            return number, error
    raise AssertionError


def test_a_full_disk(small_disk: Path) -> None:
    url = f"sqlite:///{small_disk}/store.db"
    with a_client(create_app(Settings(store_url=url, log_level="error"), source=SOURCE)) as client:
        assert diagnose(client) == (200, "")
        filler = fill(small_disk)
        assert diagnose(client) == (507, "/problems/store-full")
        filler.unlink()
        assert diagnose(client) == (200, "")


def test_a_disk_that_fills_up_while_cases_are_written(small_disk: Path) -> None:
    async def work() -> int:
        (small_disk / "ballast").write_bytes(bytes(8 << 20))
        async with open_store(f"sqlite:///{small_disk}/store.db") as store:
            written, error = await write_until_refused(store)
            assert (str(error), error.kind.status) == ("the disk is full", 507)
            assert not await store.read(processes.torn)
            found = await store.read(verify)
            assert found.size == written
            assert not found.problems
            return written

    assert asyncio.run(work()) > 10


@pytest.mark.postgres
def test_a_full_disk_of_the_server(small_disk: Path, postgresql: Server, migrated: str) -> None:
    space = small_disk / "space"
    space.mkdir()
    os.chown(space, NOBODY, NOBODY)
    for folder in small_disk.relative_to("/").parents:
        (Path("/") / folder).chmod(0o755)
    postgresql.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
    url = postgresql.new_database(migrated, "TABLESPACE small")

    async def work() -> None:
        async with open_store(url) as store:
            await store.run(lambda connection: processes.write_case(connection, "case-first"))
            filler = fill(small_disk)
            _, error = await write_until_refused(store)
            assert (str(error), error.kind.status) == ("the disk of the server is full", 507)
            filler.unlink()
            await store.run(lambda connection: processes.write_case(connection, "case-last"))
            assert not await store.read(processes.torn)
            assert not (await store.read(verify)).problems

    asyncio.run(work())
    postgresql.drop(url)
    postgresql.execute("DROP TABLESPACE small")


@pytest.mark.postgres
def test_a_server_that_is_away(postgresql: Server, migrated: str) -> None:
    settings = Settings(store_url=postgresql.new_database(migrated), log_level="error")
    with a_client(create_app(settings, source=SOURCE)) as client:
        assert diagnose(client) == (200, "")
        postgresql.stop()
        try:
            assert diagnose(client) == (503, "/problems/store-unavailable")
            assert client.get("/readyz").json()["type"] == "/problems/not-ready"
            assert client.get("/healthz").status_code == 200
        finally:
            postgresql.start()
        assert diagnose(client) == (200, "")


def test_the_log_says_what_the_answer_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("api.store.sqlite.BUSY_SECONDS", 0.1)
    with a_client(create_app(Settings(store_url=f"sqlite:///{tmp_path}/store.db"), source=SOURCE)) as client:
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answer = client.post("/v1/diagnoses", json=REPORT, headers={"Idempotency-Key": "a"})
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/store-unavailable")
        assert "lock" not in answer.text
        assert "held the lock for too long" in capfd.readouterr().err
