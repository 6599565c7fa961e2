"""Gates: no route without one, addresses, rates, and what an open service does with all this."""

import time
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from api.access import Caller, Scope, authentication, caller_of, needs, public
from api.access.gates import Gates, UndeclaredRouteError, peer
from api.app import create_app
from api.rates import Rate
from api.settings import Settings
from api.store import StoreError
from tests.api.access.conftest import KeyMaker, bearer
from tests.api.conftest import REPORT, a_client
from tests.api.fake_engine import SOURCE


async def answer() -> str:
    return "done"


def undeclared(app: FastAPI) -> None:
    app.add_api_route("/more", answer)


def declared_twice(app: FastAPI) -> None:
    router = APIRouter(dependencies=[needs(Scope.ADMIN)])
    router.add_api_route("/more", answer, dependencies=[public()])
    app.include_router(router)


def mounted(app: FastAPI) -> None:
    app.router.routes.append(Mount("/more", app=PlainTextResponse("done")))


def plain_route(app: FastAPI) -> None:
    app.router.routes.append(Route("/more", lambda _: PlainTextResponse("done")))


@pytest.mark.parametrize("add", [undeclared, declared_twice, mounted, plain_route])
def test_a_route_declares_one_thing(add: Any) -> None:
    app = FastAPI(openapi_url=None)
    add(app)
    with pytest.raises(UndeclaredRouteError, match="/more"):
        Gates().learn(app)


def test_a_route_that_declares_nothing_stops_the_start_of_an_open_service_too(app: FastAPI) -> None:
    undeclared(app)
    with pytest.raises(UndeclaredRouteError, match="/more"), a_client(app):
        pass


def test_a_route_checks_by_itself_what_the_middleware_checks(store_settings: Settings) -> None:
    """So that a path which the two read differently is not open."""
    app = create_app(store_settings, source=SOURCE)
    with a_client(app) as client:
        app.state.gates.__init__()  # the middleware knows no routes any more
        assert client.get("/v1/causes").status_code == 401
        assert client.post("/v1/diagnoses", json=REPORT).status_code == 401


def test_a_body_is_not_read_before_the_caller_is_known(store_settings: Settings) -> None:
    with a_client(create_app(store_settings, source=SOURCE)) as client:
        for headers in ({"Content-Type": "application/json"}, {"Content-Type": "text/plain"}):
            assert client.post("/v1/diagnoses", content=b"{", headers=headers).status_code == 401


def test_the_first_of_two_routes_for_a_path_counts() -> None:
    app = FastAPI(openapi_url=None)
    app.add_api_route("/{name}", answer, dependencies=[needs(Scope.ADMIN)])
    app.add_api_route("/a/{rest:path}", answer, methods=["GET", "PUT"], dependencies=[public()])
    app.add_api_route("/fixed", answer, methods=["POST"], dependencies=[needs(Scope.DIAGNOSE)])
    gates = Gates()
    gates.learn(app)
    found = {
        (method, path): gate and gate.scope
        for method, path in (("GET", "/x"), ("PUT", "/a/b/c"), ("POST", "/fixed"), ("GET", "/fixed"))
        for gate in [gates.of(method, path)]
    }
    assert list(found.values()) == [Scope.ADMIN, None, Scope.DIAGNOSE, Scope.ADMIN]
    assert gates.of("PUT", "/x") is None
    assert gates.of("GET", "/x/y") is None


def test_an_open_service_has_one_caller_who_may_do_everything(app: FastAPI) -> None:
    seen: list[Caller] = []

    async def ask(request: Request) -> None:
        seen.append(caller_of(request))

    app.add_api_route("/ask", ask, dependencies=[needs(Scope.ADMIN)])
    with a_client(app) as client:
        assert client.get("/ask", headers={"Authorization": "Bearer nonsense"}).status_code == 200
    assert [(caller.id, caller.tenant, caller.scopes) for caller in seen] == [("local", "default", frozenset(Scope))]


def test_a_public_route_has_no_caller(store_settings: Settings) -> None:
    seen: list[Any] = []

    async def ask(request: Request) -> None:
        seen.append(request.state.caller)
        with pytest.raises(RuntimeError):
            caller_of(request)

    app = create_app(store_settings, source=SOURCE)
    app.add_api_route("/ask", ask, dependencies=[public()])
    with a_client(app) as client:
        assert client.get("/ask").status_code == 200
        assert client.get("/ask", headers=bearer("tt_wrong")).status_code == 200
    assert seen == [None, None]


