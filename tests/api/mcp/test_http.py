"""The tools over streamable HTTP at the service itself, with and without keys."""

import re
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from api.access import Scope, keys
from api.app import create_app
from api.settings import Settings
from tests.api.access.issuer import Issuer
from tests.api.fake_engine import SOURCE
from tests.api.mcp.conftest import Chat

pytestmark = pytest.mark.anyio

URL = "http://localhost/mcp"
ACCEPT = {"Accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@asynccontextmanager
async def connection(app: FastAPI, key: str | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers) as client:
        yield client


@asynccontextmanager
async def chatting(app: FastAPI, key: str | None = None, mode: Any = "auto") -> AsyncIterator[Chat]:
    async with (
        connection(app, key) as http,
        Client(streamable_http_client(URL, http_client=http), mode=mode) as client,
    ):
        yield Chat(client)


@pytest.fixture(scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FastAPI]:
    """A service with an engine that answers at once, for callers with a key."""
    store = tmp_path_factory.mktemp("guarded") / "store.db"
    settings = Settings(store_url=f"sqlite:///{store}", mcp=True, access="keys", log_level="error")
    app = create_app(settings, source=SOURCE)
    async with app.router.lifespan_context(app):
        yield app


async def a_key(
    app: FastAPI, scopes: Iterable[Scope] = Scope, tenant: str = "default", expiry: float | None = None
) -> str:
    _, key = await app.state.store.run(
        lambda connection: keys.create(
            connection, tenant=tenant, name="chat", scopes=scopes, expiry=expiry, now=time.time()
        )
    )
    return key


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_case_over_http(service: FastAPI, mode: str) -> None:
    async with chatting(service, mode=mode) as chat:
        case = await chat.call("diagnose", report="CUDA out of memory after many steps")
        assert case["causes"]
        assert "Did you mean report" in await chat.refused("diagnose", repot="x")
        assert len((await chat.client.list_tools()).tools) == 6
        assert (await chat.client.read_resource("gate://adapter/adp-b-zero")).contents


async def test_any_worker_answers_any_request(service: FastAPI) -> None:
    """Another process on the same store goes on with a case: nothing is kept between two requests."""
    other = create_app(service.state.settings)
    async with chatting(service) as first:
        case = await first.call("diagnose", report="loss is NaN")
    async with other.router.lifespan_context(other), chatting(other) as second:
        answered = await second.call("answer_check", case_id=case["case_id"], findings={"loss.nan": "present"})
        assert answered["case_id"] == case["case_id"]


async def test_without_a_key_nothing_is_told(guarded: FastAPI) -> None:
    async with connection(guarded) as http:
        answer = await http.post(URL, json=LIST)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("key", ["tt_000000000000_" + "0" * 64, "nonsense", ""])
async def test_a_wrong_key_is_refused(guarded: FastAPI, key: str) -> None:
    async with connection(guarded, key) as http:
        assert (await http.post(URL, json=LIST)).status_code == 401


async def test_an_expired_key_is_refused(guarded: FastAPI) -> None:
    async with connection(guarded, await a_key(guarded, expiry=time.time() - 1)) as http:
        assert (await http.post(URL, json=LIST)).status_code == 401


async def test_the_right_key_is_the_caller(guarded: FastAPI) -> None:
    async with chatting(guarded, await a_key(guarded)) as chat:
        case = await chat.call("diagnose", report="the loss is NaN")
    async with connection(guarded, await a_key(guarded)) as http:
        kept = (await http.get(f"http://localhost/v1/cases/{case['case_id']}")).json()
    assert kept["opened_by"]["name"] == "chat"
    assert kept["opened_by"]["id"].startswith("key:")
    assert kept["source"]["kind"] == "mcp"


async def test_a_key_for_something_else_does_not_get_in(guarded: FastAPI) -> None:
    async with connection(guarded, await a_key(guarded, [Scope.ALERTS_WRITE])) as http:
        answer = await http.post(URL, json=LIST)
    assert answer.status_code == 403


async def test_a_tool_needs_its_own_scope(guarded: FastAPI) -> None:
    async with chatting(guarded, await a_key(guarded, [Scope.DIAGNOSE, Scope.KNOWLEDGE_READ])) as chat:
        assert "cases:write" in await chat.refused("diagnose", report="the loss is NaN")


async def test_tenants_do_not_meet(guarded: FastAPI) -> None:
    async with chatting(guarded, await a_key(guarded, tenant="one")) as chat:
        case = await chat.call("diagnose", report="the loss is NaN")
    async with chatting(guarded, await a_key(guarded, tenant="two")) as chat:
        told = await chat.refused("diagnose", case_id=case["case_id"], report="the loss is NaN")
    assert "No case of yours has this id" in told


@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 400), ({"Origin": "https://evil.example"}, 403)]
)
async def test_other_hosts_and_pages_are_kept_out(service: FastAPI, headers: dict[str, str], status: int) -> None:
    async with connection(service) as http:
        assert (await http.post(URL, json=LIST, headers=headers)).status_code == status


