"""Workers: a job runs at least once, by one of them at a time, whatever happens to it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe

import pytest
from prometheus_client import CollectorRegistry

from api.jobs import Handler, Worker
from api.store.jobs import DEAD, Job
from api.telemetry import make_logger
from tests.api.postgres import Server
from tests.api.store import processes
from tests.api.store.jobs import FAST, PATIENCE, a_worker, order, rows, take, until, until_counted
from tests.api.store.open_store import open_store


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