def test_basic_with_the_key_as_password(keyed: TestClient, make_key: KeyMaker) -> None:
    token = make_key(Scope.KNOWLEDGE_READ)
    assert keyed.get("/v1/causes", auth=("anybody", token)).status_code == 200
    assert keyed.get("/v1/causes", auth=("", token)).status_code == 200
    assert keyed.get("/v1/causes", auth=(token, "")).status_code == 401
    assert keyed.get("/v1/causes", headers={"Authorization": "Basic ???"}).status_code == 401
    assert keyed.get("/v1/causes", headers={"Authorization": f"bearer   {token}"}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    ["Bearer", "Bearer ", "Basic " + "A" * 9000, "Bearer é", "Negotiate abc", "tt_x", "Bearer a b", "Basic dHQ="],
)
def test_malformed_headers_are_a_401(keyed: TestClient, sent: str) -> None:
    response = keyed.get("/v1/causes", headers={"Authorization": sent.encode()})
    assert (response.status_code, response.json()["type"]) == (401, "/problems/unauthenticated")


def test_two_authorization_headers_are_refused(keyed: TestClient, make_key: KeyMaker) -> None:
    good = f"Bearer {make_key()}"
    response = keyed.get("/v1/causes", headers=[("Authorization", good), ("Authorization", "Bearer other")])
    assert response.status_code == 401


