"""``traintriage slack``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from api.cli.slack import command
from api.slack.socket import NEEDED
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


def test_it_says_what_to_say() -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 2
    assert "--socket" in result.output


def test_the_manifest_asks_for_what_the_bot_needs(checkout: Path) -> None:
    manifest = yaml.safe_load((checkout / "deploy" / "slack" / "manifest.yaml").read_text())
    assert set(manifest["oauth_config"]["scopes"]["bot"]) >= NEEDED
    assert manifest["features"]["slash_commands"][0]["command"] == "/triage"
    assert manifest["features"]["shortcuts"][0]["callback_id"] == "diagnose"
