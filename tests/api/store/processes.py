"""Processes of the tests that use a store: forked from one that has everything imported, so that they start fast."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import secrets
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from typing import Any

from sqlalchemy import Connection, text

from api.store import Store, StoreError, cases, jobs
from api.store.audit_log import record

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.api.store.processes", "asyncpg"])


def start(target: Callable[..., None], *arguments: Any) -> Any:
    """A started process that runs ``target``."""
    process = _PROCESSES.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def pipe() -> tuple[Pipe, Pipe]:
    """The end to read from, and the end for the process."""
    return _PROCESSES.Pipe(duplex=False)


def count_up(url: str, times: int) -> None:
    """Read a number and write the next, ``times`` times."""

    def step(connection: Connection) -> None:
        # PostgreSQL: the update, not what was read before, decides.
        connection.execute(text("SELECT n FROM numbers")).all()
        connection.execute(text("UPDATE numbers SET n = n + 1"))

    async def work() -> None:
        store = Store(url)
        for _ in range(times):
            await store.run(step)
        await store.close()

    asyncio.run(work())


def write_cases(url: str, name: str, acknowledged: Pipe) -> None:
    """Write one case after the other, each with all that belongs to it; send its id once that is acknowledged."""

    async def work() -> None:
        store = Store(url)
        for number in itertools.count():
            case_id = f"{name}-{number}"
            await store.run(lambda connection, case_id=case_id: write_case(connection, case_id))
            acknowledged.send(case_id)

    try:
        asyncio.run(work())
    except StoreError:
        acknowledged.close()  # the server was killed


def write_case(connection: Connection, case_id: str) -> None:
    """Everything that a change writes, in one transaction."""
    now = time.time()
    cases.add(connection, cases.Head(case_id, "default", "x", "open", None, 1, now, now))
    cases.add_event(connection, case_id, 1, now, "opened", b"{}" * 1000)
    cases.add_file(connection, case_id, "0" * 64, [secrets.token_bytes(64 * 1024)])
    jobs.enqueue(connection, "tell", {"case": case_id}, tenant="default", key=case_id)
    record(connection, at=now, tenant="default", actor="local", action="case.opened", subject=case_id, data={"seq": 1})


def torn(connection: Connection) -> list[str]:
    """What is not as whole as transactions are; empty if all is well."""
    counted = {
        table: connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
        for table in ("cases", "case_events", "case_files", "jobs", "audit_log")
    }
    wrong = [] if len(set(counted.values())) == 1 else [f"some transactions are there in part: {counted}"]
    if connection.dialect.name == "sqlite":
        wrong += [row for row in connection.execute(text("PRAGMA integrity_check")).scalars() if row != "ok"]
    return wrong
