"""Who of Slack is let in, and what they may do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from engine.knowledge.knowledge import Knowledge
from tests.api.conftest import a_client
from tests.api.slack.conftest import settled, slack_settings
from tests.api.slack.fake_slack import FakeSlack
from tests.api.slack.payloads import click, event, new_ts, post_interaction, post_json
from tests.api.slack.test_flow import REPORT, shown


@pytest.fixture(scope="module")
def reader(
    tmp_path_factory: pytest.TempPathFactory, running_slack: FakeSlack, knowledge: Knowledge
) -> Iterator[TestClient]:
    """A service in which people of Slack may only read."""
    settings = slack_settings(tmp_path_factory.mktemp("slack"), running_slack, slack_scopes=("cases:read",))
    with a_client(create_app(settings, knowledge)) as client:
        yield client


def test_another_workspace_is_refused_and_not_sent_again(client: TestClient, slack: FakeSlack) -> None:
    answer = post_json(client, {**event("app_mention", text=REPORT), "team_id": "T0OTHER"})
    assert (answer.status_code, answer.headers["x-slack-no-retry"]) == (403, "1")
    assert answer.json()["type"] == "/problems/unknown-workspace"
    assert slack.calls == []


def test_a_guest_from_another_workspace_in_a_shared_channel_is_not_heard(client: TestClient, slack: FakeSlack) -> None:
    assert post_json(client, event("app_mention", text=REPORT, user_team="T0OTHER")).status_code == 200
    settled(client)
    assert slack.calls == []


def test_who_may_only_read_is_told_so(reader: TestClient, slack: FakeSlack) -> None:
    assert post_json(reader, event("app_mention", text=REPORT)).status_code == 200
    assert "cases:write" in shown(slack.wait_for_calls("chat.postEphemeral")[0])
    assert slack.called("chat.postMessage") == []


def test_a_button_that_names_a_case_of_somebody_else_finds_nothing(client: TestClient, slack: FakeSlack) -> None:
    element = {"type": "button", "action_id": "why", "value": f'{{"c":"{"0" * 32}","k":"numerics/nan"}}'}
    message = {"ts": new_ts(), "blocks": [], "text": "x"}
    assert post_interaction(client, click(element, message, new_ts())).status_code == 200
    assert "No case of yours" in shown(slack.wait_for_calls("chat.postEphemeral")[0])
