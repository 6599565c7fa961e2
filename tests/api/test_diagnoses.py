"""POST /v1/diagnoses in its three media types, and /why-not."""

import json
import os

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import REPORT

URL = "/v1/diagnoses"


def test_json(client: TestClient) -> None:
    response = client.post(URL, json=REPORT)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["content-language"] == "en"
    assert response.json()["summary"] == "the loss is NaN"


@pytest.mark.parametrize("media_type", ["application/yaml", "application/x-yaml", "text/yaml; charset=utf-8"])
def test_yaml_means_the_same_as_json(client: TestClient, media_type: str) -> None:
    text = "report: the loss is NaN\nobservations: [{name: lr, value: 1e-5}, {name: g, value: .nan}]\n"
    response = client.post(URL, content=text, headers={"Content-Type": media_type})
    assert response.status_code == 200
    facts = response.json()["facts"]
    assert [fact["value"] for fact in facts] == [1e-05, None]


@pytest.mark.parametrize(
    "case", [json.dumps(REPORT), "report: the loss is NaN", ("c.yaml", "report: the loss is NaN", "text/yaml")]
)
def test_multipart_with_files(client: TestClient, case: object) -> None:
    part = case if isinstance(case, tuple) else (None, case)
    files = [("case", part), ("files", ("../../etc/train.log", b"step 1")), ("files", ("C:\\a\\b.log", b"\x00\xff"))]
    response = client.post(URL, files=files)
    assert response.status_code == 200, response.text
    read = response.json()["coverage"]["read"]
    assert read[:2] == [{"name": "train.log", "bytes": 6}, {"name": "b.log", "bytes": 2}]
    assert response.json()["summary"] == "the loss is NaN"


def test_multipart_with_files_alone(client: TestClient) -> None:
    assert client.post(URL, files=[("files", ("train.log", b"step 1"))]).status_code == 200


def test_large_cases_are_read_in_another_process_and_small_ones_here(client: TestClient) -> None:
    small = client.post(URL, json=REPORT).json()["coverage"]["read"][-1]["process"]
    large = client.post(URL, json={"log": ["x" * 100] * 1000}).json()["coverage"]["read"][-1]["process"]
    again = client.post(URL, json={"log": ["x" * 100] * 1000}).json()["coverage"]["read"][-1]["process"]
    assert small == os.getpid()
    assert large != os.getpid()
    assert again == large


def test_large_bad_cases_get_the_same_problem_as_small_ones(client: TestClient) -> None:
    small = client.post(URL, json={"reprot": "x"}).json()
    large = client.post(URL, json={"reprot": "x", "log": ["x" * 100] * 1000}).json()
    assert small["errors"] == large["errors"]
    assert "Write 'report' if that was meant." in small["errors"][0]["send"]


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_understood(client: TestClient, token: str) -> None:
    body = (
        f'{{"observations": [{{"name": "loss", "value": {token}}}], "series": [{{"name": "l", "values": [{token}]}}]}}'
    )
    response = client.post(URL, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(response.text, parse_constant=refuse)["facts"][0]["value"] is None


def test_limit(client: TestClient) -> None:
    assert len(client.post(f"{URL}?limit=1", json=REPORT).json()["causes"]) == 1


@pytest.mark.parametrize(
    ("accept", "query", "expected"),
    [
        (None, "", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.5", "", "zh"),
        ("en;q=0.3, zh;q=0.2", "", "en"),
        ("fr, *;q=0.1", "", "en"),
        ("fr, zh;q=0.1", "", "zh"),
        ("zh;q=nonsense", "", "en"),
        ("zh", "?lang=en", "en"),
        ("en", "?lang=zh", "zh"),
    ],
)
def test_language(client: TestClient, accept: str | None, query: str, expected: str) -> None:
    headers = {"Accept-Language": accept} if accept else {}
    response = client.post(URL + query, json=REPORT, headers=headers)
    assert response.headers["content-language"] == expected
    assert response.headers["vary"] == "Accept-Language"
    assert response.json()["causes"][0]["title"] == {"en": "Cause overflow", "zh": "原因 overflow"}[expected]


def test_why_not(client: TestClient) -> None:
    response = client.post(f"{URL}/why-not?cause=numerics/overflow&lang=zh", json=REPORT)
    assert response.status_code == 200
    assert response.json()["title"] == "原因 overflow"
    files = [("files", ("train.log", b"step 1"))]
    assert client.post(f"{URL}/why-not?cause=numerics/overflow", files=files).json()["rank"] == 1


def test_why_not_of_a_draft_is_unknown(client: TestClient) -> None:
    assert client.post(f"{URL}/why-not?cause=numerics/planned", json=REPORT).status_code == 404
