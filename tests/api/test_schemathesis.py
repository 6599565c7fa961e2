"""Schemathesis with all its checks against the service as shipped, in process; the long run takes minutes."""

import re
import uuid
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig

from api.app import create_app
from api.idempotency import PATTERN
from api.settings import Settings

KEY = "Idempotency-Key"


def load(tmp_path_factory: pytest.TempPathFactory, examples: int) -> Any:
    config = SchemathesisConfig.from_dict(
        {
            "generation": {"max-examples": examples, "deterministic": True},
            "operations": [
                {
                    # Parallel sizes that do not divide one another fit the schema, but not each other.
                    "include-path-regex": "^/v1/calculators/",
                    "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "422"]}},
                }
            ],
        }
    )
    store = tmp_path_factory.mktemp("store") / "store.db"
    app = create_app(Settings(store_url=f"sqlite:///{store}", log_level="error"))
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load(tmp_path_factory, examples=5)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load(tmp_path_factory, examples=200)


@schemathesis.pytest.from_fixture("few").parametrize()
def test_conforms(case: schemathesis.Case) -> None:
    check(case)


@pytest.mark.long
@schemathesis.pytest.from_fixture("many").parametrize()
def test_conforms_with_many_examples(case: schemathesis.Case) -> None:
    check(case)


def check(case: schemathesis.Case) -> None:
    sent = case.headers.get(KEY)
    if sent is not None and re.fullmatch(PATTERN, str(sent)):
        # Generated keys repeat, which is refused as it should be; a key is new for a new request.
        case.headers[KEY] = str(uuid.uuid4())
    case.call_and_validate()
