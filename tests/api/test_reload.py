"""A new knowledge base is swapped in while requests are answered."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from api.app import create_app
from api.expert import Expert, ReloadError
from api.problem import Problem
from api.reader import Reader, Source
from api.serve import reload_and_log
from api.settings import Settings
from engine.knowledge.knowledge import Knowledge
from tests.api.conftest import REPORT
from tests.api.fake_engine import FakeDiagnoser, make_knowledge

LARGE = {"log": ["x" * 100] * 1000}


@dataclass(frozen=True)
class FromFile:
    """Knowledge whose digest is the text of a file; some texts misbehave."""

    path: Path

    def __call__(self) -> Knowledge:
        content = self.path.read_text()
        if content == "broken":
            raise ValueError("kb/causes/x.yaml:3: unknown key")
        if content == "hangs":
            import time

            time.sleep(3600)
        if content == "crashes":
            os._exit(139)
        return make_knowledge(digest=content)


@dataclass
class Builds:
    """Builds fakes and keeps them; in another process the copy keeps its own."""

    built: list[FakeDiagnoser] = field(default_factory=list)

    def __call__(self, knowledge: Knowledge) -> FakeDiagnoser:
        self.built.append(FakeDiagnoser(knowledge))
        return self.built[-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "knowledge"
    path.write_text("one")
    return path


def run(app: FastAPI, work: Callable[[httpx2.AsyncClient, Expert], Any]) -> Any:
    async def inside() -> Any:
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await work(client, app.state.expert)

    return asyncio.run(inside())


def make(settings: Settings, path: Path, **changes: Any) -> tuple[FastAPI, list[FakeDiagnoser]]:
    builds = Builds()
    settings = settings.model_copy(update=changes)
    return create_app(settings, source=Source(load=FromFile(path), build=builds)), builds.built


def test_no_request_is_dropped_and_the_old_engine_is_closed(settings: Settings, path: Path) -> None:
    app, built = make(settings, path)

    async def work(client: httpx2.AsyncClient, expert: Expert) -> None:
        digests: list[str] = []
        stop = asyncio.Event()

        async def keep_asking(case: dict[str, Any]) -> None:
            while not stop.is_set():
                response = await client.post("/v1/diagnoses", json=case)
                assert response.status_code == 200, response.text
                digests.append(response.json()["kb_digest"])
                await asyncio.sleep(0.001)  # in process nothing else would ever give way

        asking = [asyncio.create_task(keep_asking(case)) for case in (REPORT, REPORT, LARGE)]
        for name in ("two", "three"):
            path.write_text(name)  # noqa: ASYNC240 - a few bytes
            assert await expert.reload() == name
        count = len(digests)
        while len(digests) < count + 6:  # noqa: ASYNC110 - waits for a number of answers
            await asyncio.sleep(0.01)
        stop.set()
        await asyncio.gather(*asking)
        assert digests[0] == "one"
        assert set(digests) == {"one", "two", "three"}
        assert digests[-1] == "three"
        assert [diagnoser.closed for diagnoser in built] == [True, True, False]
        metrics = (await client.get("/metrics")).text
        assert 'traintriage_knowledge_reloads_total{outcome="done"} 2.0' in metrics

    run(app, work)
    assert all(diagnoser.closed for diagnoser in built)
    assert {len(diagnoser.threads) for diagnoser in built} == {1}


def test_a_request_under_way_keeps_its_engine(settings: Settings, path: Path) -> None:
    app, built = make(settings, path)

    async def work(_: httpx2.AsyncClient, expert: Expert) -> None:
        with expert.lease() as generation:
            path.write_text("two")  # noqa: ASYNC240 - a few bytes
            await expert.reload()
            assert not generation.diagnoser.closed
            assert expert.knowledge.digest == "two"
        assert built[0].closed

    run(app, work)


@pytest.mark.parametrize(
    ("content", "reason"), [("broken", "unknown key"), ("hangs", "not loaded within"), ("crashes", "ended")]
)
def test_bad_knowledge_changes_nothing(
    settings: Settings, path: Path, content: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    app, _ = make(settings, path, validation_seconds=2.0 if content == "hangs" else 60.0)

    async def work(client: httpx2.AsyncClient, expert: Expert) -> None:
        path.write_text(content)  # noqa: ASYNC240 - a few bytes
        with pytest.raises(ReloadError, match=reason):
            await expert.reload()
        await reload_and_log(app.state)
        assert (await client.post("/v1/diagnoses", json=REPORT)).json()["kb_digest"] == "one"
        assert 'reloads_total{outcome="failed"} 2.0' in (await client.get("/metrics")).text

    run(app, work)
    assert "reload failed, the old knowledge base stays in use" in capfd.readouterr().err


def test_a_reading_process_that_does_not_load_in_time_is_not_ready(settings: Settings, path: Path) -> None:
    app, _ = make(settings, path, validation_seconds=0.1)

    async def work(client: httpx2.AsyncClient, _: Expert) -> None:
        path.write_text("hangs")  # noqa: ASYNC240 - a few bytes
        late = await client.post("/v1/diagnoses", json=LARGE)
        assert late.status_code == 503
        assert late.json()["type"] == "/problems/not-ready"
        assert late.headers["retry-after"] == "5"

    run(app, work)


def test_reading_has_a_time_limit_and_the_next_case_is_read(settings: Settings, path: Path) -> None:
    app, _ = make(settings, path, reading_seconds=2.0)

    async def work(client: httpx2.AsyncClient, _: Expert) -> None:
        assert (await client.post("/v1/diagnoses", json=LARGE)).status_code == 200
        slow = await client.post("/v1/diagnoses", json={"report": "take for ever", **LARGE})
        assert slow.status_code == 503
        assert slow.json()["type"] == "/problems/reading-timeout"
        assert (await client.post("/v1/diagnoses", json=LARGE)).status_code == 200

    run(app, work)


def test_small_cases_are_answered_while_a_large_one_is_read(settings: Settings, path: Path) -> None:
    app, _ = make(settings, path, reading_seconds=2.0)

    async def work(client: httpx2.AsyncClient, _: Expert) -> None:
        slow = asyncio.create_task(client.post("/v1/diagnoses", json={"report": "take for ever", **LARGE}))
        await asyncio.sleep(0)
        for _number in range(5):
            assert (await client.post("/v1/diagnoses", json=REPORT)).status_code == 200
        assert not slow.done()
        assert (await slow).status_code == 503

    run(app, work)


def test_the_queue_is_bounded(settings: Settings, path: Path) -> None:
    app, _ = make(settings, path, reading_queue=2)

    async def work(client: httpx2.AsyncClient, _: Expert) -> None:
        responses = await asyncio.gather(*(client.post("/v1/diagnoses", json=LARGE) for _ in range(6)))
        statuses = sorted(response.status_code for response in responses)
        assert statuses[:2] == [200, 200]
        assert statuses[-1] == 503
        refused = next(response for response in responses if response.status_code == 503)
        assert refused.json()["type"] == "/problems/busy"
        assert refused.headers["retry-after"] == "5"

    run(app, work)


def test_before_the_start_nothing_is_ready(app: FastAPI) -> None:
    with pytest.raises(Problem) as caught:
        _ = app.state.expert.knowledge
    assert caught.value.kind.status == 503


def test_closing_a_reader_that_never_ran(path: Path) -> None:
    Reader(Source(load=FromFile(path), build=FakeDiagnoser), start_seconds=1, seconds=1, queue=1).close()
