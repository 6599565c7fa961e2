"""Request ids, logs and metrics."""

import json

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.api.conftest import REPORT, a_client
from tests.api.fake_engine import SECRET


@pytest.mark.parametrize("sent", ["abc-123", "A.b_c", "x" * 128])
def test_a_good_request_id_is_kept(client: TestClient, sent: str) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": sent}).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 129, "a b", 'a"b', "a\tb", "%0a", "é".encode("latin-1")])
def test_a_bad_request_id_is_replaced(client: TestClient, sent: str | bytes) -> None:
    given = client.get("/healthz", headers={"X-Request-ID": sent}).headers["x-request-id"]
    assert given != sent
    assert len(given) == 32


def test_log_lines(capfd: pytest.CaptureFixture[str], app: FastAPI) -> None:
    with a_client(app) as client:
        client.post("/v1/diagnoses?lang=zh", json=REPORT, headers={"X-Request-ID": "fine"})
        client.post("/v1/diagnoses", json={"report": "explode, said in confidence"}, headers={"X-Request-ID": "failed"})
        client.get("/wp-admin/secret-path")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    by_id = {(line["event"], line.get("request_id")): line for line in lines}
    fine = by_id["request", "fine"]
    assert (fine["method"], fine["route"], fine["status"]) == ("POST", "/v1/diagnoses", 200)
    assert by_id["request", "failed"]["status"] == 500
    assert SECRET in json.dumps(by_id["request failed", "failed"]["exception"])
    assert any(line.get("route") == "unmatched" and line["status"] == 404 for line in lines)
    text = json.dumps(lines)
    assert REPORT["report"] not in text
    assert "wp-admin" not in text
    assert "in confidence" not in text


def test_metrics(app: FastAPI) -> None:
    with a_client(app) as client:
        client.post("/v1/diagnoses", json=REPORT)
        client.post("/v1/diagnoses", json={"report": "disagree"})
        client.get("/v1/causes/numerics/overflow")
        client.get("/v1/causes/a/b")
        client.get("/nothing/here")
        client.request("BREW", "/nothing")
        response = client.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = response.text.splitlines()
    for line in (
        'traintriage_http_requests_total{method="POST",route="/v1/diagnoses",status="200"} 2.0',
        'traintriage_http_requests_total{method="GET",route="/v1/causes/{cause_id:path}",status="200"} 1.0',
        'traintriage_http_requests_total{method="GET",route="/v1/causes/{cause_id:path}",status="404"} 1.0',
        'traintriage_http_requests_total{method="GET",route="unmatched",status="404"} 1.0',
        'traintriage_http_requests_total{method="other",route="unmatched",status="404"} 1.0',
        'traintriage_diagnoses_total{answered_by="durable-rules"} 2.0',
        "traintriage_engine_disagreements_total 1.0",
        "traintriage_engine_rebuilds_total 1.0",
        'traintriage_knowledge_objects{kind="causes"} 3.0',
        'traintriage_http_request_duration_seconds_count{method="POST",route="/v1/diagnoses"} 2.0',
    ):
        assert line in lines


def test_two_apps_share_nothing(app: FastAPI, client: TestClient) -> None:
    client.post("/v1/diagnoses", json=REPORT)
    with a_client(app) as other:
        assert 'traintriage_diagnoses_total{answered_by="durable-rules"}' not in other.get("/metrics").text
