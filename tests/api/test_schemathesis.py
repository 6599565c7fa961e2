"""Schemathesis with all its checks and phases against the service as shipped, in process."""

import re
import uuid
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from api.app import create_app
from api.idempotency import PATTERN
from api.settings import Settings
from tests.effort import effort

KEY = "Idempotency-Key"


def load(tmp_path_factory: pytest.TempPathFactory, examples: int) -> Any:
    config = SchemathesisConfig.from_dict(
        {
            "request-timeout": 90,  # the first upload starts the reading process
            "generation": {"max-examples": examples, "deterministic": True},
            "operations": [
                # A live stream of a case that is there has no end.
                {"include-path-regex": "^/v1/cases/.*/events$", "enabled": False},
                {
                    # Two files under one name fit the schema, but not a folder; an id or a policy may be any text.
                    "include-path-regex": "^/v1/audits",
                    "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "403", "404", "422"]}},
                },
                {
                    # Parallel sizes that do not divide one another fit the schema, but not each other.
                    "include-path-regex": "^/v1/calculators/",
                    "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "422"]}},
                },
            ],
        }
    )
    store = tmp_path_factory.mktemp("store") / "store.db"
    app = create_app(Settings(store_url=f"sqlite:///{store}", log_level="error", allowed_hosts=("testserver",)))
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case, kwargs: Any) -> None:  # noqa: ARG001
    """Generated keys repeat, which is refused as it should be; make a key new for each request."""
    sent = case.headers.get(KEY)
    if sent is not None and re.fullmatch(PATTERN, str(sent)):
        case.headers[KEY] = str(uuid.uuid4())


def failures(schema: Any) -> tuple[list[str], int]:
    """Run all phases; the failures and errors in words, and the number of requests checked."""
    found: list[str] = []
    requests = 0
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished | events.FuzzScenarioFinished):
            requests += len(event.recorder.interactions)
        elif isinstance(event, events.NonFatalError):
            found.append(f"{event.label}: {event.info.title} {event.value!r}")
        elif isinstance(event, events.FatalError):
            found.append(repr(event.exception))
        elif isinstance(event, events.EngineFinished):
            found += [f"{failure.operation}: {failure.title} {failure.message}" for failure in event.failures]
    return found, requests


@pytest.mark.long
def test_conforms(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, requests = failures(load(tmp_path_factory, examples=effort(5, 15)))
    assert found == []
    assert requests > 1_000
