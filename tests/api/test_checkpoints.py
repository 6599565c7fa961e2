"""The service signs its audit log by itself, and ``audit-log verify`` holds the log against all that it signed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from sqlalchemy import select

from api import checkpoints
from api.app import create_app
from api.checkpoints import HOUR, BrokenLogError, check, handler, schedule
from api.cli import main
from api.settings import Settings, SettingsError
from api.store import Store, audit_log
from api.store.jobs import JOBS, Job
from engine.audit.signing import AttestError, keygen
from tests.api.fake_engine import SOURCE
from tests.api.store.open_store import open_store
from tests.api.store.test_audit_log import CUT, HASH_OF, unlocked, with_rows

NOW = 1_800_000_000.0
JOB = Job(1, checkpoints.KIND, "default", None, {}, 1, "")
CUT_OFF = (CUT, f"UPDATE audit_log_head SET size = 6, hash = {HASH_OF.format(6)}")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key, with the public one beside it."""
    path = tmp_path / "key"
    private, public = keygen()
    path.write_bytes(private)
    path.with_suffix(".pub").write_bytes(public)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoints"
    path.mkdir()
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def sign(store: Store, key: Path, folder: Path, hours: float = 0) -> None:
    await handler(store, key, folder, lambda: NOW + hours * HOUR)(JOB)


def verified(key: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    arguments = ["verify", "--against", folder, "--key", key.with_suffix(".pub"), "--json"]
    with pytest.raises(SystemExit) as stopped:
        main(["audit-log", *map(str, arguments)])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, json.loads(capsys.readouterr().out)


def test_each_growth_of_the_log_is_signed_and_verify_sees_all_of_it(
    store_url: str, key: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINTRIAGE_STORE_URL", store_url)

    async def write() -> None:
        async with open_store(store_url) as store:
            await sign(store, key, folder)
            assert not names(folder)
            for rows in (2, 0, 6):
                await with_rows(store, rows)
                await sign(store, key, folder)

    async def cut_off() -> None:
        async with open_store(store_url) as store:
            await store.run(unlocked(*CUT_OFF))
            with pytest.raises(BrokenLogError, match="row 8, which is not there: the log was cut off"):
                await sign(store, key, folder, hours=1)

    asyncio.run(write())
    assert names(folder) == ["000000000002.json", "000000000008.json"]
    code, told = verified(key, folder, capsys)
    assert (code, told["rows"], told["checkpoints"], told["problems"]) == (0, 8, 2, [])
    asyncio.run(cut_off())
    code, told = verified(key, folder, capsys)
    assert (code, told["problems"]) == (1, [
        "the checkpoint was made at row 8, which is not there: the log was cut off",
    ])  # fmt: skip


def test_what_another_key_signed_is_not_gone_on_with(store_url: str, key: Path, folder: Path) -> None:
    async def work() -> None:
        async with open_store(store_url) as store:
            await with_rows(store, 1)
            await sign(store, key, folder)
            await asyncio.to_thread(key.write_bytes, keygen()[0])
            with pytest.raises(AttestError, match="did not sign"):
                await sign(store, key, folder, hours=1)

    asyncio.run(work())


def test_it_is_ordered_once_an_hour_and_orders_the_next(store_url: str, key: Path, folder: Path) -> None:
    async def work() -> list[str]:
        async with open_store(store_url) as store:
            for _ in range(2):
                await schedule(store, lambda: NOW)
            await sign(store, key, folder)
            found = await store.read(lambda c: c.execute(select(JOBS.c.key).order_by(JOBS.c.key)).scalars().all())
            return list(found)

    assert asyncio.run(work()) == ["audit-log-checkpoint 2027-01-15T08", "audit-log-checkpoint 2027-01-15T09"]


def test_a_service_with_a_key_signs_soon_after_its_start(store_url: str, key: Path, folder: Path) -> None:
    settings = Settings(store_url=store_url, audit_log_key=key, audit_log_checkpoints=folder, log_level="error")

    async def work() -> None:
        async with open_store(store_url) as store:
            await with_rows(store, 3)
        app = create_app(settings, source=SOURCE)
        async with app.router.lifespan_context(app), asyncio.timeout(60):
            while not any(name.endswith(".json") for name in names(folder)):  # noqa: ASYNC110 - files tell nobody
                await asyncio.sleep(0.05)

    asyncio.run(work())
    (path,) = folder.iterdir()
    assert audit_log.read_checkpoint(path.read_bytes(), key.with_suffix(".pub").read_bytes()).size == 3


def test_what_cannot_work_is_said_before_anything_is_served(tmp_path: Path, key: Path, folder: Path) -> None:
    check(Settings())
    check(Settings(audit_log_key=key, audit_log_checkpoints=folder))
    for given, said in (
        ({"audit_log_key": key}, "go together"),
        ({"audit_log_checkpoints": folder}, "go together"),
        ({"audit_log_key": key.with_suffix(".pub"), "audit_log_checkpoints": folder}, "the key cannot be read"),
        ({"audit_log_key": tmp_path / "none", "audit_log_checkpoints": folder}, "No such file"),
        ({"audit_log_key": key, "audit_log_checkpoints": tmp_path / "none"}, "No such file"),
    ):
        with pytest.raises(SettingsError, match=said):
            check(Settings(**given))
