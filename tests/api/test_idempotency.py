"""Idempotency-Key on every POST."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from api.store import KeyStore, Outcome, Store, StoredAnswer
from api.store.idempotency import PURGE_EVERY, KeyLimits
from tests.api.conftest import REPORT, a_client
from tests.api.fake_engine import SOURCE

URL = "/v1/diagnoses"
LARGE = {"log": ["x" * 100] * 1000}
POSTS: dict[str, dict[str, Any]] = {
    URL: REPORT,
    f"{URL}/why-not?cause=numerics/overflow": REPORT,
    "/v1/calculators/tokens-per-update": {"data_parallel": 1, "sequence_length": 8, "microbatch": 1},
    "/v1/calculators/training-memory": {"parameters": "7B", "gpus": 8},
}


@pytest.mark.parametrize("url", POSTS)
def test_the_same_request_gets_the_stored_answer(client: TestClient, url: str) -> None:
    headers = {"Idempotency-Key": f"key-{list(POSTS).index(url)}", "Accept-Language": "zh"}
    first = client.post(url, json=POSTS[url], headers=headers)
    again = client.post(url, json=POSTS[url], headers=headers)
    assert first.status_code == again.status_code == 200
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.content == first.content
    for name in ("content-type", "content-language", "vary"):
        assert again.headers[name] == first.headers[name]


def test_a_replay_does_no_work(client: TestClient) -> None:
    def diagnoses() -> str:
        lines = client.get("/metrics").text.splitlines()
        return next(line for line in lines if line.startswith("traintriage_diagnoses_total"))

    client.post(URL, json=REPORT, headers={"Idempotency-Key": "work"})
    before = diagnoses()
    client.post(URL, json=REPORT, headers={"Idempotency-Key": "work"})
    assert diagnoses() == before


@pytest.mark.parametrize(
    "change",
    [
        {"json": {"report": "other"}},
        {"url": f"{URL}?limit=3"},
        {"url": f"{URL}/why-not?cause=numerics/overflow"},
        {"headers": {"Accept-Language": "zh"}},
    ],
)
def test_another_request_with_the_key_is_refused(client: TestClient, change: dict[str, Any]) -> None:
    key = {"Idempotency-Key": f"other-{sorted(change.items())!s}".translate({32: "-", 34: "-"})[:100]}
    assert client.post(URL, json=REPORT, headers=key).status_code == 200
    request: dict[str, Any] = {"url": URL, "json": REPORT, **change}
    response = client.post(**{**request, "headers": {**key, **request.get("headers", {})}})
    assert response.status_code == 422
    assert response.json()["type"] == "/problems/key-reused"
    assert response.json()["errors"][0]["pointer"] == "/Idempotency-Key"


def test_quotes_are_no_part_of_the_key(client: TestClient) -> None:
    client.post(URL, json=REPORT, headers={"Idempotency-Key": '"quoted"'})
    again = client.post(URL, json=REPORT, headers={"Idempotency-Key": "quoted"})
    assert again.headers["idempotent-replayed"] == "true"


def test_a_failed_request_leaves_the_key_free(client: TestClient) -> None:
    headers = {"Idempotency-Key": "failed"}
    assert client.post(URL, json={"reprot": "x"}, headers=headers).status_code == 422
    assert client.post(URL, json={"report": "explode"}, headers=headers).status_code == 500
    response = client.post(URL, json=REPORT, headers=headers)
    assert response.status_code == 200
    assert "idempotent-replayed" not in response.headers


def test_another_boundary_is_no_other_request(client: TestClient) -> None:
    def send(boundary: str, content: str) -> httpx2.Response:
        body = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="a.log"\r\n\r\n{content}\r\n'
            f"--{boundary}--\r\n"
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Idempotency-Key": "parts"}
        return client.post(URL, content=body, headers=headers)

    assert send("one", "step 1").status_code == 200
    assert send("two", "step 1").headers["idempotent-replayed"] == "true"
    assert send("two", "step 2").status_code == 422


def test_fifty_at_once_give_one_diagnosis(store_url: str) -> None:
    app = create_app(Settings(store_url=store_url), source=SOURCE)

    async def run() -> tuple[list[httpx2.Response], str]:
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                send = [client.post(URL, json=LARGE, headers={"Idempotency-Key": "many"}) for _ in range(50)]
                responses = list(await asyncio.gather(*send))
                last = await client.post(URL, json=LARGE, headers={"Idempotency-Key": "many"})
                assert last.headers["idempotent-replayed"] == "true"
                return responses, (await client.get("/metrics")).text

    responses, metrics = asyncio.run(run())
    done = [response for response in responses if response.status_code == 200]
    in_flight = [response for response in responses if response.status_code == 409]
    assert len(done) + len(in_flight) == 50
    assert in_flight
    assert in_flight[0].json()["type"] == "/problems/key-in-flight"
    assert in_flight[0].headers["retry-after"] == "1"
    assert len({response.content for response in done}) == 1
    assert 'traintriage_diagnoses_total{answered_by="durable-rules"} 1.0' in metrics


def test_keys_survive_a_restart(store_url: str) -> None:
    settings = Settings(store_url=store_url)
    for replayed in (None, "true"):
        with a_client(create_app(settings, source=SOURCE)) as client:
            response = client.post(URL, json=REPORT, headers={"Idempotency-Key": "restart"})
            assert response.headers.get("idempotent-replayed") == replayed


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def with_keys(store_url: str, limits: KeyLimits, work: Any) -> None:
    async def run() -> None:
        clock = Clock()
        store = Store(store_url)
        await store.start()
        await store.start()  # a second start finds nothing to do
        await work(KeyStore(store, limits, clock), clock, store)
        await store.close()

    asyncio.run(run())


def count(connection: Any) -> int:
    return int(connection.exec_driver_sql("SELECT count(*) FROM idempotency_keys").scalar())


ANSWER = StoredAnswer(200, {"content-type": "application/json"}, json.dumps(REPORT).encode())


def test_a_key_expires(store_url: str) -> None:
    async def work(keys: KeyStore, clock: Clock, _: Store) -> None:
        assert (await keys.claim("k", "d", "r")).outcome is Outcome.CLAIMED
        await keys.keep("k", ANSWER)
        assert (await keys.claim("k", "d", "r")).answer == ANSWER
        clock.now += 99
        assert (await keys.claim("k", "d", "r")).outcome is Outcome.REPLAY
        clock.now += 2
        assert (await keys.claim("k", "other", "r")).outcome is Outcome.CLAIMED

    with_keys(store_url, KeyLimits(keys=10, size=10_000, seconds=100, in_flight_seconds=10), work)


def test_a_claim_of_a_dead_process_is_taken_over(store_url: str) -> None:
    async def work(keys: KeyStore, clock: Clock, _: Store) -> None:
        assert (await keys.claim("k", "d", "r")).outcome is Outcome.CLAIMED
        assert (await keys.claim("k", "d", "r")).outcome is Outcome.IN_FLIGHT
        clock.now += 11
        assert (await keys.claim("k", "d", "r")).outcome is Outcome.CLAIMED

    with_keys(store_url, KeyLimits(keys=10, size=10_000, seconds=100, in_flight_seconds=10), work)


@pytest.mark.parametrize(("keys_limit", "size"), [(5, 10**9), (10**6, 5 * 40)])
def test_the_oldest_answers_go_first(store_url: str, keys_limit: int, size: int) -> None:
    async def work(keys: KeyStore, clock: Clock, store: Store) -> None:
        for number in range(PURGE_EVERY):
            clock.now += 1
            await keys.claim(f"k{number}", "d", "r")
            await keys.keep(f"k{number}", ANSWER)
        assert 4 <= await store.run(count) <= 6
        assert (await keys.claim(f"k{PURGE_EVERY - 1}", "d", "r")).outcome is Outcome.REPLAY
        assert (await keys.claim("k0", "d", "r")).outcome is Outcome.CLAIMED

    with_keys(store_url, KeyLimits(keys=keys_limit, size=size, seconds=10_000, in_flight_seconds=10), work)
