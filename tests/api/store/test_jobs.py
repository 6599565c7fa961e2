"""Jobs: ordered with a transaction, run at least once, by one worker at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, select
from sqlalchemy.util import await_only

from api.jobs import Handler, Pace, Worker
from api.store import Store
from api.store.jobs import DEAD, JOBS, Job, any_due, claim, counts, enqueue, finish, forget
from api.telemetry import make_logger
from tests.api.postgres import Server
from tests.api.store import processes
from tests.api.store.open_store import open_store

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


def test_a_job_is_there_exactly_if_its_transaction_is(store_url: str) -> None:
    def order_and_fail(connection: Connection) -> None:
        order(payload={"n": 1})(connection)
        raise KeyError

    async def work() -> None:
        async with open_store(store_url) as store:
            with pytest.raises(KeyError):
                await store.run(order_and_fail)
            assert await store.run(order(payload={"n": 2, "text": "字"}))
            (job,) = await store.run(take(time.time()))
            assert (job.kind, job.tenant, job.payload, job.attempts) == ("greet", "default", {"n": 2, "text": "字"}, 1)

    asyncio.run(work())


def test_a_key_is_taken_once_also_after_the_job_is_done(store_url: str) -> None:
    def twice(connection: Connection) -> list[bool]:
        return [order(key="k", payload={"n": n})(connection) for n in (1, 2)]

    async def work() -> None:
        async with open_store(store_url) as store:
            assert await store.run(twice) == [True, False]
            assert await store.run(order(key="other"))
            for job in await store.run(take(time.time())):
                await store.run(lambda connection, job=job: finish(connection, job))
            assert not await store.run(order(key="k"))
            assert [row.payload for row in await store.read(rows)] == ["{}", "{}"]
            assert await store.run(lambda connection: forget(connection, before=time.time() + 1)) == 2
            assert await store.run(order(key="k"))

    asyncio.run(work())


@pytest.mark.parametrize("key", ["k" * 1000, "a\0b", "\ud800", '{}:{alertname="GPU"}\n'])
def test_any_text_is_a_key(store_url: str, key: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            assert [await store.run(order(key=each)) for each in (key, key, key + "x")] == [True, False, True]

    asyncio.run(work())


def test_fifty_orders_of_one_key_at_once_make_one_job(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            ordered = await asyncio.gather(*(store.run(order(key="k")) for _ in range(50)))
            assert sorted(ordered) == [False] * 49 + [True]

    asyncio.run(work())


def test_jobs_run_in_the_order_in_which_they_are_due_and_not_before(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            for payload, after in ((1, 5.0), (2, 0.0), (3, 0.0)):
                await store.run(order(payload={"n": payload}, after=after))
            now = time.time()
            assert not await store.read(lambda connection: any_due(connection, ("other",), now))
            assert await store.read(lambda connection: any_due(connection, ("greet",), now))
            assert [job.payload["n"] for job in await store.run(take(now))] == [2, 3]
            assert await store.run(take(now)) == []
            assert [job.payload["n"] for job in await store.run(take(now + 6))] == [1]

    asyncio.run(work())


def test_a_job_is_taken_again_when_its_lease_is_over(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order())
            now = time.time()
            (first,) = await store.run(take(now))
            assert await store.run(take(now + 59)) == []
            (second,) = await store.run(take(now + 61))
            assert (first.id, first.attempts, second.attempts) == (second.id, 1, 2)
            await store.run(lambda connection: finish(connection, first))  # it comes too late
            assert len(await store.read(rows)) == 1
            await store.run(lambda connection: finish(connection, second))
            assert await store.read(rows) == []

    asyncio.run(work())


def test_a_job_that_ends_its_process_each_time_is_not_run_for_ever(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order())
            runs = [await store.run(take(time.time() + 100 * number, attempts=3)) for number in range(5)]
            assert [len(taken) for taken in runs] == [1, 1, 1, 0, 0]
            (row,) = await store.read(rows)
            assert (row.state, row.error) == (DEAD, "its process ended in the middle of it")

    asyncio.run(work())


@pytest.mark.postgres
def test_a_worker_passes_over_what_another_is_taking(postgresql: Server, migrated: str) -> None:
    url = postgresql.new_database(migrated)

    async def work() -> None:
        async with open_store(url) as store, open_store(url) as other:
            for number in range(2):
                await store.run(order(payload={"n": number}))
            both = asyncio.Barrier(2)

            def take_one(connection: Connection) -> int:
                (job,) = take(time.time(), most=1)(connection)
                await_only(both.wait())  # neither commits before both have taken a job
                return int(job.payload["n"])

            async with asyncio.timeout(PATIENCE):
                assert sorted(await asyncio.gather(store.run(take_one), other.run(take_one))) == [0, 1]

    asyncio.run(work())


def test_workers_share_the_jobs_and_each_job_runs_once(store_url: str) -> None:
    done: list[tuple[str, int]] = []

    def worker_named(name: str) -> Handler:
        async def handle(job: Job) -> None:
            await asyncio.sleep(0.001)
            done.append((name, job.payload["n"]))

        return handle

    async def work() -> None:
        async with open_store(store_url) as store, open_store(store_url) as other:
            for number in range(40):
                await store.run(order(payload={"n": number}))
            async with (
                a_worker(store, {"greet": worker_named("a")}) as registry,
                a_worker(other, {"greet": worker_named("b")}) as beside,
            ):
                await until_counted(store)
                await until(lambda: registry.get_sample_value("traintriage_jobs", {"state": "waiting"}) == 0)
            runs = [
                r.get_sample_value("traintriage_job_runs_total", {"kind": "greet", "outcome": "done"}) or 0
                for r in (registry, beside)
            ]
            assert sum(runs) == 40

    asyncio.run(work())
    assert sorted(number for _, number in done) == list(range(40))
    assert {name for name, _ in done} == {"a", "b"}


def test_jobs_of_one_kind_do_not_hold_up_the_others(store_url: str) -> None:
    started: list[str] = []

    async def hang(job: Job) -> None:
        started.append(job.kind)
        await asyncio.sleep(PATIENCE)

    async def handle(job: Job) -> None:
        started.append(job.kind)

    async def work() -> None:
        async with open_store(store_url) as store:
            for _ in range(9):
                await store.run(order("slow"))
            await store.run(order("greet"))
            async with a_worker(store, {"slow": hang, "greet": handle}, replace(FAST, at_once=4, of_a_kind=2)):
                await until(lambda: "greet" in started)
            assert started == ["slow", "slow", "greet"]

    asyncio.run(work())


def test_a_failed_job_is_tried_again_after_growing_pauses_and_then_dead(store_url: str) -> None:
    pace = replace(FAST, attempts=4, pause=100.0, longest_pause=200.0)
    clock = [time.time() + 1]
    tries: list[float] = []

    async def handle(_: Job) -> None:
        tries.append(clock[0])
        raise ValueError("no such channel")

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order())
            async with a_worker(store, {"greet": handle}, pace, lambda: clock[0]) as registry:

                def value(name: str, **labels: str) -> float | None:
                    return registry.get_sample_value(name, labels)

                for number in range(1, 5):
                    await until(lambda number=number: len(tries) == number)
                    if number < 4:
                        (row,) = [None]
                        while row is None or row.lease is not None:
                            (row,) = await store.read(rows)
                        longest = min(100.0 * 2 ** (number - 1), 200.0)
                        assert longest / 2 <= row.due - clock[0] <= longest
                        clock[0] = row.due
                await until(lambda: value("traintriage_jobs", state="dead") == 1)
                assert value("traintriage_job_runs_total", kind="greet", outcome="failed") == 3
                assert value("traintriage_job_runs_total", kind="greet", outcome="dead") == 1
            (row,) = await store.read(rows)
            assert (row.state, row.attempts, row.error) == (DEAD, 4, "ValueError: no such channel")

    asyncio.run(work())


def test_a_handler_that_takes_too_long_is_ended(store_url: str) -> None:
    async def handle(_: Job) -> None:
        await asyncio.sleep(PATIENCE)

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order())
            async with a_worker(store, {"greet": handle}, replace(FAST, run=0.05, attempts=1)):
                await until_counted(store, dead=1)
            (row,) = await store.read(rows)
            assert row.error.startswith("TimeoutError")

    asyncio.run(work())


def test_a_handler_that_is_cancelled_from_within_counts_as_failed(store_url: str) -> None:
    async def handle(_: Job) -> None:
        raise asyncio.CancelledError

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order())
            async with a_worker(store, {"greet": handle}, replace(FAST, attempts=2)):
                await until_counted(store, dead=1)

    asyncio.run(work())


def test_a_worker_that_stops_hands_its_jobs_back(store_url: str) -> None:
    started: list[int] = []
    done: list[int] = []

    async def hang(job: Job) -> None:
        started.append(job.id)
        await asyncio.sleep(PATIENCE)

    async def handle(job: Job) -> None:
        done.append(job.attempts)

    async def work() -> None:
        async with open_store(store_url) as store:
            for _ in range(3):
                await store.run(order())
            async with a_worker(store, {"greet": hang}):
                await until(lambda: len(started) == 3)
            assert [(row.attempts, row.lease, row.state) for row in await store.read(rows)] == [
                (0, None, "waiting")
            ] * 3
            async with a_worker(store, {"greet": handle}):
                await until_counted(store)

    asyncio.run(work())
    assert done == [1, 1, 1]


def test_a_job_nobody_here_can_do_waits_for_somebody_else(store_url: str) -> None:
    done: list[str] = []
    handlers: dict[str, Handler] = {}

    async def handle(job: Job) -> None:
        done.append(job.kind)

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order("unknown"))
            await store.run(order("greet"))
            async with a_worker(store, handlers):
                handlers["greet"] = handle
                await until(lambda: done == ["greet"])
                handlers["unknown"] = handle
                await until_counted(store)

    asyncio.run(work())


def test_a_job_that_is_being_run_belongs_to_its_worker_however_long_it_takes(store_url: str) -> None:
    clock = [time.time() + 1]
    pace = replace(FAST, lease=20.0, renew=0.02)

    async def hang(_: Job) -> None:
        await asyncio.sleep(PATIENCE)

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(order())
            async with a_worker(store, {"greet": hang}, pace, lambda: clock[0]):
                for _ in range(3):
                    (row,) = [None]
                    while row is None or row.due != clock[0] + pace.lease:
                        await asyncio.sleep(0.01)
                        (row,) = await store.read(rows)
                    assert row.attempts == 1
                    clock[0] += 0.9 * pace.lease
                    assert not await store.run(take(clock[0]))

    asyncio.run(work())


def hang_in_a_job(url: str, started: Pipe) -> None:
    """What the process that is killed does."""

    async def hang(job: Job) -> None:
        started.send(job.attempts)
        await asyncio.sleep(PATIENCE)

    async def work() -> None:
        async with open_store(url) as store, a_worker(store, {"greet": hang}, replace(FAST, lease=1.0, renew=0.1)):
            await asyncio.sleep(PATIENCE)

    asyncio.run(work())


def test_the_job_of_a_killed_process_runs_again(store_url: str) -> None:
    async def ordered() -> None:
        async with open_store(store_url) as store:
            await store.run(order())

    asyncio.run(ordered())
    ours, its = processes.pipe()
    process = processes.start(hang_in_a_job, store_url, its)
    assert ours.recv() == 1
    process.kill()
    process.join()
    attempts: list[int] = []

    async def handle(job: Job) -> None:
        attempts.append(job.attempts)

    async def work() -> None:
        async with open_store(store_url) as store, a_worker(store, {"greet": handle}):
            await until_counted(store)

    asyncio.run(work())
    assert attempts == [2]


@pytest.mark.postgres
def test_a_worker_outlives_its_server(postgresql: Server, migrated: str) -> None:
    url = postgresql.new_database(migrated)
    done: list[int] = []

    async def handle(job: Job) -> None:
        done.append(job.id)

    async def work() -> None:
        async with open_store(url) as store, a_worker(store, {"greet": handle}):
            await store.run(order())
            await until(lambda: len(done) == 1)
            await asyncio.to_thread(postgresql.stop)
            await asyncio.sleep(0.1)
            await asyncio.to_thread(postgresql.start)
            await store.run(order())
            await until(lambda: len(done) == 2)

    asyncio.run(work())


def test_a_woken_worker_does_not_wait_for_its_next_look(store_url: str) -> None:
    done: list[int] = []

    async def handle(job: Job) -> None:
        done.append(job.id)

    async def work() -> None:
        async with open_store(store_url) as store:
            worker = Worker(
                store, {"greet": handle}, CollectorRegistry(), make_logger("error"), replace(FAST, poll=PATIENCE * 2)
            )
            worker.start()
            await asyncio.sleep(0.1)
            await store.run(order())
            worker.wake()
            await until(lambda: done)
            await worker.close()

    asyncio.run(work())
