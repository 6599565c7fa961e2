"""Files in a thread: fetched from Slack's own host with the bot's token, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.slack.conftest import settled
from tests.api.slack.fake_slack import FakeSlack
from tests.api.slack.payloads import event, post_json
from tests.api.slack.test_flow import opened, shown, view_of

LOG = "\n".join(f"step {step} | loss {'nan' if step > 60 else 2.5} | loss scale {step % 7}" for step in range(1, 90))


def upload(slack: FakeSlack, content: bytes = LOG.encode(), **more: Any) -> dict[str, str]:
    slack.files["F1"] = {
        "id": "F1",
        "name": "train.log",
        "size": len(content),
        "mode": "hosted",
        "url_private_download": f"{slack.url}/files/train.log",
        **more,
    }
    slack.contents["train.log"] = (200, "text/plain", content)
    return {"id": "F1"}


def test_a_file_with_a_mention_is_evidence(client: TestClient, slack: FakeSlack) -> None:
    thread, message = opened(client, slack, "<@U0BOT> it broke, see the file", files=[upload(slack)])
    assert [ref.name for ref in view_of(client, thread).state.files] == ["train.log"]
    assert "train.log" in shown(message)


def test_a_file_in_the_thread_is_added(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack)
    body = event("message", subtype="file_share", thread_ts=thread, files=[upload(slack)])
    assert post_json(client, body).status_code == 200
    slack.wait_for_calls("chat.postMessage", 2)
    assert [ref.name for ref in view_of(client, thread).state.files] == ["train.log"]


@pytest.mark.parametrize(
    ("info", "answer", "reason"),
    [
        ({"url_private_download": "http://169.254.169.254/latest/meta-data"}, None, "does not lie at Slack"),
        ({"url_private_download": "file:///etc/passwd"}, None, "does not lie at Slack"),
        ({"url_private_download": ""}, None, "does not lie at Slack"),
        ({"mode": "external", "is_external": True}, None, "does not lie at Slack"),
        ({"size": 10**12}, None, "larger than"),
        ({}, (302, "text/plain", b""), "files:read"),
        ({}, (200, "text/html", b"<html>sign in</html>"), "files:read"),
        ({}, (404, "text/plain", b""), "files:read"),
    ],
)
def test_what_cannot_be_had_is_said_and_the_rest_is_read(
    client: TestClient, slack: FakeSlack, info: dict[str, Any], answer: Any, reason: str
) -> None:
    sent = upload(slack, **info)
    if answer is not None:
        slack.contents["train.log"] = answer
    thread, _ = opened(client, slack, files=[sent])
    assert reason in shown(slack.wait_for_calls("chat.postEphemeral")[0])
    settled(client)
    assert view_of(client, thread).state.files == ()


def test_a_file_that_is_gone_is_said_to_be(client: TestClient, slack: FakeSlack) -> None:
    thread, _ = opened(client, slack, files=[{"id": "F0GONE"}])
    assert "F0GONE" in shown(slack.wait_for_calls("chat.postEphemeral")[0])
    assert view_of(client, thread).state.files == ()


def test_a_file_larger_than_it_says_is_not_read(
    client: TestClient, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = upload(slack, b"x" * 4096, size=10)
    files = client.app.state.worker_handlers["slack.delivery"].__self__.files
    monkeypatch.setitem(files.__dict__, "most_bytes", 1024)
    thread, _ = opened(client, slack, files=[sent])
    assert "larger than" in shown(slack.wait_for_calls("chat.postEphemeral")[0])
    assert view_of(client, thread).state.files == ()
