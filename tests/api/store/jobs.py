"""Orders and workers for the tests of jobs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, select

from api.jobs import Handler, Pace, Worker
from api.store import Store
from api.store.jobs import JOBS, Job, claim, counts, enqueue
from api.telemetry import make_logger

FAST = Pace(poll=0.01, pause=0.01, count=0.0)
PATIENCE = 60  # seconds until a test gives up; nothing is measured by it


def order(kind: str = "greet", payload: Mapping[str, Any] | None = None, **more: Any) -> Callable[[Connection], bool]:
    return lambda connection: enqueue(connection, kind, payload or {}, tenant="default", **more)


def take(now: float, attempts: int = 9, most: int = 9) -> Callable[[Connection], list[Job]]:
    def work(connection: Connection) -> list[Job]:
        taken = (claim(connection, ("greet",), now=now, seconds=60, attempts=attempts) for _ in range(most))
        return [job for job in taken if job is not None]

    return work


def rows(connection: Connection) -> list[Any]:
    return list(connection.execute(select(JOBS).order_by(JOBS.c.id)).all())


@asynccontextmanager
async def a_worker(
    store: Store, handlers: Mapping[str, Handler], pace: Pace = FAST, clock: Callable[[], float] = time.time
) -> AsyncIterator[CollectorRegistry]:
    registry = CollectorRegistry()
    worker = Worker(store, handlers, registry, make_logger("error"), pace, clock)
    worker.start()
    try:
        yield registry
    finally:
        await worker.close()


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for knows no events
            await asyncio.sleep(0.01)


async def until_counted(store: Store, **expected: int) -> None:
    """Until the queue is as ``expected``, which is empty by default."""
    async with asyncio.timeout(PATIENCE):
        while await store.read(counts) != {"waiting": 0, "dead": 0, **expected}:  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.01)
