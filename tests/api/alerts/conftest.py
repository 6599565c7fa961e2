"""A service with everything about alerts switched on, and another host for it to talk to."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, func, select
from starlette.testclient import TestClient

from api.alerts import pagerduty, prometheus, webhooks, work
from api.app import create_app
from api.jobs import Pace, Worker
from api.reader import Source
from api.settings import Settings
from api.store import jobs
from tests.api.alerts.elsewhere import Elsewhere, elsewhere
from tests.api.alerts.sent import JSON, NEXT_SECRET, SECRET
from tests.api.conftest import a_client

QUERIES = """
window_minutes: 10
step_seconds: 30
queries:
  - series: loss
    query: 'train_loss{job="{job}"}'
"""


def _waiting(connection: Connection) -> int:
    kinds = (work.KIND, prometheus.KIND, webhooks.KIND, pagerduty.KIND)
    query = select(func.count()).where(jobs.JOBS.c.state == jobs.WAITING, jobs.JOBS.c.kind.in_(kinds))
    return connection.execute(query).scalar_one()


@dataclass
class Service:
    """The service, and what tests do with it."""

    client: TestClient
    app: FastAPI

    def post(self, source: str, body: Any, **keys: Any) -> Any:
        return self.client.post(f"/v1/webhooks/{source}", content=json.dumps(body), headers=JSON, **keys)

    def settle(self) -> None:
        """Wait until no job about alerts waits."""
        deadline = time.monotonic() + 30
        while self.call(self.app.state.store.read, _waiting):
            assert time.monotonic() < deadline, "jobs do not end"
            time.sleep(0.02)

    def call(self, function: Any, *arguments: Any) -> Any:
        """The result of an async function on the loop of the service."""
        assert self.client.portal is not None
        return self.client.portal.call(function, *arguments)

    def cases(self, words: str = "") -> list[dict[str, Any]]:
        self.settle()
        return self.client.get("/v1/cases", params={"q": words, "limit": 100}).json()["items"]

    def case(self, words: str) -> dict[str, Any]:
        """The only case with ``words`` in its title."""
        found = self.cases(words)
        assert len(found) == 1, found
        return self.client.get(f"/v1/cases/{found[0]['id']}").json()

    def moments(self, case: dict[str, Any]) -> list[dict[str, Any]]:
        return self.client.get(f"/v1/cases/{case['id']}/timeline").json()["moments"]


@pytest.fixture(scope="session")
def _there() -> Iterator[Elsewhere]:
    with elsewhere() as there:
        yield there


@pytest.fixture
def there(_there: Elsewhere) -> Elsewhere:
    """The other host, forgetful."""
    _there.clear()
    return _there


@pytest.fixture(
    scope="session", params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long])]
)
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _there: Elsewhere
) -> Iterator[Service]:
    """With the real engine, shared: tests take groups of their own."""
    folder = tmp_path_factory.mktemp("alerts")
    (folder / "queries.yaml").write_text(QUERIES)
    changes = {}
    if request.param == "postgresql":
        changes["store_url"] = request.getfixturevalue("postgresql").new_database(request.getfixturevalue("migrated"))
    with a_service(folder, _there, **changes) as service:
        yield service


def a_service(folder: Path, there: Elsewhere, source: Source | None = None, **changes: Any) -> Any:
    """A service of the test's own; with the fake engine as ``source`` it starts fast."""
    settings = Settings.model_validate(
        {
            "store_url": f"sqlite:///{folder}/store.db",
            "log_level": "error",
            "public_url": "https://triage.example",
            "grafana_secrets": (),
            "pagerduty_secrets": f"{SECRET},{NEXT_SECRET}",
            "prometheus_url": there.url,
            "prometheus_queries": folder / "queries.yaml",
            "webhooks": [{"url": f"{there.url}/hook", "secrets": f"whsec_{'c2VjcmV0' * 4},{NEXT_SECRET}"}],
            **changes,
        }
    )
    return running(create_app(settings, source=source))


class running:  # noqa: N801 - used as a context manager
    """The app started, with a worker that is in a hurry."""

    def __init__(self, app: FastAPI) -> None:
        state = app.state
        pace = Pace(poll=0.05, pause=0.05, longest_pause=0.2, attempts=4)
        state.jobs = Worker(state.store, state.worker_handlers, CollectorRegistry(), state.logger, pace)
        self.app = app
        self.client = a_client(app)

    def __enter__(self) -> Service:
        self.client.__enter__()
        return Service(self.client, self.app)

    def __exit__(self, *error: Any) -> None:
        self.client.__exit__(*error)
