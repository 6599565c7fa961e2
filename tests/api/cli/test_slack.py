"""``traintriage slack``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from api.cli.slack import command
from api.slack.check import NEEDED
from tests.api.slack.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    fake = FakeSlack()
    fake.start()
    yield fake
    fake.close()


def run(monkeypatch: pytest.MonkeyPatch, option: str, **environ: str) -> Result:
    for name, value in environ.items():
        monkeypatch.setenv(f"TRAINTRIAGE_SLACK_{name}", value)
    return CliRunner().invoke(command, [option])


def test_the_tokens_are_tried(monkeypatch: pytest.MonkeyPatch, slack: FakeSlack) -> None:
    good = {"BOT_TOKEN": BOT_TOKEN, "APP_TOKEN": APP_TOKEN, "TEAMS": "T0TEST", "API_URL": f"{slack.url}/api/"}
    result = run(monkeypatch, "--check", **good)
    assert (result.exit_code, "both tokens work" in result.output) == (0, True), result.output
    assert "T0TEST" in run(monkeypatch, "--check", **{**good, "TEAMS": "T0OTHER"}).output
    assert "invalid_auth" in run(monkeypatch, "--check", **{**good, "BOT_TOKEN": "xoxb-other"}).output
    slack.scopes = "chat:write"
    assert "files:read" in run(monkeypatch, "--check", **{**good, "BOT_TOKEN": BOT_TOKEN, "TEAMS": "T0TEST"}).output


def test_what_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, "--socket", BOT_TOKEN="xoxb-1", TEAMS="T0TEST")
    assert result.exit_code != 0
    assert "TRAINTRIAGE_SLACK_APP_TOKEN" in result.output
    assert "Traceback" not in result.output


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    output = run(monkeypatch, "--check").output
    assert all(f"TRAINTRIAGE_SLACK_{name}" in output for name in ("BOT_TOKEN", "APP_TOKEN", "TEAMS"))


def test_tokens_in_each_others_place_are_told_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    output = run(
        monkeypatch, "--check", BOT_TOKEN="xapp-1", APP_TOKEN="xoxb-1", TEAMS="T0TEST", API_URL="http://127.0.0.1:1/"
    ).output
    assert "BOT_TOKEN holds an app-level token" in output
    assert "APP_TOKEN holds a token to write with" in output


def test_no_connection_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    output = run(
        monkeypatch, "--check", BOT_TOKEN="xoxb-1", APP_TOKEN="xapp-1", TEAMS="T0TEST", API_URL="https://127.0.0.1:1/"
    ).output
    assert "127.0.0.1:1" in output
    assert "object at 0x" not in output


def test_it_says_what_to_say() -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 2
    assert "--socket" in result.output


def test_the_manifest_asks_for_what_the_bot_needs(checkout: Path) -> None:
    manifest = yaml.safe_load((checkout / "deploy" / "slack" / "manifest.yaml").read_text())
    assert set(manifest["oauth_config"]["scopes"]["bot"]) >= NEEDED
    assert manifest["features"]["slash_commands"][0]["command"] == "/triage"
    assert manifest["features"]["shortcuts"][0]["callback_id"] == "diagnose"
