"""Slack is off, or set up whole; nothing in between."""

from __future__ import annotations

import re

import pytest

from api.access import Scope
from api.app import create_app
from api.settings import Settings, SettingsError
from api.slack import config_of

WHOLE = {
    "TRAINTRIAGE_SLACK_SIGNING_SECRETS": "new-secret, old-secret",
    "TRAINTRIAGE_SLACK_BOT_TOKEN": "xoxb-hidden",
    "TRAINTRIAGE_SLACK_TEAMS": "T0RESEARCH=research,T0OPS",
}


def test_without_settings_slack_is_off() -> None:
    assert config_of(Settings.from_env({})) is None


def test_everybody_of_a_workspace_belongs_to_its_tenant() -> None:
    config = config_of(Settings.from_env(WHOLE))
    assert config is not None
    assert config.secrets == (b"new-secret", b"old-secret")
    anna = config.caller("T0RESEARCH", "U0ANNA", "anna")
    assert anna is not None
    assert (anna.tenant, anna.id) == ("research", "slack:T0RESEARCH/U0ANNA")
    assert anna.scopes == {Scope.CASES_READ, Scope.CASES_WRITE, Scope.CASES_RESOLVE}
    assert config.tenants["T0OPS"] == "default"
    assert config.caller("T0OTHER", "U0ANNA", "anna") is None


@pytest.mark.parametrize("missing", ["TRAINTRIAGE_SLACK_BOT_TOKEN", "TRAINTRIAGE_SLACK_TEAMS"])
def test_half_a_setup_says_what_is_missing_and_stops_the_start(missing: str) -> None:
    settings = Settings.from_env({name: value for name, value in WHOLE.items() if name != missing})
    with pytest.raises(SettingsError, match=missing):
        create_app(settings)


def test_a_bot_that_hears_nothing_is_refused() -> None:
    settings = Settings.from_env({k: v for k, v in WHOLE.items() if k != "TRAINTRIAGE_SLACK_SIGNING_SECRETS"})
    with pytest.raises(SettingsError, match="TRAINTRIAGE_SLACK_APP_TOKEN"):
        config_of(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRAINTRIAGE_SLACK_TEAMS", "research"),
        ("TRAINTRIAGE_SLACK_TEAMS", "T0RESEARCH=a b"),
        ("TRAINTRIAGE_SLACK_SCOPES", "admin"),
        ("TRAINTRIAGE_SLACK_SCOPES", "cases:read,cases:delete"),
        ("TRAINTRIAGE_SLACK_CHANNEL", "#train"),
        ("TRAINTRIAGE_SLACK_API_URL", "ftp://x/"),
    ],
)
def test_a_malformed_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(name)):
        config_of(Settings.from_env({**WHOLE, name: value}))


def test_secrets_are_not_shown() -> None:
    settings = Settings.from_env(WHOLE)
    assert "secret" not in repr(settings.slack_signing_secrets)
    assert "hidden" not in repr(settings)
    assert "hidden" not in repr(config_of(settings))
