"""Answers kept under the key of the request they belong to, so that a repeated request gets the same answer."""

from __future__ import annotations

import enum
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from api.store.database import Store

KEYS = Table(
    "idempotency_keys",
    MetaData(),
    Column("key", String(128), primary_key=True),
    Column("request_digest", String(64), nullable=False),
    Column("route", Text, nullable=False),
    Column("status", Integer),  # NULL while the request is being answered
    Column("headers", Text),
    Column("body", LargeBinary),
    Column("created", Float, nullable=False),  # seconds since 1970, UTC
    Column("expiry", Float, nullable=False),
)
PURGE_EVERY = 64


@dataclass(frozen=True)
class StoredAnswer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Outcome(enum.Enum):
    """What claiming a key came to."""

    CLAIMED = "the key is new: answer the request, then call keep or release"
    REPLAY = "the same request was answered before"
    IN_FLIGHT = "the same request is being answered"
    OTHER_REQUEST = "the key belongs to another request"


@dataclass(frozen=True)
class Claim:
    """The outcome, with the stored answer if it is a replay."""

    outcome: Outcome
    answer: StoredAnswer | None = None


@dataclass(frozen=True)
class KeyLimits:
    """How many answers are kept, how many bytes of them (compressed), and for how many seconds."""

    keys: int
    size: int
    seconds: float
    in_flight_seconds: float  # after which a claim counts as abandoned, its process having died


class KeyStore:
    """The table of keys; safe for requests in several tasks and processes, since the primary key decides."""

    def __init__(self, store: Store, limits: KeyLimits, clock: Callable[[], float]) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._kept = 0

    async def claim(self, key: str, digest: str, route: str) -> Claim:
        """Take ``key`` for a request, unless it is taken."""
        now = self._clock()
        row = {
            "key": key,
            "request_digest": digest,
            "route": route,
            "created": now,
            "expiry": now + self._limits.in_flight_seconds,
        }

        def work(connection: Connection) -> Claim:
            connection.execute(delete(KEYS).where(KEYS.c.key == key, KEYS.c.expiry <= now))
            try:
                with connection.begin_nested():
                    connection.execute(insert(KEYS).values(row))
            except IntegrityError:
                return _existing(connection, key, digest)
            return Claim(Outcome.CLAIMED)

        return await self._store.run(work)

    async def keep(self, key: str, answer: StoredAnswer) -> None:
        """Store the answer to a claimed key."""
        now = self._clock()
        values = {
            "status": answer.status,
            "headers": json.dumps(dict(answer.headers)),
            "body": zlib.compress(answer.body, level=1),
            "created": now,
            "expiry": now + self._limits.seconds,
        }
        self._kept += 1
        purge = self._kept % PURGE_EVERY == 0

        def work(connection: Connection) -> None:
            connection.execute(update(KEYS).where(KEYS.c.key == key).values(values))
            if purge:
                _purge(connection, now, self._limits)

        await self._store.run(work)

    async def release(self, key: str) -> None:
        """Give up a claimed key: the request failed, and a corrected one may use the key again."""
        await self._store.run(lambda connection: connection.execute(delete(KEYS).where(KEYS.c.key == key)))


def _existing(connection: Connection, key: str, digest: str) -> Claim:
    row = connection.execute(select(KEYS).where(KEYS.c.key == key)).one_or_none()
    if row is None:  # released in this very moment: to be asked again is as right an answer as any
        return Claim(Outcome.IN_FLIGHT)
    if row.request_digest != digest:
        return Claim(Outcome.OTHER_REQUEST)
    if row.status is None:
        return Claim(Outcome.IN_FLIGHT)
    return Claim(Outcome.REPLAY, StoredAnswer(row.status, json.loads(row.headers), zlib.decompress(row.body)))


def _purge(connection: Connection, now: float, limits: KeyLimits) -> None:
    """Delete what has expired, then the oldest answers beyond the limits."""
    connection.execute(delete(KEYS).where(KEYS.c.expiry <= now))
    newest_first = KEYS.c.created.desc()
    ranked = select(
        KEYS.c.key,
        func.row_number().over(order_by=newest_first).label("number"),
        func.sum(func.length(KEYS.c.body)).over(order_by=newest_first).label("size"),
    ).subquery()
    beyond = select(ranked.c.key).where(or_(ranked.c.number > limits.keys, ranked.c.size > limits.size))
    connection.execute(delete(KEYS).where(KEYS.c.status.is_not(None), KEYS.c.key.in_(beyond)))
