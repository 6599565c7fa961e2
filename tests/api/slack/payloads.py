"""What Slack sends, signed as Slack signs it."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.testclient import TestClient

from api.slack.verify import signature

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM, CHANNEL, USER = "T0TEST", "C0TRAIN", "U0ANNA"
PATH = "/v1/slack/events"
_numbers = itertools.count(1)


def new_ts() -> str:
    return f"17100{next(_numbers):05d}.000100"


def signed(body: bytes, kind: str, *, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    return {
        "Content-Type": kind,
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signature(secret.encode(), timestamp, body),
    }


def post_json(client: TestClient, data: Any, **more: Any) -> Any:
    body = json.dumps(data).encode()
    return client.post(PATH, content=body, headers={**signed(body, "application/json"), **more})


def post_form(client: TestClient, data: Mapping[str, str]) -> Any:
    body = urlencode(data).encode()
    return client.post(PATH, content=body, headers=signed(body, "application/x-www-form-urlencoded"))


def post_interaction(client: TestClient, data: Any) -> Any:
    return post_form(client, {"payload": json.dumps(data)})


def event(kind: str, *, text: str = "", ts: str | None = None, thread_ts: str | None = None, **more: Any) -> Any:
    inner = {"type": kind, "user": USER, "team": TEAM, "channel": CHANNEL, "text": text, "ts": ts or new_ts(), **more}
    if thread_ts is not None:
        inner["thread_ts"] = thread_ts
    return {
        "type": "event_callback",
        "team_id": TEAM,
        "event_id": f"Ev{next(_numbers)}",
        "authorizations": [{"team_id": TEAM, "user_id": "U0BOT", "is_bot": True}],
        "event": inner,
    }


def command(text: str, **more: str) -> dict[str, str]:
    return {
        "command": "/triage",
        "text": text,
        "team_id": TEAM,
        "channel_id": CHANNEL,
        "user_id": USER,
        "user_name": "anna",
        "trigger_id": new_trigger(),
        "response_url": "https://hooks.slack.com/commands/none",
        **more,
    }


def new_trigger() -> str:
    return f"13345224609.738474920.{next(_numbers)}"


def _interaction(kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "team": {"id": TEAM, "domain": "test"},
        "user": {"id": USER, "name": "anna", "team_id": TEAM},
        "trigger_id": new_trigger(),
    }


def click(element: Mapping[str, Any], message: Mapping[str, Any], thread_ts: str | None = None) -> dict[str, Any]:
    """Press an element of a message that the service posted."""
    action = {"type": element["type"], "action_id": element["action_id"], "block_id": "b", "action_ts": new_ts()}
    for name in ("value", "selected_option"):
        if name in element:
            action[name] = element[name]
    posted = {"ts": message["ts"], "blocks": message["blocks"], "text": message["text"]}
    if thread_ts is not None:
        posted["thread_ts"] = thread_ts
    return {
        **_interaction("block_actions"),
        "container": {"type": "message", "message_ts": message["ts"], "channel_id": CHANNEL},
        "channel": {"id": CHANNEL, "name": "train"},
        "message": posted,
        "actions": [action],
    }


def shortcut(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_interaction("message_action"),
        "callback_id": "diagnose",
        "channel": {"id": CHANNEL, "name": "train"},
        "message": dict(message),
        "response_url": "https://hooks.slack.com/app/none",
    }


def submission(view: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Send a form off; ``values`` are elements by block id."""
    state = {"values": {block: {"field": element} for block, element in values.items()}}
    kept = {name: view[name] for name in ("type", "callback_id", "private_metadata", "title", "blocks")}
    return {**_interaction("view_submission"), "view": {**kept, "id": "V1", "team_id": TEAM, "state": state}}


def suggestion(view: Mapping[str, Any], typed: str) -> dict[str, Any]:
    return {
        **_interaction("block_suggestion"),
        "action_id": "cause",
        "block_id": "cause",
        "value": typed,
        "view": {name: view[name] for name in ("type", "callback_id", "private_metadata")},
    }
