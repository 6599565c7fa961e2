"""Jobs: ordered with a transaction, taken by one worker at a time, forgotten in the end."""

from __future__ import annotations

import asyncio
import time

import pytest
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from api.store.jobs import DEAD, any_due, finish, forget
from tests.api.postgres import Server
from tests.api.store.jobs import PATIENCE, order, rows, take
from tests.api.store.open_store import open_store


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
