"""The audit log shows every change that somebody made to it behind the service's back."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from api.store import Store
from api.store.audit_log import HEAD, LOG, START, Checkpoint, Verified, latest, record, row_hash, verify
from tests.api.store.open_store import open_store

COLUMNS = ("seq", "at", "tenant", "actor", "action", "subject", "data")


def write(number: int, **more: Any) -> Callable[[Connection], None]:
    row = {"tenant": "default", "actor": "key:1", "action": "case.opened", "subject": f"case-{number}"}
    return lambda connection: record(
        connection, at=1e9 + number / 3, data={"seq": number, "é": "字"}, **{**row, **more}
    )


async def with_rows(store: Store, number: int) -> Verified:
    for row in range(1, number + 1):
        await store.run(write(row))
    return await store.read(verify)


def unlocked(*statements: str) -> Callable[[Connection], None]:
    """Run statements as somebody would who may do anything in the database."""

    def work(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("ALTER TABLE audit_log DISABLE TRIGGER ALL"))
        else:
            for verb in ("update", "delete"):
                connection.execute(text(f"DROP TRIGGER audit_log_no_{verb}"))
        for statement in statements:
            connection.execute(text(statement))

    return work


def test_rows_are_numbered_and_bound_to_the_row_before(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            assert await store.read(verify) == Verified(0, START, ())
            found = await with_rows(store, 3)
            rows = await store.read(
                lambda connection: connection.execute(select(LOG).order_by(LOG.c.seq)).mappings().all()
            )
            assert [row["seq"] for row in rows] == [1, 2, 3]
            assert [row["previous"] for row in rows] == [START, rows[0]["hash"], rows[1]["hash"]]
            for row in rows:
                assert row["hash"] == row_hash(row["previous"], {name: row[name] for name in COLUMNS})
            assert found == Verified(3, rows[2]["hash"], ())

    asyncio.run(work())


def test_the_hash_is_that_of_the_canonical_form() -> None:
    """Written out once, so that a log stays verifiable when the code changes."""
    row = {"seq": 1, "at": 1.5, "tenant": "t", "actor": "a", "action": "x", "subject": "s", "data": '{"a":1}'}
    # By: printf '%064d%s' 0 '{"action":"x","actor":"a","at":1.5,"data":"{\"a\":1}","seq":1,...}' | sha256sum
    assert row_hash(START, row) == "ff255e93717a8984ca20081395c60c76a218f53cbc5fafa7a433dfb66e2166d3"


def test_a_row_is_there_exactly_if_its_transaction_is(store_url: str) -> None:
    def write_and_fail(connection: Connection) -> None:
        write(2)(connection)
        raise KeyError

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(write(1))
            with pytest.raises(KeyError):
                await store.run(write_and_fail)
            await store.run(write(3))
            assert [row["subject"] for row in await store.read(lambda c: latest(c, 9))] == ["case-1", "case-3"]
            assert not (await store.read(verify)).problems

    asyncio.run(work())


def test_writers_at_the_same_time_make_one_chain(store_url: str) -> None:
    async def work() -> None:
        stores = [Store(store_url) for _ in range(3)]
        await stores[0].start()
        await asyncio.gather(*(store.run(write(number)) for number in range(10) for store in stores))
        found = await stores[0].read(verify)
        assert (found.size, found.problems) == (30, ())
        for store in stores:
            await store.close()

    asyncio.run(work())


@pytest.mark.parametrize("statement", ["UPDATE audit_log SET actor = 'x'", "DELETE FROM audit_log WHERE seq = 2"])
def test_rows_are_not_changed_by_mistake(store_url: str, statement: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            before = await with_rows(store, 3)
            with pytest.raises(Exception, match="rows of the audit log are never changed"):
                await store.run(lambda connection: connection.execute(text(statement)))
            assert await store.read(verify) == before

    asyncio.run(work())


HASH_OF = "(SELECT hash FROM (SELECT * FROM audit_log) AS log WHERE seq = {})"
CUT = "DELETE FROM audit_log WHERE seq > 6"
TAMPERED = {
    "another actor": (["UPDATE audit_log SET actor = 'key:2' WHERE seq = 4"], ["row 4 was changed"]),
    "another time": (["UPDATE audit_log SET at = at + 0.001 WHERE seq = 4"], ["row 4 was changed"]),
    "other data": (["UPDATE audit_log SET data = '{}' WHERE seq = 4"], ["row 4 was changed"]),
    "the hash made to fit": (
        ["UPDATE audit_log SET hash = previous WHERE seq = 4"],
        ["row 4 was changed", "row 5 does not follow row 4"],
    ),
    "a row taken out": (["DELETE FROM audit_log WHERE seq = 4"], ["row 4 is missing"]),
    "the first rows taken out": (["DELETE FROM audit_log WHERE seq < 3"], ["rows 1 to 2 are missing"]),
    "a row taken out, and the others moved up": (
        ["DELETE FROM audit_log WHERE seq = 7", "UPDATE audit_log SET seq = 7 WHERE seq = 8"],
        ["row 7 does not follow row 6", "row 7 was changed", "the head"],
    ),
    "two rows swapped": (
        [f"UPDATE audit_log SET seq = {new} WHERE seq = {old}" for old, new in ((4, 99), (5, 4), (99, 5))],
        ["row 4 does not follow row 3", "row 4 was changed", "row 5 does not", "row 5 was changed", "row 6 does not"],
    ),
    "the last rows taken out": ([CUT], ["the head"]),
    "a row put behind": (
        ["INSERT INTO audit_log SELECT 9, at, tenant, actor, action, subject, data, hash, hash FROM audit_log LIMIT 1"],
        ["row 9 does not follow row 8", "row 9 was changed", "the head"],
    ),
    "everything taken out": (["DELETE FROM audit_log"], ["the head"]),
    "the head taken out": (["DELETE FROM audit_log_head"], ["the head"]),
}


class Undone(Exception):  # noqa: N818 - it is no error
    """Ends a transaction that is not to be kept; carries what was found in it."""


def test_what_was_changed_is_found(store_url: str) -> None:
    def tampered(connection: Connection, statements: list[str]) -> None:
        unlocked(*statements)(connection)
        raise Undone(verify(connection).problems)

    async def work() -> dict[str, tuple[str, ...]]:
        found = {}
        async with open_store(store_url) as store:
            assert not (await with_rows(store, 8)).problems
            for name, (statements, _) in TAMPERED.items():
                with pytest.raises(Undone) as undone:
                    await store.run(lambda connection, statements=statements: tampered(connection, statements))
                found[name] = undone.value.args[0]
        return found

    for name, problems in asyncio.run(work()).items():
        expected = TAMPERED[name][1]
        assert len(problems) == len(expected), (name, problems)
        for problem, start in zip(problems, expected, strict=True):
            assert problem.startswith(start), name


def test_a_log_cut_off_with_its_head_set_back_is_found_by_a_checkpoint(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            found = await with_rows(store, 8)
            checkpoint = Checkpoint(found.size, found.hash, 1e9)
            await store.run(unlocked(CUT, f"UPDATE audit_log_head SET size = 6, hash = {HASH_OF.format(6)}"))
            assert not (await store.read(verify)).problems
            (problem,) = (await store.read(lambda c: verify(c, [checkpoint]))).problems
            assert problem == "the checkpoint was made at row 8, which is not there: the log was cut off"
            await with_rows(store, 2)
            (problem,) = (await store.read(lambda c: verify(c, [checkpoint]))).problems
            assert problem.startswith("row 8 is not the one that the checkpoint was made at")

    asyncio.run(work())


def test_a_checkpoint_holds_while_the_log_grows(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            empty, some = Checkpoint(0, START, 1e9), await with_rows(store, 2)
            await with_rows(store, 3)
            for checkpoint in (empty, Checkpoint(some.size, some.hash, 1e9)):
                assert not (await store.read(lambda c, checkpoint=checkpoint: verify(c, [checkpoint]))).problems

    asyncio.run(work())


def test_a_log_of_which_nothing_is_left_is_told_in_bounded_words(store_url: str) -> None:
    def spoil(connection: Connection) -> None:
        rows = [{**dict.fromkeys(LOG.c.keys(), "x"), "seq": number, "at": 0.0} for number in range(1, 3001)]
        connection.execute(LOG.insert(), rows)
        connection.execute(HEAD.update().values(size=3000, hash="x"))

    async def work() -> None:
        async with open_store(store_url) as store:
            await store.run(spoil)
            problems = (await store.read(verify)).problems
            assert len(problems) == 101

    asyncio.run(work())


def test_the_latest_rows_of_a_tenant_or_about_a_subject(store_url: str) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            for number in range(4):
                await store.run(write(number, tenant=f"t{number % 2}", subject=f"case-{number // 2}"))
            for asked, expected in (
                ({}, [1, 2, 3, 4]),
                ({"tenant": "t1"}, [2, 4]),
                ({"subject": "case-0"}, [1, 2]),
                ({"tenant": "t1", "subject": "case-1"}, [4]),
            ):
                rows = await store.read(lambda c, asked=asked: latest(c, 9, **asked))
                assert [row["seq"] for row in rows] == expected
            assert [row["seq"] for row in await store.read(lambda c: latest(c, 2))] == [3, 4]

    asyncio.run(work())
