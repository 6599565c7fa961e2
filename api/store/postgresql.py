"""PostgreSQL: for a service of several replicas, by SQLAlchemy's asynchronous engine on asyncpg."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from api.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection

T = TypeVar("T")
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 60
MIGRATION_SECONDS = 300
SESSION = {
    "application_name": "traintriage",
    "lock_timeout": "10s",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{STATEMENT_SECONDS}s",
}
POOL = 10  # connections of one process; a server has 100 by default
MIGRATING = 7_426_001  # the number of the lock has no meaning; all processes of a database use the same


class PostgreSQL:
    """The database of a ``postgresql://`` URL."""

    def __init__(self, url: URL) -> None:
        if find_spec("asyncpg") is None:
            raise StoreError("PostgreSQL needs asyncpg: pip install 'traintriage[postgres]'")
        self.place = url.set(query={}).render_as_string(hide_password=True)
        self._engine = create_async_engine(
            url.set(drivername="postgresql+asyncpg"),
            connect_args={"timeout": CONNECT_SECONDS, "server_settings": SESSION},
            pool_size=POOL,
            max_overflow=0,
            pool_timeout=10,
            pool_pre_ping=True,  # the server may have been started anew since
        )

    def exists(self) -> bool:
        """Whether there may be one; the server tells when it is used."""
        return True

    async def migrate(self, upgrade: Callable[[Connection], None]) -> None:
        """Run ``upgrade`` in a transaction; a second process waits, and then finds nothing left to do."""

        def alone(connection: Connection) -> None:
            for name in ("lock_timeout", "statement_timeout"):
                connection.execute(text(f"SET LOCAL {name} = '{MIGRATION_SECONDS}s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATING})
            upgrade(connection)

        await self.write(alone)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work`` in a transaction."""
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work``, which only reads, on one state of the data."""
        async with self._engine.connect() as plain:
            reading = await plain.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            async with reading.begin():
                return await reading.run_sync(work)

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()
