"""Every operation of the OpenAPI document against every kind of caller."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from api.access import Scope
from api.openapi import base_document
from tests.api.access.conftest import ALL, KeyMaker, bearer
from tests.api.access.issuer import Issuer
from tests.api.conftest import REPORT

NOBODY_HAS_IT = "0" * 32


@pytest.fixture(scope="module")
def document(keyed: TestClient) -> dict[str, Any]:
    return base_document(keyed.app)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], Scope | None]]:
    """Method, path, description and scope."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            scopes = {scope for way in operation["security"] for needed in way.values() for scope in needed}
            assert len(scopes) <= 1
            yield method.upper(), path, operation, Scope(scopes.pop()) if scopes else None


def a_request(method: str, path: str, operation: dict[str, Any], headers: Any, case: str = "") -> dict[str, Any]:
    """A request that fits the operation, about the object with the id ``case``."""
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            value = "1" if parameter["name"] in ("revision", "seq") else case or NOBODY_HAS_IT
            path = path.replace(f"{{{parameter['name']}}}", value)
    query = {
        parameter["name"]: "numerics/overflow"
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and parameter.get("required")
    }
    content = None
    if "requestBody" in operation:
        example = operation["requestBody"]["content"]["application/json"]["example"]
        content = json.dumps({**example, "cause": "numerics/overflow"} if "cause" in example else example)
        headers = {**headers, "Content-Type": "application/json"}
    return {"method": method, "url": path, "params": query, "content": content, "headers": headers}


def call(client: TestClient, *described: Any) -> httpx2.Response:
    return client.request(**a_request(*described))


