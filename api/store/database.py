"""The store: SQLite in a file, or PostgreSQL; migrated at the start, used in transactions off the event loop."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import make_url, text
from sqlalchemy.exc import ArgumentError

from api.store.errors import StoreError, may_be_retried, store_error
from api.store.sqlite import SQLite

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy import Connection

T = TypeVar("T")
MIGRATIONS = Path(__file__).parent / "migrations"
TRIES = 6  # of a transaction that others got in the way of
RETRY_SECONDS = 0.01  # doubles with each try


class Database(Protocol):
    """What differs between the two databases."""

    place: str  # for people; without the password

    def exists(self) -> bool: ...
    async def migrate(self, upgrade: Callable[[Connection], None]) -> None: ...
    async def write(self, work: Callable[[Connection], T]) -> T: ...
    async def read(self, work: Callable[[Connection], T]) -> T: ...
    async def close(self) -> None: ...


class Store:
    """Runs work on the database, each piece in a transaction of its own; whatever it raises rolls that back.

    Work is a plain function of a connection. It may run more than once, so it changes nothing but the database.
    Everything here raises :class:`StoreError` if the database cannot be used now.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):
            raise StoreError("the URL of the store cannot be read; in a password, write @ : / as %40 %3A %2F") from None
        self._database: Database
        if parsed.get_backend_name() == "postgresql":
            from api.store.postgresql import PostgreSQL

            self._database = PostgreSQL(parsed)
        else:
            self._database = SQLite(parsed)

    @property
    def place(self) -> str:
        """Where the data is, without the password."""
        return self._database.place

    async def start(self) -> None:
        """Bring the tables to the newest form; safe if several processes start at once."""
        await _told(lambda: self._database.migrate(_upgrade))

    async def open(self) -> None:
        """Use a store that is there already, as tools beside the service do; nothing is made or changed.

        Raises:
            StoreError: if there is none, or its tables are of another version.
        """
        if not self._database.exists():
            raise StoreError(f"there is no store at {self.place}")
        current = await self.read(lambda connection: MigrationContext.configure(connection).get_current_revision())
        newest = ScriptDirectory.from_config(_config()).get_current_head()
        if current != newest:
            stand = f"at revision {current}" if current else "empty"
            raise StoreError(f"the store is {stand}, this version needs revision {newest}: start the service once")

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work``; once this returns, what it wrote is on the disk.

        SQLite lets one transaction write at a time. PostgreSQL lets them overlap (READ COMMITTED): what is read may
        have changed when it is written, so let keys and conditions of the update decide, not what was read before.
        """
        return await _told(lambda: self._database.write(work))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work``, which writes nothing; it waits for no writer and sees one state of the data."""
        return await _told(lambda: self._database.read(work))

    async def check_writable(self) -> None:
        """Write, but change nothing."""
        await self.run(lambda connection: connection.execute(_TOUCH))

    async def close(self) -> None:
        """Close all connections."""
        await self._database.close()


_TOUCH = text("UPDATE idempotency_keys SET status = status WHERE key = ''")


async def _told(work: Callable[[], Awaitable[T]]) -> T:
    """Run ``work``, again if another transaction was in its way; errors of the database are told as such."""
    tries = 0
    while True:
        try:
            return await work()
        except Exception as error:
            tries += 1
            if not may_be_retried(error) or tries == TRIES:
                told = store_error(error)
                if told is None:
                    raise
                raise told from error
        # With chance in it, so that those who met do not meet again.
        await asyncio.sleep(RETRY_SECONDS * 2**tries * random.uniform(0.5, 1.5))  # noqa: S311 - no secret


def _upgrade(connection: Connection) -> None:
    config = _config()
    scripts = ScriptDirectory.from_config(config)
    newest = scripts.get_current_head()
    current = MigrationContext.configure(connection).get_current_revision()
    if current == newest:  # as whoever starts workers has seen to
        return
    if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
        raise StoreError(f"the store is at revision {current}, of a newer traintriage; this one knows {newest}")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
