"""Once a day, by one of all processes: delete resolved cases that are old enough, and what is left of old jobs."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from api.store import audit_log, jobs
from api.store.cases import CASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from api.jobs import Handler
    from api.store import Store
    from api.store.jobs import Job

KIND = "housekeeping"
ACTOR = "service"  # who deletes, in the audit log
DAY = 86_400.0
JOB_DAYS = 30  # how long the keys of jobs that are done stay taken, and dead jobs are kept
BATCH = 100  # cases looked up at a time


async def schedule(store: Store, clock: Callable[[], float], days: float = 0) -> None:
    """Order the work of the day that is ``days`` from now, unless somebody has."""
    date = datetime.datetime.fromtimestamp(clock() + days * DAY, datetime.UTC).date()
    await store.run(
        lambda connection: jobs.enqueue(
            connection, KIND, {}, tenant="default", after=days * DAY, key=f"{KIND} {date.isoformat()}"
        )
    )


def handler(store: Store, retention_days: int | None, clock: Callable[[], float]) -> Handler:
    """What runs the job. Cases of no tenant are kept longer than ``retention_days``, if that is given."""

    async def run(_: Job) -> None:
        await schedule(store, clock, days=1)
        await store.run(lambda connection: jobs.forget(connection, clock() - JOB_DAYS * DAY))
        if retention_days is not None:
            await delete_cases(store, clock() - retention_days * DAY, clock)

    return run


async def delete_cases(store: Store, before: float, clock: Callable[[], float]) -> int:
    """Delete cases that are resolved and were last changed before a time; how many there were.

    Their events, rankings, files and links go with them; their rows in the audit log stay.
    """
    old = (CASES.c.status == "resolved", CASES.c.updated < before)
    query = select(CASES.c.id, CASES.c.tenant).where(*old).order_by(CASES.c.updated).limit(BATCH)
    deleted = 0
    while found := await store.read(lambda connection: connection.execute(query).all()):
        for case_id, tenant in found:

            def work(connection: Connection, case_id: str = case_id, tenant: str = tenant) -> int:
                # It may have been opened again since it was looked up.
                gone = connection.execute(delete(CASES).where(CASES.c.id == case_id, *old)).rowcount
                if gone:
                    audit_log.record(
                        connection,
                        at=clock(),
                        tenant=tenant,
                        actor=ACTOR,
                        action="case.deleted",
                        subject=case_id,
                        data={"because": "retention"},
                    )
                return gone

            deleted += await store.run(work)
    return deleted
