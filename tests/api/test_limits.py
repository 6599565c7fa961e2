"""What is refused before a route sees it, and HEAD."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from tests.api.conftest import REPORT, a_client
from tests.api.fake_engine import SOURCE

URL = "/v1/diagnoses"
JSON = "application/json"


def chat(app: FastAPI, *incoming: dict[str, Any] | None, headers: dict[str, str]) -> list[dict[str, Any]]:
    """What the app sends for a POST whose messages are ``incoming``; ``None`` is a message that never comes."""
    messages = iter(incoming)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        message = next(messages)
        if message is None:
            await asyncio.Event().wait()
        assert message is not None
        return message

    async def send(message: Any) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": "POST",
            "path": URL, "raw_path": URL.encode(), "root_path": "", "query_string": b"", "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1), "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        }  # fmt: skip
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)

    asyncio.run(run())
    return sent


def part_of_body(text: bytes) -> dict[str, Any]:
    return {"type": "http.request", "body": text, "more_body": True}


GONE = {"type": "http.disconnect"}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "[::1]"])
def test_names_of_the_service(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["example.org", "", "localhost.example.org", "127.0.0.1.nip.io:80", "localhost:x"])
def test_other_names_are_refused(client: TestClient, host: str) -> None:
    response = client.get("/healthz", headers={"Host": host})
    assert response.status_code == 400
    assert response.json()["type"] == "/problems/unknown-host"
    assert "localhost" in response.json()["detail"]
    assert "example.org" not in response.json()["detail"]


def test_more_names_can_be_allowed(tmp_path: Path) -> None:
    names = {"TRAINTRIAGE_ALLOWED_HOSTS": "Triage.example.org, other", "TRAINTRIAGE_HOST": "::1"}
    settings = Settings.from_env({**names, "TRAINTRIAGE_STORE_URL": f"sqlite:///{tmp_path}/store.db"})
    with a_client(create_app(settings, source=SOURCE)) as client:
        for host, status in {"triage.example.org": 200, "other:8080": 200, "localhost": 200, "third": 400}.items():
            assert client.get("/healthz", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, identity"])
def test_compressed_bodies_are_refused(client: TestClient, encoding: str) -> None:
    headers = {"Content-Type": JSON, "Content-Encoding": encoding}
    response = client.post(URL, content=gzip.compress(json.dumps(REPORT).encode()), headers=headers)
    assert response.status_code == 415
    assert response.headers["accept-encoding"] == "identity"
    assert "without Content-Encoding" in response.json()["detail"]


def test_the_encoding_that_is_none_is_taken(client: TestClient) -> None:
    assert client.post(URL, json=REPORT, headers={"Content-Encoding": "identity"}).status_code == 200


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json; charset=utf-8", 200),
        ('application/json;charset="UTF8"', 200),
        ("application/json; charset=gbk", 415),
        ("application/json; charset=utf-16", 415),
        ("application/yaml; x=1; charset=latin-1", 415),
    ],
)
def test_charsets(client: TestClient, media_type: str, status: int) -> None:
    response = client.post(URL, content=json.dumps(REPORT), headers={"Content-Type": media_type})
    assert response.status_code == status
    assert status == 200 or "UTF-8" in response.json()["detail"]


def test_the_charset_of_a_part(client: TestClient) -> None:
    part = ("c.json", json.dumps(REPORT).encode(), "application/json; charset=gb18030")
    response = client.post(URL, files=[("case", part)])
    assert (response.status_code, "UTF-8" in response.json()["detail"]) == (415, True)


@pytest.mark.parametrize("media_type", ["application/yaml", "text/x-yaml; charset=utf-8"])
@pytest.mark.parametrize("size", [1_048_577, 20_000_000])
def test_the_cap_of_yaml_is_named(client: TestClient, media_type: str, size: int) -> None:
    response = client.post(URL, content=b"#" * size, headers={"Content-Type": media_type})
    assert response.status_code == 413
    assert "A YAML document may have at most 1,048,576 bytes" in response.json()["detail"]


def test_a_yaml_part_has_the_same_cap(client: TestClient) -> None:
    response = client.post(URL, files=[("case", (None, "# " + "x" * 1_048_576))])
    assert response.status_code == 413
    assert "1,048,576" in response.json()["detail"]


def test_a_body_that_does_not_come_is_given_up(settings: Settings) -> None:
    app = create_app(settings.model_copy(update={"body_seconds": 0.05}), source=SOURCE)
    headers = {"Host": "localhost", "Content-Type": JSON, "Content-Length": "30"}
    start, body = chat(app, part_of_body(b'{"rep'), None, headers=headers)
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert json.loads(body["body"])["type"] == "/problems/body-timeout"


@pytest.mark.parametrize("media_type", [JSON, "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("key", ["", "k-1"])
def test_a_client_that_goes_away_is_no_error(
    app: FastAPI, capfd: pytest.CaptureFixture[str], media_type: str, key: str
) -> None:
    headers = {"Host": "localhost", "Content-Type": media_type, **({"Idempotency-Key": key} if key else {})}
    first = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nstep' if "x" in media_type else b"{"
    )
    assert chat(app, part_of_body(first), GONE, headers=headers) == []
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert {line["level"] for line in lines} == {"info"}
    assert [line["status"] for line in lines if line["event"] == "request"] == [499]


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/v1/causes", "/v1/causes/numerics/overflow", "/docs", "/metrics"]
)
def test_head_is_get_without_the_body(client: TestClient, path: str) -> None:
    get, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "etag", "content-language"):
        assert head.headers.get(name) == get.headers.get(name)
    if path != "/metrics":  # which has counted one request more
        assert head.headers["content-length"] == get.headers["content-length"]


def test_head_of_what_cannot_be_got(client: TestClient) -> None:
    assert client.head("/nothing").status_code == 404
    response = client.head(URL)
    assert (response.status_code, response.content, response.headers["allow"]) == (405, b"", "POST")
    assert set(client.delete("/v1/causes").headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_head_is_logged_as_head(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    client.head("/v1/facts")
    line = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (line["method"], line["route"]) == ("HEAD", "/v1/facts")


@pytest.mark.parametrize(("size", "status"), [(30_000, 200), (33_000, 431)])
def test_headers_that_are_too_large_are_refused_also_if_they_came_at_once(
    client: TestClient, size: int, status: int
) -> None:
    for response in (client.get("/healthz", headers={"Cookie": "x" * size}), client.get("/healthz?" + "x" * size)):
        assert response.status_code == status
