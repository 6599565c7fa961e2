"""The store, on SQLite and on PostgreSQL."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.util import await_only

from api.store import Store, StoreError
from tests.api.postgres import Server
from tests.api.store import processes
from tests.api.store.open_store import open_store


def numbers(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT n FROM numbers ORDER BY n")).scalars())


def put(number: int) -> Any:
    return lambda connection: connection.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": number})


async def make_numbers(store: Store) -> None:
    await store.run(lambda connection: connection.execute(text("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")))


def test_what_raises_leaves_nothing_behind(store_url: str) -> None:
    def put_and_fail(connection: Connection) -> None:
        put(1)(connection)
        with connection.begin_nested():
            put(2)(connection)
        raise KeyError

    async def work() -> None:
        async with open_store(store_url) as store:
            await make_numbers(store)
            with pytest.raises(KeyError):
                await store.run(put_and_fail)
            await store.run(put(3))
            assert await store.read(numbers) == [3]

    asyncio.run(work())


def test_a_failed_part_of_a_transaction_can_be_left_out(store_url: str) -> None:
    def put_twice(connection: Connection) -> None:
        put(1)(connection)
        with pytest.raises(Exception, match=r"(?i)unique"), connection.begin_nested():
            put(1)(connection)
        put(2)(connection)

    async def work() -> None:
        async with open_store(store_url) as store:
            await make_numbers(store)
            await store.run(put_twice)
            assert await store.read(numbers) == [1, 2]

    asyncio.run(work())


def test_readers_see_one_state_and_wait_for_no_writer(store_url: str) -> None:
    reading = threading.Event()

    async def work() -> None:
        written = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait_for_the_writer(connection: Connection) -> None:
            if connection.dialect.name == "postgresql":
                await_only(written.wait())  # the work runs on the event loop
            else:
                asyncio.run_coroutine_threadsafe(written.wait(), loop).result()

        def read_twice(connection: Connection) -> tuple[list[int], list[int]]:
            before = numbers(connection)
            reading.set()
            wait_for_the_writer(connection)
            return before, numbers(connection)

        async with open_store(store_url) as store:
            await make_numbers(store)
            await store.run(put(1))
            task = asyncio.create_task(store.read(read_twice))
            await asyncio.to_thread(reading.wait)
            await store.run(put(2))
            written.set()
            assert await task == ([1], [1])
            assert await store.read(numbers) == [1, 2]

    asyncio.run(work())


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_many_start_at_once_on_an_empty_store(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new/store.db"
    if database == "postgresql":
        url = request.getfixturevalue("postgresql").new_database()

    async def work() -> None:
        stores = [Store(url) for _ in range(4)]
        await asyncio.gather(*(store.start() for store in stores))
        for store in stores:
            await store.check_writable()
            await store.close()

    asyncio.run(work())


def test_many_processes_write_at_once(store_url: str) -> None:
    """Each reads before it writes, which on SQLite would be a deadlock if the lock were not taken at the start."""

    async def before() -> None:
        async with open_store(store_url) as store:
            await make_numbers(store)
            await store.run(put(0))

    async def after() -> list[int]:
        async with open_store(store_url) as store:
            return await store.read(numbers)

    asyncio.run(before())
    writers = [processes.start(processes.count_up, store_url, 25) for _ in range(4)]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert asyncio.run(after()) == [100]


@pytest.mark.postgres
def test_transactions_in_each_others_way_are_tried_again(postgresql: Server) -> None:
    """Two that change the same two rows in opposite order: PostgreSQL gives one of them up."""

    def change(first: int, second: int) -> Any:
        def work(connection: Connection) -> None:
            change = text("UPDATE pairs SET n = n + 1 WHERE id = :id")
            connection.execute(change, {"id": first})
            connection.execute(text("SELECT pg_sleep(0.1)"))
            connection.execute(change, {"id": second})

        return work

    url = postgresql.new_database()

    async def work() -> None:
        async with open_store(url) as store:
            await store.run(lambda c: c.execute(text("CREATE TABLE pairs (id INTEGER, n INTEGER)")))
            await store.run(lambda c: c.execute(text("INSERT INTO pairs VALUES (1, 0), (2, 0)")))
            await asyncio.gather(store.run(change(1, 2)), store.run(change(2, 1)))
            assert await store.read(lambda c: c.execute(text("SELECT n FROM pairs")).scalars().all()) == [2, 2]

    asyncio.run(work())


def test_a_commit_on_sqlite_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    def settings(connection: Connection) -> list[Any]:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        return [connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in pragmas]

    async def work() -> None:
        async with open_store(f"sqlite:///{tmp_path}/new/folder/store.db") as store:
            assert await store.run(settings) == ["wal", 2, 1]  # 2 is FULL

    asyncio.run(work())


def test_a_store_of_a_newer_version_is_refused(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(
                lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
            )
            for use in (store.start, store.open):
                with pytest.raises(StoreError, match="at revision 9999"):
                    await use()

    asyncio.run(work())


def test_a_tool_does_not_make_a_store(tmp_path: Path) -> None:
    async def work() -> None:
        store = Store(f"sqlite:///{tmp_path}/store.db")
        with pytest.raises(StoreError, match="there is no store at"):
            await store.open()
        await store.close()

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_up_to_date_is_not_migrated_again(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start() -> None:
        store = Store(store_url)
        await store.start()
        await store.close()

    asyncio.run(start())
    monkeypatch.delattr("api.store.database.command.upgrade")
    asyncio.run(start())


def fails_to_start(url: str) -> str:
    async def work() -> str:
        store = None
        try:
            store = Store(url)
            with pytest.raises(StoreError) as raised:
                await store.start()
            return str(raised.value)
        except StoreError as error:
            return str(error)
        finally:
            if store is not None:
                await store.close()

    return asyncio.run(work())


def test_a_file_that_is_no_store_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database" * 100)
    assert fails_to_start(f"sqlite:///{tmp_path}/text") == "the file is no SQLite database"
    assert "cannot be opened" in fails_to_start(f"sqlite:///{tmp_path}")
    assert "folder cannot be made" in fails_to_start(f"sqlite:///{tmp_path}/text/store.db")


@pytest.mark.postgres
def test_a_server_that_cannot_be_used_is_said_in_a_line(postgresql: Server) -> None:
    url = postgresql.url("postgres")
    assert fails_to_start(url.replace(postgresql.password, "wrong")) == "the server refuses this user or password"
    assert fails_to_start(postgresql.url("nothing")) == "the server has no such database; create it"
    assert fails_to_start(url.replace(f":{postgresql.port}", ":1")) == "the server cannot be reached"
    assert "%40" in fails_to_start(url.replace(f":{postgresql.port}", ":x"))


@pytest.mark.postgres
def test_the_password_is_not_shown(postgresql: Server) -> None:
    assert postgresql.password not in Store(postgresql.url("postgres")).place


def test_without_asyncpg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.store.postgresql.find_spec", lambda _: None)
    assert "pip install 'traintriage[postgres]'" in fails_to_start("postgresql://u@localhost/x")


@pytest.mark.postgres
def test_a_server_that_was_started_anew_is_found_again(postgresql: Server) -> None:
    url = postgresql.new_database()

    async def work() -> None:
        async with open_store(url) as store:
            await make_numbers(store)
            await asyncio.to_thread(postgresql.stop)
            await asyncio.to_thread(postgresql.start)
            await store.run(put(1))
            await asyncio.to_thread(postgresql.stop)
            with pytest.raises(StoreError, match="cannot be reached"):
                await store.run(put(2))
            await asyncio.to_thread(postgresql.start)
            await store.run(put(3))
            assert await store.read(numbers) == [1, 3]

    asyncio.run(work())


def test_a_lock_held_too_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.store.sqlite.BUSY_SECONDS", 0.1)

    async def work() -> None:
        async with open_store(f"sqlite:///{tmp_path}/store.db") as store:
            other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="held the lock"):
                await store.check_writable()
            other.close()
            await store.check_writable()

    asyncio.run(work())