def test_a_browser_is_asked_for_a_password(keyed: TestClient) -> None:
    response = keyed.get("/docs", headers={"Accept": "text/html,*/*"})
    assert 'Basic realm="traintriage"' in response.headers["WWW-Authenticate"]
    assert "Basic" not in keyed.get("/docs").headers["WWW-Authenticate"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_refusals_come_in_both_languages(keyed: TestClient, make_key: KeyMaker, lang: str) -> None:
    asked = {"Accept-Language": lang}
    nobody = keyed.get("/v1/causes", headers=asked)
    other = keyed.get("/v1/causes", headers={**asked, **bearer(make_key(Scope.DIAGNOSE))})
    for response in (nobody, other):
        assert response.headers["Content-Language"] == lang
        text = response.json()["title"] + response.json()["detail"]
        assert any("一" <= character <= "鿿" for character in text) is (lang == "zh")


def test_a_revoked_key_is_refused_within_seconds(keyed: TestClient, make_key: KeyMaker, monkeypatch: Any) -> None:
    token = make_key()
    assert keyed.get("/v1/causes", headers=bearer(token)).status_code == 200
    make_key.revoke(token)
    later = time.time() + 5.1
    monkeypatch.setattr(_authenticator(keyed), "_clock", lambda: later)
    assert keyed.get("/v1/causes", headers=bearer(token)).status_code == 401


def _authenticator(client: TestClient) -> Any:
    layer: Any = client.app.middleware_stack
    while not hasattr(layer, "authenticator"):
        layer = layer.app
    return layer.authenticator


def test_a_key_is_looked_up_once_in_a_while(keyed: TestClient, make_key: KeyMaker, monkeypatch: Any) -> None:
    token = make_key()
    keyed.get("/v1/causes", headers=bearer(token))

    def fail(*_: Any) -> None:
        raise AssertionError("the store was asked")

    monkeypatch.setattr(keyed.app.state.store, "read", fail)
    assert keyed.get("/v1/causes", headers=bearer(token)).status_code == 200


def test_what_is_remembered_is_bounded(keyed: TestClient, make_key: KeyMaker, monkeypatch: Any) -> None:
    fresh = _authenticator(keyed)._fresh
    monkeypatch.setattr(authentication, "MOST_FRESH", len(fresh) + 1)
    for _ in range(3):
        assert keyed.get("/v1/causes", headers=bearer(make_key())).status_code == 200
    assert len(_authenticator(keyed)._fresh) <= authentication.MOST_FRESH


def limited(settings: Settings, **rates: Rate) -> TestClient:
    return a_client(create_app(settings.model_copy(update=rates), source=SOURCE))


def test_each_caller_and_class_has_a_rate_of_its_own(store_settings: Settings) -> None:
    make_key = KeyMaker(store_settings.store_url)
    with limited(store_settings, rate_reading=Rate(2, 3600), rate_diagnosing=Rate(1, 3600)) as client:
        one, other = bearer(make_key()), bearer(make_key())
        assert [client.get("/v1/causes", headers=one).status_code for _ in range(3)] == [200, 200, 429]
        assert client.post("/v1/diagnoses", json=REPORT, headers=one).status_code == 200
        refused = client.post("/v1/diagnoses", json=REPORT, headers=one)
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-requests")
        assert 3500 < int(refused.headers["Retry-After"]) <= 3600
        assert client.get("/v1/causes", headers=other).status_code == 200


def test_who_says_nothing_is_counted_by_address(store_settings: Settings) -> None:
    with limited(store_settings, rate_reading=Rate(3, 3600)) as client:
        asked = ["/healthz", "/v1/causes", "/", "/healthz"]
        assert [client.get(path).status_code for path in asked] == [200, 401, 200, 429]


def test_wrong_keys_are_limited_and_do_not_lock_out_who_is_known(store_settings: Settings) -> None:
    make_key = KeyMaker(store_settings.store_url)
    with limited(store_settings, rate_failures=Rate(3, 3600)) as client:
        good, late = bearer(make_key()), bearer(make_key())
        assert client.get("/v1/causes", headers=good).status_code == 200
        wrong = [bearer(f"tt_{'0' * 12}_{number:064x}") for number in range(4)]
        assert [client.get("/v1/causes", headers=headers).status_code for headers in wrong] == [401, 401, 401, 429]
        assert client.get("/v1/causes", headers=good).status_code == 200
        assert client.get("/v1/causes", headers=late).status_code == 429  # until the address may try again


def test_a_path_written_otherwise_is_no_way_around_a_rate(store_settings: Settings) -> None:
    with limited(store_settings, rate_diagnosing=Rate(2, 3600)) as client:
        paths = ("/v1/diagnoses", "/v1/diagnoses%0a", "/v1/%64iagnoses", "/v1/diagnoses%0A")
        assert [client.post(path, json=REPORT).status_code for path in paths] == [401, 401, 429, 429]


def test_alerts_beyond_the_rate_get_what_makes_their_sender_come_again(store_settings: Settings) -> None:
    make_key = KeyMaker(store_settings.store_url)
    with limited(store_settings, rate_webhooks=Rate(1, 3600)) as client:
        key = bearer(make_key(Scope.ALERTS_WRITE))
        for path, headers in (("/v1/webhooks/alertmanager", key), ("/v1/webhooks/pagerduty", {})):
            assert client.post(path, json={}, headers=headers).status_code in {404, 422}
            refused = client.post(path, json={}, headers=headers)
            assert (refused.status_code, refused.json()["type"]) == (503, "/problems/too-many-alerts")
            assert int(refused.headers["Retry-After"]) > 3500


def test_an_open_service_has_no_rates(settings: Settings) -> None:
    with limited(settings, rate_reading=Rate(1, 3600)) as client:
        assert [client.get("/v1/causes").status_code for _ in range(3)] == [200] * 3


@pytest.mark.parametrize(
    ("client", "forwarded", "counts"),
    [
        ("192.0.2.7", None, "192.0.2.7"),
        ("192.0.2.7", "198.51.100.1", "192.0.2.7"),  # not a proxy of ours: anybody can write this header
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"),  # what stands before it may be invented
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "nonsense" * 20, ("nonsense" * 20)[:64]),
        ("10.0.0.1", "", "10.0.0.1"),
        ("2001:db8:1:2:3::4", None, "2001:db8:1:2::/64"),
        (None, None, ""),
    ],
)
def test_the_address_that_counts(client: str | None, forwarded: str | None, counts: str) -> None:
    proxies = Settings.from_env({"TRAINTRIAGE_TRUSTED_PROXIES": "10.0.0.0/8"}).trusted_proxies
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    scope = {"type": "http", "client": (client, 1) if client else None, "headers": headers}
    assert peer(scope, proxies) == counts


def test_a_store_that_cannot_be_read_is_a_503(keyed: TestClient, make_key: KeyMaker, monkeypatch: Any) -> None:
    async def fail(*_: Any) -> None:
        raise StoreError("the disk is on fire")

    monkeypatch.setattr(keyed.app.state.store, "read", fail)
    response = keyed.get("/v1/causes", headers=bearer(make_key()))
    assert (response.status_code, response.json()["type"]) == (503, "/problems/store-unavailable")
    assert keyed.get("/healthz", headers=bearer(make_key())).status_code == 200
    assert "fire" not in response.text
