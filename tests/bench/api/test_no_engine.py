"""The service that the load measurement compares with."""

from pathlib import Path

from starlette.testclient import TestClient

from api.app import create_app
from api.reader import Source
from api.settings import Settings
from bench.api.no_engine import NoEngine
from tests.api.fake_engine import make_knowledge


def test_the_service_without_an_engine_answers_a_diagnosis(tmp_path: Path) -> None:
    app = create_app(Settings(store_url=f"sqlite:///{tmp_path}/store.db"), source=Source(make_knowledge, NoEngine))

    with TestClient(app, base_url="http://localhost") as client:
        answer = client.post("/v1/diagnoses", json={"facts": {"loss.nan": True}})

    assert answer.status_code == 200
    assert answer.json()["engine_version"] == "none"
