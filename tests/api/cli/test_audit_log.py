"""``traintriage audit-log`` on a store beside the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from api.cli import main
from api.store.audit_log import record
from engine.audit.signing import keygen, signed
from tests.api.postgres import Server
from tests.api.store.open_store import open_store

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, standard output and standard error of the command in this process."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["audit-log", *(str(argument) for argument in arguments)])
        printed = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, printed.out, printed.err

    return run


def change(url: str, *statements: str) -> None:
    async def work() -> None:
        async with open_store(url) as store:
            for statement in statements:
                await store.run(lambda connection, statement=statement: connection.execute(text(statement)))

    asyncio.run(work())


def write(url: str, *subjects: str) -> None:
    async def work() -> None:
        async with open_store(url) as store:
            for subject in subjects:
                await store.run(
                    lambda connection, subject=subject: record(
                        connection, at=1.8e9, tenant="a", actor="key:1", action="case.opened", subject=subject, data={}
                    )
                )

    asyncio.run(work())


@pytest.fixture
def store(store_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log of three rows, in the store that the environment names."""
    monkeypatch.setenv("TRAINTRIAGE_STORE_URL", store_url)
    write(store_url, "case-1", "case-2", "case-3")
    return store_url


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A private and a public key."""
    paths = tmp_path / "key", tmp_path / "key.pub"
    for path, key in zip(paths, keygen(), strict=True):
        path.write_bytes(key)
    return paths


CUT = (
    "DELETE FROM audit_log WHERE seq > 2",
    "UPDATE audit_log_head SET size = 2, hash = (SELECT hash FROM audit_log WHERE seq = 2)",
)


def unlock(url: str) -> None:
    if url.startswith("sqlite"):
        change(url, "DROP TRIGGER audit_log_no_update", "DROP TRIGGER audit_log_no_delete")
    else:
        change(url, "ALTER TABLE audit_log DISABLE TRIGGER ALL")


@pytest.mark.usefixtures("store")
def test_a_log_as_it_was_written(run: Run) -> None:
    code, out, _ = run("verify")
    assert code == 0
    assert "3 rows are as they were written" in out
    assert "without a checkpoint" in out
    code, out, _ = run("verify", "--json")
    assert (code, json.loads(out)["rows"], json.loads(out)["problems"]) == (0, 3, [])


def test_a_log_that_was_changed(run: Run, store: str, keys: tuple[Path, Path], tmp_path: Path) -> None:
    unlock(store)
    change(store, "UPDATE audit_log SET actor = 'key:2' WHERE seq = 2")
    code, out, _ = run("verify")
    assert (code, out) == (1, "row 2 was changed\n")
    code, out, _ = run("verify", "--json")
    assert (code, json.loads(out)["verified"], json.loads(out)["problems"]) == (1, False, ["row 2 was changed"])
    assert run("checkpoint", "--key", keys[0], "--output", tmp_path / "checkpoint")[0] == 1
    assert not (tmp_path / "checkpoint").exists()


def test_a_log_that_was_cut_off_shows_against_a_checkpoint(
    run: Run, store: str, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    against = ("--against", checkpoint, "--key", keys[1])
    assert run("checkpoint", "--key", keys[0], "--output", checkpoint)[0] == 0
    write(store, "case-4")
    assert run("verify", *against)[0] == 0
    unlock(store)
    change(store, *CUT)
    assert run("verify")[0] == 0
    code, out, _ = run("verify", *against)
    assert (code, out) == (1, "the checkpoint was made at row 3, which is not there: the log was cut off\n")


@pytest.mark.usefixtures("store")
def test_a_checkpoint_that_proves_nothing_is_refused(run: Run, keys: tuple[Path, Path], tmp_path: Path) -> None:
    checkpoint, other = tmp_path / "checkpoint", tmp_path / "other.pub"
    run("checkpoint", "--key", keys[0], "--output", checkpoint)
    other.write_bytes(keygen()[1])
    statement = tmp_path / "statement"
    statement.write_bytes(signed(b"{}", "application/vnd.in-toto+json", keys[0].read_bytes()))
    for against, key, said in (
        (checkpoint, other, "did not sign"),
        (statement, keys[1], "not application/vnd.traintriage.audit-log-checkpoint+json"),
        (keys[1], keys[1], "no DSSE envelope"),
        (checkpoint, checkpoint, "the key cannot be read"),
        (tmp_path / "nothing", keys[1], "No such file"),
    ):
        code, _, err = run("verify", "--against", against, "--key", key)
        assert code == 2
        assert said in err
    assert run("verify", "--against", checkpoint)[0] == 2


@pytest.mark.usefixtures("store")
def test_rows_are_shown(run: Run) -> None:
    code, out, _ = run("show", "--subject", "case-2")
    assert code == 0
    assert out == "2  2027-01-15 08:00:00Z  a  key:1  case.opened  case-2  {}\n"
    code, out, _ = run("show", "--limit", "2", "--json")
    assert [row["seq"] for row in json.loads(out)["rows"]] == [2, 3]
    assert run("show", "--tenant", "b")[:2] == (0, "")


def test_a_store_that_cannot_be_read_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text" * 1000)
    for url, said in (
        (f"sqlite:///{tmp_path}/nothing.db", "there is no store at"),
        (f"sqlite:///{tmp_path}/text", "the file is no SQLite database"),
        ("postgresql://user@127.0.0.1:1/x", "the server cannot be reached"),
        ("mysql://x", "TRAINTRIAGE_STORE_URL"),
        ("postgresql://user:secret@127.0.0.1/x", "goes into TRAINTRIAGE_STORE_URL"),
    ):
        code, _, err = run("verify", "--store", url)
        assert code == 2
        assert said in err
        assert "secret" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


@pytest.mark.postgres
def test_a_store_without_tables_is_not_changed(run: Run, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINTRIAGE_STORE_URL", postgresql.new_database())
    for _ in range(2):
        code, _, err = run("verify")
        assert code == 2
        assert "the store is empty" in err
