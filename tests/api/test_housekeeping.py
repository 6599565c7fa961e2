"""What is deleted once a day, and what is kept."""

from __future__ import annotations

import asyncio
import datetime
import time
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, text

from api.app import create_app
from api.housekeeping import DAY, delete_cases, handler, schedule
from api.settings import Settings
from api.store import audit_log, cases, jobs
from api.store.jobs import JOBS
from tests.api.conftest import a_client
from tests.api.fake_engine import SOURCE
from tests.api.store.open_store import open_store

NOW = 1_800_000_000.0


def add(case_id: str, status: str, days: float, tenant: str = "default") -> Any:
    def work(connection: Connection) -> None:
        updated = NOW - days * DAY
        cases.add(connection, cases.Head(case_id, tenant, "x", status, None, 1, updated, updated))
        cases.add_event(connection, case_id, 1, updated, "opened", b"{}")
        cases.add_file(connection, case_id, "0" * 64, [b"log"])
        cases.link(connection, tenant, "slack", case_id, case_id)

    return work


def left(connection: Connection) -> dict[str, int]:
    return {
        table: connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
        for table in ("cases", "case_events", "case_files", "case_links")
    }


def test_resolved_cases_go_with_their_files_after_their_time(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            for case_id, status, days, tenant in (
                ("old", "resolved", 31, "a"),
                ("old-too", "resolved", 400, "b"),
                ("young", "resolved", 29, "a"),
                ("open", "open", 400, "a"),
            ):
                await store.run(add(case_id, status, days, tenant))
            assert await delete_cases(store, NOW - 30 * DAY, lambda: NOW) == 2
            kept = await store.read(lambda c: c.execute(select(cases.CASES.c.id)).scalars().all())
            assert sorted(kept) == ["open", "young"]
            assert set((await store.read(left)).values()) == {2}
            log = await store.read(lambda connection: audit_log.latest(connection, 9))
            assert [(row["subject"], row["tenant"], row["actor"], row["action"]) for row in log] == [
                ("old-too", "b", "service", "case.deleted"),
                ("old", "a", "service", "case.deleted"),
            ]
            assert await delete_cases(store, NOW - 30 * DAY, lambda: NOW) == 0

    asyncio.run(work())


def test_without_a_retention_cases_stay(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(add("old", "resolved", 4000))
            for days, expected in ((None, 1), (30, 0)):
                await handler(store, days, lambda: NOW)(jobs.Job(1, "", "", None, {}, 1, ""))
                assert (await store.read(left))["cases"] == expected

    asyncio.run(work())


@pytest.mark.parametrize("processes", [1, 3])
def test_it_is_ordered_once_a_day_however_many_start(store_url: str, processes: int) -> None:
    now = time.time()

    async def work() -> None:
        async with open_store(store_url) as store:
            for clock in (now, now, now + DAY):
                for _ in range(processes):
                    await schedule(store, lambda clock=clock: clock)
            keys = await store.read(lambda c: c.execute(select(JOBS.c.key).order_by(JOBS.c.key)).scalars().all())
            today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
            assert keys == [f"housekeeping {today + datetime.timedelta(days=n)}" for n in range(2)]

    asyncio.run(work())


def test_it_orders_the_next_day_and_forgets_old_jobs(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(lambda connection: jobs.enqueue(connection, "x", {}, tenant="default", key="x"))
            for age, expected in ((29, 1), (31, 0)):
                now = time.time() + age * DAY
                job = await store.run(lambda c: jobs.claim(c, ["x"], now=time.time(), seconds=1, attempts=9))
                if job is not None:
                    await store.run(lambda connection, job=job: jobs.finish(connection, job))
                await handler(store, None, lambda now=now: now)(jobs.Job(1, "", "", None, {}, 1, ""))
                count = select(func.count()).where(JOBS.c.key == "x")
                assert await store.read(lambda c, count=count: c.execute(count).scalar_one()) == expected
                (due,) = await store.read(
                    lambda c: (
                        c.execute(select(JOBS.c.due).where(JOBS.c.kind == "housekeeping").limit(1)).scalars().all()
                    )
                )
                assert due > time.time() + 0.9 * DAY

    asyncio.run(work())


def test_a_service_that_starts_does_it(store_url: str) -> None:
    async def before() -> None:
        async with open_store(store_url) as store:
            await store.run(add("old", "resolved", 4000))

    asyncio.run(before())
    settings = Settings(store_url=store_url, retention_days=1, log_level="error")
    with a_client(create_app(settings, source=SOURCE)) as client:
        end = time.monotonic() + 60
        while client.get("/v1/cases").json()["items"]:
            assert time.monotonic() < end
            time.sleep(0.05)
