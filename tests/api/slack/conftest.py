"""The service with Slack switched on, and a Slack to talk to."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge
from tests.api.conftest import a_client
from tests.api.slack.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.api.slack.payloads import SECRET, TEAM


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    return load_knowledge()


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
