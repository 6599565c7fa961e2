"""From a message in Slack to the answer in its thread."""

from __future__ import annotations

import json
from typing import Any

from starlette.testclient import TestClient

from tests.api.slack import payloads
from tests.api.slack.fake_slack import FakeSlack
from tests.api.slack.payloads import CHANNEL, USER, click, event, new_ts, post_form, post_interaction, post_json

REPORT = "<@U0BOT> The loss became NaN at step 4120, after the loss scale fell to 1. We train in fp16."


def opened(client: TestClient, slack: FakeSlack, text: str = REPORT) -> tuple[str, dict[str, Any]]:
    """A case by a mention: its thread, and the message with the answer."""
    thread = new_ts()
    slack.threads[thread] = [{"text": text, "ts": thread, "user": USER}]
    assert post_json(client, event("app_mention", text=text, ts=thread)).status_code == 200
    return thread, slack.wait_for_calls("chat.postMessage")[0] | {"ts": "1700000000.000001"}


def elements(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [element for block in message["blocks"] if block["type"] == "actions" for element in block["elements"]]
    return {element["action_id"]: element for element in found}


def shown(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


def test_a_mention_is_answered_in_its_thread(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack)
    assert (message["channel"], message["thread_ts"]) == (CHANNEL, thread)
    assert "Half-precision activations overflow" in shown(message)
    assert "loss scale fell to 1" in shown(message)
    assert {"why", "resolve", "wrong"} < set(elements(message))


def test_an_answer_by_button_moves_the_ranking_and_takes_the_buttons_away(
    client: TestClient, slack: FakeSlack
) -> None:
    thread, message = opened(client, slack)
    slack.people = frozenset({USER})
    yes = next(element for name, element in elements(message).items() if name.startswith("answer:"))
    assert post_interaction(client, click(yes, message, thread)).status_code == 200
    update = slack.wait_for_calls("chat.update")[0]
    assert "answer:" not in shown(update)
    assert f"<@{USER}>" in shown(update)
    answer = slack.wait_for_calls("chat.postMessage", 2)[1]
    assert answer["thread_ts"] == thread
    assert "→" in shown(answer)
