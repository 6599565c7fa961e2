"""SIGKILL while the store is written: what was acknowledged is there afterwards, and whole."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection as Pipe
from typing import Any

import pytest
from sqlalchemy import Connection, select

from api.store.audit_log import verify
from api.store.cases import CASES
from tests.api import postgres
from tests.api.store import processes
from tests.api.store.open_store import open_store
from tests.effort import effort

LONGEST = 0.1  # seconds after the first acknowledgement until the kill


@pytest.fixture(scope="module")
def durable() -> Iterator[postgres.Server]:
    """A server that keeps its promise: fsync is on."""
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian, Ubuntu: apt install postgresql)")
    with postgres.server() as server:
        yield server


def all_of(acknowledged: Pipe) -> list[str]:
    """What arrived before the other end was closed."""
    found = []
    while True:
        try:
            found.append(acknowledged.recv())
        except EOFError:
            return found


def acknowledged_until_kill(url: str, number: int, kill: Any) -> list[str]:
    """The ids that a writer had acknowledged before ``kill(writer)``."""
    ours, its = processes.pipe()
    writer = processes.start(processes.write_cases, url, f"w{number}", its)
    its.close()
    first = ours.recv()
    time.sleep(random.Random(number).uniform(0, LONGEST))
    kill(writer)
    rest = all_of(ours)
    writer.join()
    assert writer.exitcode in (-signal.SIGKILL, 0)  # 0: it was told that its server is gone
    return [first, *rest]


def look(connection: Connection) -> tuple[set[str], list[str]]:
    ids = set(connection.execute(select(CASES.c.id)).scalars())
    return ids, [*processes.torn(connection), *verify(connection).problems]


async def started(url: str) -> None:
    async with open_store(url):
        pass


async def looked_at(url: str) -> tuple[set[str], list[str]]:
    async with open_store(url) as store:
        return await store.read(look)


def check_killed_writers(url: str, kills: int) -> None:
    asyncio.run(started(url))
    acknowledged: list[str] = []
    for number in range(kills):
        acknowledged += acknowledged_until_kill(url, number, lambda writer: writer.kill())
        ids, wrong = asyncio.run(looked_at(url))
        assert not wrong
        assert set(acknowledged) <= ids
        # At most the one transaction that was committed when the writer died is there without acknowledgement.
        assert len(ids) <= len(acknowledged) + number + 1


def check_killed_servers(server: postgres.Server, kills: int) -> None:
    url = server.new_database()
    asyncio.run(started(url))
    acknowledged: list[str] = []
    for number in range(kills):
        acknowledged += acknowledged_until_kill(url, number, lambda _: server.kill())
        server.start()
        ids, wrong = asyncio.run(looked_at(url))
        assert not wrong
        assert set(acknowledged) <= ids


def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Any) -> None:
    check_killed_writers(f"sqlite:///{tmp_path}/store.db", kills=5)


@pytest.mark.postgres
def test_a_killed_client_loses_nothing_acknowledged(durable: postgres.Server) -> None:
    check_killed_writers(durable.new_database(), kills=5)


@pytest.mark.postgres
def test_a_killed_server_loses_nothing_acknowledged(durable: postgres.Server) -> None:
    check_killed_servers(durable, kills=2)


@pytest.mark.long
def test_many_killed_writers(tmp_path: Any) -> None:
    check_killed_writers(f"sqlite:///{tmp_path}/store.db", kills=effort(30, 100))


@pytest.mark.long
@pytest.mark.postgres
def test_many_killed_clients(durable: postgres.Server) -> None:
    check_killed_writers(durable.new_database(), kills=effort(12, 100))


@pytest.mark.long
@pytest.mark.postgres
def test_many_killed_servers(durable: postgres.Server) -> None:
    check_killed_servers(durable, kills=effort(3, 20))
