"""The service with Slack switched on, and a Slack to talk to."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from api.store import jobs
from engine.knowledge.knowledge import Knowledge
from tests.api.conftest import a_client
from tests.api.slack.fake_slack import APP_TOKEN, BOT_TOKEN, PATIENCE, FakeSlack
from tests.api.slack.payloads import SECRET, TEAM


@pytest.fixture(scope="session")
def running_slack() -> Iterator[FakeSlack]:
    fake = FakeSlack()
    fake.start()
    yield fake
    fake.close()


@pytest.fixture
def slack(running_slack: FakeSlack) -> Iterator[FakeSlack]:
    """Slack, which at the end of the test has nothing to complain about."""
    running_slack.forget()
    yield running_slack
    assert running_slack.complaints == []


def slack_settings(folder: object, fake: FakeSlack, **more: object) -> Settings:
    return Settings.model_validate({
        "store_url": f"sqlite:///{folder}/store.db",
        "slack_signing_secrets": (SECRET,),
        "slack_bot_token": BOT_TOKEN,
        "slack_app_token": APP_TOKEN,
        "slack_teams": (f"{TEAM}=research",),
        "slack_api_url": f"{fake.url}/api/",
        "slack_files_url": fake.url,
        **more,
    })  # fmt: skip


@pytest.fixture(scope="session")
def client(
    tmp_path_factory: pytest.TempPathFactory, running_slack: FakeSlack, knowledge: Knowledge
) -> Iterator[TestClient]:
    """The service with the real engine, connected to our Slack."""
    settings = slack_settings(tmp_path_factory.mktemp("slack"), running_slack, slack_channel="C0ALERT")
    with a_client(create_app(settings, knowledge)) as client:
        yield client


def settled(client: TestClient) -> None:
    """Wait until no job of Slack's is left."""

    kinds, store = ("slack.delivery", "slack.post"), client.app.state.store

    def is_busy(connection: Any) -> bool:
        return jobs.any_due(connection, kinds, time.time() + 600)

    async def wait() -> None:
        async with asyncio.timeout(PATIENCE):
            while await store.read(is_busy):  # noqa: ASYNC110 - nobody tells when the last job is done
                await asyncio.sleep(0.02)

    client.portal.call(wait)


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test leaves work to the next."""
    yield
    if "client" in request.fixturenames:
        settled(request.getfixturevalue("client"))
