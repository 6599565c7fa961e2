"""Jobs: work ordered in a transaction and done after it, at least once, by whichever process gets to it first."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection

WAITING, DONE, DEAD = "waiting", "done", "dead"
KEY_LENGTH = 400
JOBS = Table(
    "jobs",
    MetaData(),
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("tenant", String(64), nullable=False),
    Column("key", String(KEY_LENGTH), unique=True),
    Column("payload", Text, nullable=False),  # JSON
    Column("state", String(8), nullable=False),
    Column("created", Float, nullable=False),  # seconds since 1970, UTC
    Column("due", Float, nullable=False),  # while a worker has the job: when its lease ends
    Column("attempts", Integer, nullable=False),
    Column("lease", String(32)),
    Column("error", Text),
)


@dataclass(frozen=True)
class Job:
    """A job that a worker has. ``attempts`` is 1 in the first run; ``lease`` tells this run from others."""

    id: int
    kind: str
    tenant: str
    key: str | None
    payload: Mapping[str, Any]
    attempts: int
    lease: str


def enqueue(
    connection: Connection,
    kind: str,
    payload: Mapping[str, Any],
    *,
    tenant: str,
    after: float = 0.0,
    key: str | None = None,
) -> bool:
    """Order a job in the caller's transaction: it exists if and only if the transaction commits.

    Args:
        kind: names the handler.
        payload: JSON values.
        after: seconds from now before which it does not run.
        key: any text; a second order with the same key does nothing, also after the job is done.

    Returns:
        Whether the job was ordered; False if its key was taken.
    """
    now = time.time()
    row = {
        "kind": kind,
        "tenant": tenant,
        "key": None if key is None else _short(key),
        "payload": json.dumps(dict(payload), separators=(",", ":")),
        "state": WAITING,
        "created": now,
        "due": now + after,
        "attempts": 0,
    }
    try:
        with connection.begin_nested():
            connection.execute(insert(JOBS).values(row))
    except IntegrityError:
        if key is None:
            raise
        return False
    return True


def claim(connection: Connection, kinds: Collection[str], *, now: float, seconds: float, attempts: int) -> Job | None:
    """Take the first due job for ``seconds``; those that never ended in ``attempts`` runs become dead.

    A run that ends a process is counted like one that fails, or it would end one process after the other.
    """
    # PostgreSQL passes over the rows that another worker is taking just now; SQLite has one writer at a time.
    due = (
        select(JOBS)
        .where(JOBS.c.state == WAITING, JOBS.c.due <= now, JOBS.c.kind.in_(kinds))
        .order_by(JOBS.c.due, JOBS.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    while (row := connection.execute(due).first()) is not None:
        if row.attempts >= attempts:
            _change(connection, row.id, state=DEAD, error=row.error or "its process ended in the middle of it")
            continue
        lease = uuid.uuid4().hex
        _change(connection, row.id, due=now + seconds, attempts=row.attempts + 1, lease=lease)
        return Job(row.id, row.kind, row.tenant, row.key, json.loads(row.payload), row.attempts + 1, lease)
    return None


def any_due(connection: Connection, kinds: Collection[str], now: float) -> bool:
    """Whether :func:`claim` would find a job; needs no lock."""
    query = select(JOBS.c.id).where(JOBS.c.state == WAITING, JOBS.c.due <= now, JOBS.c.kind.in_(kinds)).limit(1)
    return connection.execute(query).first() is not None


def renew(connection: Connection, leases: Collection[str], until: float) -> None:
    """The jobs with these leases, which are being run, belong to their worker until then."""
    connection.execute(update(JOBS).where(JOBS.c.state == WAITING, JOBS.c.lease.in_(leases)).values(due=until))


def finish(connection: Connection, job: Job) -> None:
    """The job is done. If it has a key, that stays taken; its payload goes."""
    if job.key is None:
        connection.execute(delete(JOBS).where(*_held(job)))
    else:
        connection.execute(update(JOBS).where(*_held(job)).values(state=DONE, payload="{}", lease=None))


def postpone(connection: Connection, job: Job, *, due: float, error: str) -> None:
    """The run failed: the job runs again at ``due``."""
    connection.execute(update(JOBS).where(*_held(job)).values(due=due, error=error, lease=None))


def hand_back(connection: Connection, job: Job, *, due: float) -> None:
    """The run was cut short by no fault of the job: it runs again at ``due``, and this run does not count."""
    values = {"due": due, "attempts": job.attempts - 1, "lease": None}
    connection.execute(update(JOBS).where(*_held(job)).values(values))


def bury(connection: Connection, job: Job, *, error: str) -> None:
    """The job failed too often: it is kept, and not run again."""
    connection.execute(update(JOBS).where(*_held(job)).values(state=DEAD, error=error, lease=None))


def counts(connection: Connection) -> dict[str, int]:
    """Number of jobs that wait or run, and of dead ones."""
    query = select(JOBS.c.state, func.count().label("number")).where(JOBS.c.state != DONE).group_by(JOBS.c.state)
    return {WAITING: 0, DEAD: 0} | {row.state: row.number for row in connection.execute(query)}


def forget(connection: Connection, before: float) -> int:
    """Delete what is left of jobs that were done or dead and ordered before a time; how many there were."""
    ended = delete(JOBS).where(JOBS.c.state.in_((DONE, DEAD)), JOBS.c.created < before)
    return connection.execute(ended).rowcount


def _short(key: str) -> str:
    """The key itself if the column takes it, else its digest."""
    if len(key) <= KEY_LENGTH and key.isprintable():
        return key
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _change(connection: Connection, job_id: int, **values: Any) -> None:
    connection.execute(update(JOBS).where(JOBS.c.id == job_id).values(**values))


def _held(job: Job) -> tuple[Any, ...]:
    """The job, as long as nobody else has taken it because its lease was over."""
    return JOBS.c.id == job.id, JOBS.c.lease == job.lease
