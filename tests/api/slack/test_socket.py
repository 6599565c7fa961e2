"""Socket Mode: the same bot over a connection that the service makes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.settings import SettingsError
from api.slack.socket import listen
from tests.api.slack.conftest import slack_settings
from tests.api.slack.fake_slack import PATIENCE, FakeSlack
from tests.api.slack.payloads import command, event, new_ts
from tests.api.slack.test_flow import REPORT, shown


@pytest.fixture
def listening(running_slack: FakeSlack, slack: FakeSlack, tmp_path: Path) -> Iterator[FakeSlack]:
    """A service that listens to our Slack in a thread of its own, and has no signing secret."""
    settings = slack_settings(tmp_path, running_slack, slack_signing_secrets=())
    started = threading.Event()
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        started.set()
        await listen(settings, stop)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert started.wait(PATIENCE)
    try:
        slack.wait_for(lambda: slack.sockets)
        yield slack
    finally:
        loop, stop = stops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(4 * PATIENCE)
        slack.sockets.clear()
    assert not thread.is_alive()


def envelope(kind: str, payload: object, number: int) -> dict[str, object]:
    return {"envelope_id": f"e{number}", "type": kind, "accepts_response_payload": True, "payload": payload}


def test_what_comes_over_the_connection_is_acknowledged_and_answered(listening: FakeSlack) -> None:
    slack = listening
    thread = new_ts()
    slack.send(envelope("events_api", event("app_mention", text=REPORT, ts=thread), 1))
    slack.wait_for(lambda: any(item["envelope_id"] == "e1" for item in slack.acknowledged))
    message = slack.wait_for_calls("chat.postMessage")[0]
    assert message["thread_ts"] == thread
    slack.send(envelope("slash_commands", command("help"), 2))
    answer = slack.wait_for(lambda: [item for item in slack.acknowledged if item["envelope_id"] == "e2"])[0]
    assert "/triage" in str(answer["payload"])
    # Another workspace: acknowledged, so that it does not come again, and left alone.
    other = {**event("app_mention", text=REPORT), "team_id": "T0OTHER"}
    slack.send(envelope("events_api", other, 3))
    slack.wait_for(lambda: any(item["envelope_id"] == "e3" for item in slack.acknowledged))
    assert len(slack.called("chat.postMessage")) == 1
    # The connection breaks, and is made anew.
    slack.hang_up()
    slack.wait_for(lambda: slack.sockets)
    slack.send(envelope("events_api", event("app_mention", text=REPORT), 4))
    assert "fp16" in shown(slack.wait_for_calls("chat.postMessage", 2)[1])


def test_without_the_token_for_it_nothing_is_listened_to(running_slack: FakeSlack, tmp_path: Path) -> None:
    settings = slack_settings(tmp_path, running_slack, slack_app_token=None)
    with pytest.raises(SettingsError, match="TRAINTRIAGE_SLACK_APP_TOKEN"):
        asyncio.run(listen(settings, asyncio.Event()))
