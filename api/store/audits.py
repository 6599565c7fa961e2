"""Audits kept under their ids, so that a result can be looked at after the request that made it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Column, Float, LargeBinary, MetaData, String, Table, delete, func, insert, or_, select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from api.store.database import Store
    from engine.model.base import Lang

AUDITS = Table(
    "audits",
    MetaData(),
    Column("id", String(32), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("created", Float, nullable=False),  # seconds since 1970, UTC
    Column("en", LargeBinary, nullable=False),
    Column("zh", LargeBinary, nullable=False),
)


@dataclass(frozen=True)
class AuditLimits:
    """How many audits of a tenant are kept, and how many bytes of them (compressed)."""

    count: int
    size: int


class AuditStore:
    """The table of audits; of each tenant the oldest go first."""

    def __init__(self, store: Store, limits: AuditLimits, clock: Callable[[], float]) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock

    async def keep(self, tenant: str, audit_id: str, texts: Mapping[Lang, bytes]) -> None:
        """Store an audit of ``tenant``, JSON by language."""
        row = {"id": audit_id, "tenant": tenant, "created": self._clock()}
        packed = {lang: zlib.compress(text, level=1) for lang, text in texts.items()}

        def work(connection: Connection) -> None:
            connection.execute(insert(AUDITS).values({**row, **packed}))
            _purge(connection, tenant, self._limits)

        await self._store.run(work)

    async def get(self, tenant: str, audit_id: str, lang: Lang) -> bytes | None:
        """The JSON of an audit of ``tenant``; None if it is not, or no longer, kept."""
        query = select(AUDITS.c[lang]).where(AUDITS.c.id == audit_id, AUDITS.c.tenant == tenant)
        packed = await self._store.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return None if packed is None else zlib.decompress(packed)


def _purge(connection: Connection, tenant: str, limits: AuditLimits) -> None:
    newest_first = AUDITS.c.created.desc()
    sizes = func.length(AUDITS.c.en) + func.length(AUDITS.c.zh)
    ranked = (
        select(
            AUDITS.c.id,
            func.row_number().over(order_by=newest_first).label("number"),
            func.sum(sizes).over(order_by=newest_first).label("size"),
        )
        .where(AUDITS.c.tenant == tenant)
        .subquery()
    )
    # The newest stays whatever its size: its request is being answered with it.
    beyond = or_(ranked.c.number > limits.count, (ranked.c.size > limits.size) & (ranked.c.number > 1))
    connection.execute(delete(AUDITS).where(AUDITS.c.id.in_(select(ranked.c.id).where(beyond))))
