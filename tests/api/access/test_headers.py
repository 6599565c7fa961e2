"""Headers of every answer, and requests that come from the page of another site."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from tests.api.access.conftest import KeyMaker, bearer
from tests.api.conftest import REPORT, a_client
from tests.api.fake_engine import SOURCE

PAGES = ("/", "/docs", "/problems/too-large")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/v1/causes", 200),
        ("GET", "/", 200),
        ("GET", "/docs", 200),
        ("GET", "/nothing", 404),
        ("DELETE", "/v1/causes", 405),
        ("POST", "/v1/diagnoses", 415),
        ("HEAD", "/v1/causes", 200),
    ],
)
def test_every_answer_is_guarded(client: TestClient, method: str, path: str, status: int) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    headers = response.headers
    assert headers.get_list("X-Content-Type-Options") == ["nosniff"]
    assert headers.get_list("X-Frame-Options") == ["DENY"]
    assert headers.get_list("Referrer-Policy") == ["no-referrer"]
    assert headers.get_list("Cross-Origin-Resource-Policy") == ["same-origin"]
    (policy,) = headers.get_list("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    assert ("style-src" in policy) is (path in PAGES)
    assert "Strict-Transport-Security" not in headers


def test_errors_before_and_behind_the_routes_are_guarded(client: TestClient) -> None:
    wrong_host = client.get("/healthz", headers={"Host": "evil.example"})
    failed = client.post("/v1/diagnoses", json={"report": "explode"})
    for response, status in ((wrong_host, 400), (failed, 500)):
        assert response.status_code == status
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Frame-Options"] == "DENY"


def test_only_what_has_a_validator_may_be_stored(client: TestClient) -> None:
    assert client.get("/v1/causes").headers["Cache-Control"] == "no-cache"
    for path in ("/healthz", "/metrics", "/", "/v1/cases"):
        assert client.get(path).headers["Cache-Control"] == "no-store"


def test_hsts_is_for_who_asks_for_it(settings: Settings) -> None:
    with a_client(create_app(settings.model_copy(update={"hsts_seconds": 600}), source=SOURCE)) as client:
        assert client.get("/healthz").headers["Strict-Transport-Security"] == "max-age=600"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://localhost", 200),
        ("https://LOCALHOST", 200),
        ("http://localhost:3000", 403),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
@pytest.mark.parametrize("form", [True, False])
def test_pages_of_other_sites_cannot_send(client: TestClient, origin: str | None, status: int, form: bool) -> None:
    body: dict[str, Any] = {"files": [("case", (None, '{"report": "x"}'))]} if form else {"json": REPORT}
    response = client.post("/v1/diagnoses", **body, headers={} if origin is None else {"Origin": origin})
    assert response.status_code == status
    assert status == 200 or response.json()["type"] == "/problems/cross-site"


@pytest.mark.parametrize(("access", "status"), [("open", 400), ("keys", 200)])
def test_any_name_will_do_where_keys_are_asked_for(settings: Settings, access: str, status: int) -> None:
    changed = settings.model_copy(update={"access": access, "allowed_hosts": ("*",)})
    with a_client(create_app(changed, source=SOURCE)) as client:
        assert client.get("/healthz", headers={"Host": "10.1.2.3:8080"}).status_code == status


def test_limits_of_bodies_hold_for_who_has_a_key(keyed: TestClient, make_key: KeyMaker) -> None:
    headers = {**bearer(make_key()), "Content-Type": "application/json"}
    document: Any = keyed.get("/openapi.json", headers=headers).json()
    paths = [path for path, methods in document["paths"].items() if "requestBody" in methods.get("post", {})]
    assert len(paths) > 10
    for path in paths:
        response = keyed.post(path, content=b" " * (8 * 1024 * 1024 + 1), headers=headers)
        assert (path, response.status_code) == (path, 413)


def test_no_secret_has_a_default() -> None:
    for name, field in Settings.model_fields.items():
        if any(word in name for word in ("secret", "token", "password", "key")) and name != "idempotency_keys":
            default = field.get_default(call_default_factory=True, validated_data={})
            assert not default or getattr(default, "get_secret_value", str)() == "", name
