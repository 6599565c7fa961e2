"""The service as shipped: bundled knowledge, real engine, real reading process."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.routes.diagnoses import EXAMPLE_CASE

URL = "/v1/diagnoses"


def test_the_example_is_diagnosed(real_client: TestClient) -> None:
    answer = real_client.post(URL, json=dict(EXAMPLE_CASE)).json()
    assert answer["answered_by"] == "durable-rules"
    assert answer["causes"]
    total = sum(cause["probability"] for cause in answer["causes"]) + answer["unknown"]["probability"]
    assert total == pytest.approx(1, abs=0.05)
    settled = answer["causes"][0]["probability"] > 0.95  # nothing is left to ask
    assert answer["next_checks"] or settled


def test_small_and_large_bodies_give_the_same_answer(real_client: TestClient) -> None:
    case = dict(EXAMPLE_CASE)
    padded = json.dumps(case) + " " * 100_000  # the same case, but beyond what is read on the event loop
    small = real_client.post(URL, json=case)
    large = real_client.post(URL, content=padded, headers={"Content-Type": "application/json"})
    assert small.status_code == large.status_code == 200
    assert small.json() == large.json()


def test_files_reach_the_readers(real_client: TestClient) -> None:
    state = {"log_history": [{"step": step, "loss": loss} for step, loss in ((1, 2.0), (2, float("nan")))]}
    files = [("files", ("trainer_state.json", json.dumps(state).encode())), ("files", ("junk.bin", bytes(range(256))))]
    response = real_client.post(URL, files=files)
    assert response.status_code == 200, response.text
    assert "trainer_state.json" in json.dumps(response.json()["coverage"])


def test_chinese(real_client: TestClient) -> None:
    answer = real_client.post(f"{URL}?lang=zh", json=dict(EXAMPLE_CASE)).json()
    assert any("\u4e00" <= character <= "\u9fff" for character in answer["causes"][0]["title"])


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e400", "1" * 400])
def test_odd_numbers_everywhere(real_client: TestClient, token: str) -> None:
    body = (
        f'{{"observations": [{{"name": "loss", "value": {token}}}, {{"name": "lr", "value": [{token}]}}],'
        f' "series": [{{"name": "loss", "values": [1, {token}], "steps": [1, 2]}}], "facts": {{"loss.final": {token}}},'
        f' "files": {{"a.json": {{"b": {token}}}}}, "contrast": [{{"dimension": "lr", "good": {token}}}]}}'
    )
    response = real_client.post(URL, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200, response.text
    json.loads(response.text, parse_constant=pytest.fail)


def test_why_not(real_client: TestClient) -> None:
    leader: Any = real_client.post(URL, json=dict(EXAMPLE_CASE)).json()["causes"][0]
    response = real_client.post(f"{URL}/why-not", params={"cause": leader["id"]}, json=dict(EXAMPLE_CASE))
    assert response.status_code == 200
    assert response.json()["rank"] == 1


def test_nothing_abnormal(real_client: TestClient) -> None:
    answer = real_client.post(URL, json={"observations": [{"name": "learning rate", "value": 3e-4}]}).json()
    assert answer["causes"] == []
    assert answer["findings"] == []


@pytest.mark.parametrize("paradigm", ["pretrain", "sft", "dpo", "contrastive"])
def test_pipelines(real_client: TestClient, paradigm: str) -> None:
    (pipeline,) = real_client.get(f"/v1/pipeline?paradigm={paradigm}&lang=zh").json()["items"]
    assert pipeline["paradigm"] == paradigm
    assert len(pipeline["stations"]) == 8
    assert isinstance(pipeline["stations"][0]["title"], str)


@pytest.mark.parametrize("kind", ["causes", "findings", "facts", "checks", "gates"])
def test_every_object_can_be_read_in_both_languages(real_client: TestClient, kind: str) -> None:
    page = real_client.get(f"/v1/{kind}?limit=200").json()
    assert page["items"]
    for lang in ("en", "zh"):
        first = page["items"][0]["id"]
        assert real_client.get(f"/v1/{kind}/{first}?lang={lang}").json()["id"] == first


def test_ready(real_client: TestClient) -> None:
    assert real_client.get("/readyz").json()["answered_by"] == "durable-rules"
