"""A service of the module's own with the real engine, and a case in it."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from tests.api.conftest import a_client

OVERFLOW = "numerics/fp16-activation-overflow"
REPORT = {
    "paradigm": "pretrain",
    "report": "fp16 run, the loss became NaN at step 4120.",
    "observations": [{"name": "precision", "value": "fp16"}, {"name": "grad_norm", "value": "inf"}],
}


ON_POSTGRESQL = pytest.param("postgresql", marks=(pytest.mark.postgres, pytest.mark.long))


@pytest.fixture(scope="module", params=["sqlite", ON_POSTGRESQL])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store')}/store.db"
    else:
        url = request.getfixturevalue("postgresql").new_database(request.getfixturevalue("migrated"))
    with a_client(create_app(Settings(store_url=url))) as client:
        yield client


@pytest.fixture
def case(service: TestClient) -> dict[str, Any]:
    """A case as it was answered when it was opened."""
    response = service.post("/v1/cases", json=REPORT)
    assert response.status_code == 201
    return response.json()


def chance(case: dict[str, Any], cause: str) -> float:
    """The probability of a cause in the ranking of a case."""
    return next((c["probability"] for c in case["diagnosis"]["causes"] if c["id"] == cause), 0.0)
