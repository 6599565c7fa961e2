"""The app with a fake engine, and the app with the real one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from api.store import Store
from tests.api import postgres
from tests.api.fake_engine import SOURCE

REPORT = {"report": "the loss is NaN"}


def a_client(app: FastAPI) -> TestClient:
    """A client that calls the service by a name it has."""
    return TestClient(app, base_url="http://localhost")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store_url=f"sqlite:///{tmp_path}/store.db")


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """An app of the test's own, not started yet."""
    return create_app(settings, source=SOURCE)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A running service with the fake engine, shared by the tests of a module."""
    store = tmp_path_factory.mktemp("store") / "store.db"
    with a_client(create_app(Settings(store_url=f"sqlite:///{store}"), source=SOURCE)) as client:
        yield client


@pytest.fixture(scope="session")
def real_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The service as shipped: bundled knowledge, real engine."""
    store = tmp_path_factory.mktemp("store") / "store.db"
    with a_client(create_app(Settings(store_url=f"sqlite:///{store}"))) as client:
        yield client


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Server]:
    """A PostgreSQL server."""
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian, Ubuntu: apt install postgresql)")
    with postgres.server(*postgres.FAST) as server:
        yield server


@pytest.fixture(scope="session")
def migrated(postgresql: postgres.Server) -> str:
    """The name of a database that holds the empty tables: to copy it is faster than to migrate."""

    async def migrate() -> None:
        store = Store(postgresql.url("migrated"))
        await store.start()
        await store.close()

    postgresql.execute("CREATE DATABASE migrated")
    asyncio.run(migrate())
    return "migrated"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new store: the test runs once on each database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: postgres.Server = request.getfixturevalue("postgresql")
    return server.new_database(request.getfixturevalue("migrated"))