def call_all(client: TestClient, requests: list[dict[str, Any]]) -> list[httpx2.Response]:
    """All answers, without the test client between, which takes longer than they do."""

    async def run() -> list[httpx2.Response]:
        transport = httpx2.ASGITransport(app=client.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as direct:
            return [await direct.request(**request) for request in requests]

    assert client.portal is not None
    return client.portal.call(run)


@pytest.fixture(scope="module")
def refused(make_key: KeyMaker, issuer: Issuer) -> dict[str, dict[str, str]]:
    """Headers of callers who are nobody."""
    expired, revoked = make_key(expiry=time.time() - 1), make_key()
    make_key.revoke(revoked)
    good = make_key()
    return {
        "none": {},
        "malformed": {"Authorization": "Bearer tt_short"},
        "other scheme": {"Authorization": f"Digest {good}"},
        "empty": {"Authorization": ""},
        "wrong secret": bearer(good[:-6] + "abcdef"),
        "unknown id": bearer("tt_" + "0" * 12 + "_" + "0" * 64),
        "cut off": bearer(good[:-1]),
        "expired": bearer(expired),
        "revoked": bearer(revoked),
        "expired token": bearer(issuer.token(exp=time.time() - 120)),
        "token of another": bearer(issuer.token(iss="https://evil.example")),
    }


def test_nobody_gets_in(keyed: TestClient, document: dict[str, Any], refused: dict[str, dict[str, str]]) -> None:
    tried = [(*operation, who) for operation in operations(document) for who in refused]
    assert len(tried) > 350
    requests = [a_request(method, path, operation, refused[who]) for method, path, operation, _, who in tried]
    for (method, path, _, scope, who), response in zip(tried, call_all(keyed, requests), strict=True):
        if scope is None:  # a webhook brings its own proof, and is not there without a secret to check it with
            assert response.status_code == (404 if "/webhooks/" in path else 200), (method, path, who)
            continue
        assert response.status_code == 401, (method, path, who)
        assert response.json()["type"] == "/problems/unauthenticated"
        assert response.headers["WWW-Authenticate"].startswith('Bearer realm="traintriage"')
        assert ("invalid_token" in response.headers["WWW-Authenticate"]) is (who != "none")


def test_a_caller_with_every_scope_but_the_one_is_refused(
    keyed: TestClient, document: dict[str, Any], make_key: KeyMaker
) -> None:
    without = {scope: bearer(make_key(*(other for other in ALL if other != scope))) for scope in ALL}
    for method, path, operation, scope in operations(document):
        if scope is None:
            continue
        response = call(keyed, method, path, operation, without[scope])
        assert response.status_code == 403, (method, path)
        assert response.json()["type"] == "/problems/forbidden"
        assert scope in response.json()["detail"]
        assert f'error="insufficient_scope", scope="{scope}"' in response.headers["WWW-Authenticate"]


@pytest.mark.parametrize("way", ["key", "token"])
def test_the_one_scope_is_enough(
    keyed: TestClient, document: dict[str, Any], make_key: KeyMaker, issuer: Issuer, way: str
) -> None:
    with_one = {
        scope: bearer(make_key(scope) if way == "key" else issuer.token(scope=f"openid {scope}")) for scope in ALL
    }
    for method, path, operation, scope in operations(document):
        if scope is None:
            continue
        response = call(keyed, method, path, operation, with_one[scope])
        kind = response.json()["type"] if response.status_code >= 400 else ""
        assert kind not in {"/problems/unauthenticated", "/problems/forbidden"}, (method, path)
        assert response.status_code < 500, (method, path)


def test_what_others_have_does_not_exist(
    keyed: TestClient, document: dict[str, Any], make_key: KeyMaker, issuer: Issuer
) -> None:
    mine, theirs = bearer(make_key(tenant="a")), bearer(make_key(tenant="b"))
    state: Any = keyed.app.state
    assert keyed.portal is not None
    keyed.portal.call(state.audits.keep, "a", "a" * 32, {"en": b"{}", "zh": b"{}"})
    case = keyed.post("/v1/cases", json=REPORT, headers=mine).json()["id"]
    tried = 0
    for method, path, operation, _ in operations(document):
        if not path.startswith(("/v1/cases/{", "/v1/audits/{")):
            continue
        held = case if "case" in path else "a" * 32
        answer = call(keyed, method, path, operation, theirs, held)
        assert answer.status_code == 404, (method, path)
        nothing = call(keyed, method, path, operation, theirs)
        assert {**answer.json(), "request_id": ""} == {**nothing.json(), "request_id": ""}
        tried += 1
    assert tried >= 16
    assert keyed.get("/v1/cases", headers=theirs).json()["items"] == []
    assert keyed.get(f"/v1/cases/{case}", headers=mine).status_code == 200
    assert keyed.get(f"/v1/audits/{'a' * 32}", headers=mine).status_code == 200
    assert keyed.get(f"/v1/cases/{case}", headers=bearer(issuer.token(scope="cases:read"))).status_code == 404


def test_an_idempotency_key_is_the_callers_own(keyed: TestClient, make_key: KeyMaker) -> None:
    first, other = bearer(make_key(tenant="a")), bearer(make_key(tenant="a"))
    one = {"Idempotency-Key": "same"}
    assert keyed.post("/v1/cases", json=REPORT, headers={**first, **one}).status_code == 201
    again = keyed.post("/v1/cases", json=REPORT, headers={**first, **one})
    assert again.headers["Idempotent-Replayed"] == "true"
    theirs = keyed.post("/v1/cases", json={"report": "another"}, headers={**other, **one})
    assert theirs.status_code == 201
    assert "Idempotent-Replayed" not in theirs.headers


def test_a_stored_answer_is_not_for_who_may_not_ask_any_more(keyed: TestClient, make_key: KeyMaker) -> None:
    key = make_key(Scope.KNOWLEDGE_READ)
    headers = {**bearer(key), "Idempotency-Key": "replay"}
    assert keyed.post("/v1/diagnoses", json=REPORT, headers=headers).status_code == 403


def test_paths_written_otherwise_open_nothing(keyed: TestClient) -> None:
    chance = random.Random(5)
    paths = [str(context.path) for context in iter_route_contexts(keyed.app.routes)]
    private = [path for path in paths if path not in {"/", "/healthz", "/readyz", "/problems/{slug}"}]
    pieces = ("/", "//", "%2f", "%2e%2e", "./", "..", ";", "%5c", "%0a", "%00", "%20", "%c3%a9", "%3f", "%23", "{", "A")
    requests = []
    for _ in range(300):
        path = chance.choice(private)
        for _ in range(chance.randint(0, 3)):
            at = chance.randint(1, len(path))
            path = path[:at] + chance.choice(pieces) + path[at:]
        method = chance.choice(("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS", "TRACE", "get"))
        requests.append({"method": method, "url": f"http://localhost{path}", "json": REPORT})
    answers = {response.status_code for response in call_all(keyed, requests)}
    assert answers == {401, 404, 405}


def test_routes_outside_of_the_document_are_closed_too(keyed: TestClient, document: dict[str, Any]) -> None:
    described = set(document["paths"])
    rest = {
        context.path
        for context in iter_route_contexts(keyed.app.routes)
        if str(context.path).replace(":path", "") not in described
    }
    assert {path for path in rest if keyed.get(str(path)).status_code != 401} == {"/", "/problems/{slug}"}
    assert rest >= {"/docs", "/openapi.json"}
