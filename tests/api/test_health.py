"""/healthz and /readyz."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.api.conftest import a_client
from tests.api.fake_engine import SECRET


def test_health_and_readiness(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {
        "status": "ready",
        "kb_version": "1.0.0",
        "kb_digest": "digest-1",
        "answered_by": "durable-rules",
    }


def test_a_store_that_cannot_be_written(app: FastAPI, tmp_path: Path) -> None:
    with a_client(app) as client:
        client.portal.call(app.state.store.run, lambda c: c.exec_driver_sql("DROP TABLE idempotency_keys"))  # type: ignore[union-attr]
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["type"] == "/problems/not-ready"
        assert "store" in response.json()["detail"]
        assert str(tmp_path) not in response.text


def test_an_engine_that_fails(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    with a_client(app) as client, app.state.expert.lease() as generation:
        monkeypatch.setattr(generation.diagnoser, "diagnose", fail)
        response = client.get("/readyz")
        assert response.status_code == 503
        assert "engine" in response.json()["detail"]
        assert SECRET not in response.text