async def test_only_messages_are_taken(service: FastAPI) -> None:
    async with connection(service) as http:
        for method in ("GET", "DELETE"):
            answer = await http.request(method, URL)
            assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
        for body in (b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff", b'"' + b"[" * 50_000):
            answer = await http.post(URL, content=body, headers={"Content-Type": "application/json"})
            assert 400 <= answer.status_code < 500, body[:20]
        large = b" " * (service.state.settings.max_document_bytes + 1)
        answer = await http.post(URL, content=large, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413


async def test_it_is_not_there_unless_switched_on(tmp_path: Path) -> None:
    app = create_app(Settings(store_url=f"sqlite:///{tmp_path}/store.db", log_level="error"), source=SOURCE)
    async with app.router.lifespan_context(app), connection(app) as http:
        assert (await http.post(URL, json=LIST)).status_code == 404


@pytest.mark.parametrize("bad", [{"a": 1}, [1], None, 1.5, True])
async def test_an_id_that_is_none_is_refused_and_not_taken_for_a_notification(service: FastAPI, bad: Any) -> None:
    async with connection(service) as client:
        response = await client.post(URL, json={"jsonrpc": "2.0", "id": bad, "method": "ping"}, headers=ACCEPT)
        assert response.status_code == 400
        assert (response.json()["id"], response.json()["error"]["code"]) == (None, -32600)
        for message in ({"id": 7}, {"id": "seven"}):
            ping = {"jsonrpc": "2.0", "method": "ping", **message}
            answer = (await client.post(URL, json=ping, headers=ACCEPT)).json()
            assert answer == {"jsonrpc": "2.0", "result": {}, **message}


async def test_a_client_finds_the_identity_provider_by_itself(tmp_path: Path) -> None:
    issuer = Issuer(tmp_path / "keys.json")
    settings = Settings(
        store_url=f"sqlite:///{tmp_path}/store.db",
        mcp=True,
        access="keys",
        log_level="error",
        public_url="https://triage.example.org/",
        allowed_hosts="triage.example.org",
        **issuer.settings(),
    )
    app = create_app(settings, source=SOURCE)
    async with app.router.lifespan_context(app), connection(app) as client:
        refused = await client.post(URL, json=LIST, headers=ACCEPT)
        (found,) = re.findall(r'resource_metadata="([^"]*)"', refused.headers["WWW-Authenticate"])
        document = (await client.get(found)).json()
        other = await client.get("http://localhost/v1/cases")
    assert found == "https://triage.example.org/.well-known/oauth-protected-resource/mcp"
    assert document["resource"] == "https://triage.example.org/mcp"
    assert document["authorization_servers"] == [settings.oidc_issuer]
    assert "diagnose" in document["scopes_supported"]
    assert (other.status_code, "resource_metadata" in other.headers["WWW-Authenticate"]) == (401, False)


async def test_without_a_provider_none_is_told(guarded: FastAPI) -> None:
    async with connection(guarded) as client:
        refused = await client.post(URL, json=LIST, headers=ACCEPT)
        assert "resource_metadata" not in refused.headers["WWW-Authenticate"]
        assert (await client.get("http://localhost/.well-known/oauth-protected-resource")).status_code == 404
