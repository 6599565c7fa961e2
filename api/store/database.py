"""The database of the embedded store: SQLite in WAL mode, migrated at the start, used from one thread of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, event, make_url, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

T = TypeVar("T")
BUSY_SECONDS = 10
MIGRATIONS = Path(__file__).parent / "migrations"


class Store:
    """Runs work on the database off the event loop, one piece after the other, each in a transaction."""

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        if parsed.database:
            Path(parsed.database).expanduser().parent.mkdir(parents=True, exist_ok=True)
        self._engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
        event.listen(self._engine, "connect", _set_up_connection)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="traintriage-store")

    async def start(self) -> None:
        """Bring the tables to the newest form; safe if several processes start at once."""
        await self._off_loop(self._migrate)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work`` in a transaction of its own; whatever it raises rolls the transaction back."""

        def in_transaction() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return await self._off_loop(in_transaction)

    async def check_writable(self) -> None:
        """Write and roll back; raises what the database raises."""
        await self._off_loop(self._write_and_roll_back)

    async def close(self) -> None:
        """Close all connections and end the thread."""
        await self._off_loop(self._engine.dispose)
        self._thread.shutdown()

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _migrate(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        with self._engine.begin() as connection:
            # Taken before the version is read: a second process waits here, and then finds nothing left to do.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _write_and_roll_back(self) -> None:
        with self._engine.connect() as connection:
            connection.execute(text("UPDATE idempotency_keys SET status = status WHERE key = ''"))
            connection.rollback()


def _set_up_connection(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # WAL lets readers go on while one writes; with it, NORMAL loses at most the last commits on a power cut,
    # which for answers that can be computed again is no loss.
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
