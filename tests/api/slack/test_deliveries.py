"""What Slack sends, reduced to what there is to do."""

from __future__ import annotations

from typing import Any

import pytest

from api.slack.deliveries import Message, Report, of_action, of_command, of_event, of_shortcut, packed, unpack
from tests.api.slack.payloads import CHANNEL, TEAM, USER, click, command, event, shortcut

TS, THREAD = "1710000000.000200", "1710000000.000100"


def test_a_mention_is_a_report_and_keeps_its_way_through_the_store() -> None:
    delivery = of_event(event("app_mention", text="<@U0BOT> loss is NaN", ts=TS, files=[{"id": "F1"}, {"id": "F2"}]))
    assert isinstance(delivery, Report)
    assert (delivery.thread.ts, delivery.text, delivery.files) == (TS, "loss is NaN", ("F1", "F2"))
    assert unpack(packed(delivery)) == delivery


def test_a_message_in_a_thread_is_the_same_delivery_as_the_mention_in_it() -> None:
    message = of_event(event("message", text="<@U0BOT> hi", ts=TS, thread_ts=THREAD))
    mention = of_event(event("app_mention", text="<@U0BOT> hi", ts=TS, thread_ts=THREAD))
    assert message is not None
    assert mention is not None
    assert message.key == mention.key == f"slack:{TEAM}/{CHANNEL}/{TS}"
    assert isinstance(message, Message)
    assert message.addressed


@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B1"},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"hidden": True},
        {"user": None},
        {"user": "<!here>"},
        {"ts": "x"},
        {"channel": "../etc"},
        {"thread_ts": None, "type": "message"},
        {"type": "reaction_added"},
    ],
)
def test_what_no_person_wrote_to_us_is_nothing(more: dict[str, Any]) -> None:
    body = event("message", text="x", ts=TS, thread_ts=THREAD)
    body["event"] |= more
    assert of_event(body) is None


def test_the_team_is_that_of_the_person_and_the_workspace_that_of_the_bot() -> None:
    delivery = of_event(event("app_mention", text="x", user_team="T0GUEST"))
    assert delivery is not None
    assert (delivery.who.team, delivery.thread.workspace) == ("T0GUEST", TEAM)


def test_a_command_has_no_thread_yet() -> None:
    delivery = of_command(command("loss is NaN"))
    assert delivery is not None
    assert (delivery.thread.ts, delivery.who.name) == ("", "anna")
    assert of_command(command("x", trigger_id="a b")) is None


def test_a_shortcut_reads_the_attachments_of_an_alert() -> None:
    alert = {"ts": TS, "text": "<!here>", "attachments": [{"title": "LossNaN", "text": "at step 3"}, "x"]}
    delivery = of_shortcut(shortcut(alert))
    assert delivery is not None
    assert delivery.text == "\nLossNaN\nat step 3"


OTHER = '{"c":"' + "0" * 32 + '","a":{"loss.nan":"perhaps"}}'


@pytest.mark.parametrize("value", ["", "{", "[]", '{"c": "short"}', '{"c": 3}', "null", OTHER])
def test_a_button_of_somebody_else_is_nothing(value: str) -> None:
    element = {"type": "button", "action_id": "answer:1", "value": value}
    assert of_action(click(element, {"ts": TS, "blocks": [], "text": "x"})) is None


def test_who_pressed_a_button_is_kept() -> None:
    value = '{"c":"' + "0" * 32 + '","q":"loss.nan","a":{"loss.nan":"present"},"s":"yes"}'
    element = {"type": "button", "action_id": "answer:1", "value": value}
    delivery = of_action(click(element, {"ts": TS, "blocks": [{"type": "divider"}], "text": "x"}, THREAD))
    assert delivery is not None
    assert (delivery.who.user, delivery.answers, delivery.message) == (USER, {"loss.nan": "present"}, TS)
    assert delivery.thread.ts == THREAD
