"""A service that asks for keys, and keys for it."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.access import Scope, keys
from api.app import create_app
from api.rates import Rate
from api.settings import Settings
from api.store import Store
from tests.api.access.issuer import Issuer
from tests.api.conftest import a_client
from tests.api.fake_engine import SOURCE

ALL = tuple(Scope)
OFTEN = Rate(1_000_000, 1)
UNLIMITED = {
    f"rate_{kind}": OFTEN for kind in ("reading", "diagnosing", "auditing", "webhooks", "failures")
}  # for tests that are not about rates


class KeyMaker:
    """Makes keys in the store of a service."""

    def __init__(self, url: str, start: bool = False) -> None:
        self.url = url
        self.start = start  # whether the tables still have to be made

    def in_store(self, work: Callable[[Any], Any]) -> Any:
        async def run() -> Any:
            store = Store(self.url)
            try:
                if self.start:
                    await store.start()
                return await store.run(work)
            finally:
                await store.close()

        return asyncio.run(run())

    def __call__(self, *scopes: Scope, tenant: str = "default", expiry: float | None = None) -> str:
        """The text of a new key with ``scopes``, all if none are named."""
        return self.in_store(
            lambda c: keys.create(c, tenant=tenant, name="test", scopes=scopes or ALL, expiry=expiry, now=time.time())
        )[1]

    def revoke(self, token: str) -> None:
        self.in_store(lambda c: keys.revoke(c, id_of(token), now=time.time()))


def id_of(token: str) -> str:
    return token.split("_")[1]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    """An identity provider; its keys take a moment to make."""
    return Issuer(tmp_path_factory.mktemp("issuer") / "keys.json")


@pytest.fixture(scope="module")
def keyed_settings(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Settings:
    store = tmp_path_factory.mktemp("keyed") / "store.db"
    return Settings(store_url=f"sqlite:///{store}", access="keys", log_level="error", **UNLIMITED, **issuer.settings())


@pytest.fixture(scope="module")
def make_key(keyed_settings: Settings, keyed: TestClient) -> KeyMaker:  # noqa: ARG001 - its start makes the tables
    return KeyMaker(keyed_settings.store_url)


@pytest.fixture(scope="module")
def keyed(keyed_settings: Settings) -> Iterator[TestClient]:
    """A running service that asks for keys, with the fake engine."""
    with a_client(create_app(keyed_settings, source=SOURCE)) as client:
        yield client


@pytest.fixture
def store_settings(tmp_path: Path) -> Settings:
    """Settings for a service of the test's own."""
    return Settings(store_url=f"sqlite:///{tmp_path}/store.db", access="keys", log_level="error")
