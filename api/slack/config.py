"""What the settings say about Slack, checked: either nothing, or all that is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from api.access import Caller, Scope
from api.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.settings import Settings

_TEAM = re.compile(r"[TE][A-Z0-9]{1,31}")
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SCOPES = (Scope.CASES_READ, Scope.CASES_WRITE, Scope.CASES_RESOLVE)


@dataclass(frozen=True)
class SlackConfig:
    """How Slack is reached and who of it is let in.

    Args:
        secrets: signing secrets of requests over HTTP; none if Slack is reached by Socket Mode only.
        app_token: for Socket Mode.
        tenants: workspace id to tenant.
        scopes: what everybody in these workspaces may do.
        channel: id of the channel that gets the cases that alerts open; empty for none.
    """

    secrets: tuple[bytes, ...] = field(repr=False)
    bot_token: str = field(repr=False)
    app_token: str | None = field(repr=False)
    tenants: Mapping[str, str]
    scopes: frozenset[Scope]
    channel: str
    api_url: str
    files_url: str

    def caller(self, team: str, user: str, name: str) -> Caller | None:
        """Somebody of a workspace; None if it is none of ours."""
        tenant = self.tenants.get(team)
        return None if tenant is None else Caller(tenant, f"slack:{team}/{user}", name or user, self.scopes)


def config_of(settings: Settings) -> SlackConfig | None:
    """The configuration, or None if no setting speaks of Slack.

    Raises:
        SettingsError: if some of it is there and something needed is missing or malformed.
    """
    secrets = tuple(secret.get_secret_value().encode() for secret in settings.slack_signing_secrets)
    if not (secrets or settings.slack_bot_token or settings.slack_app_token or settings.slack_teams):
        return None
    if not settings.slack_bot_token:
        raise SettingsError("TRAINTRIAGE_SLACK_BOT_TOKEN is missing: the bot's token, xoxb-…, is needed to answer")
    if not settings.slack_teams:
        raise SettingsError("TRAINTRIAGE_SLACK_TEAMS is missing: the id of your workspace, T…; see docs/slack.md")
    if not (secrets or settings.slack_app_token):
        raise SettingsError(
            "neither TRAINTRIAGE_SLACK_SIGNING_SECRETS (for requests over HTTP) nor TRAINTRIAGE_SLACK_APP_TOKEN "
            "(for Socket Mode) is there: one of them is needed to hear anything of Slack"
        )
    return SlackConfig(
        secrets=secrets,
        bot_token=settings.slack_bot_token.get_secret_value(),
        app_token=settings.slack_app_token.get_secret_value() if settings.slack_app_token else None,
        tenants=dict(_tenant_of(item) for item in settings.slack_teams),
        scopes=frozenset(_scope(name) for name in settings.slack_scopes) or frozenset(_SCOPES),
        channel=settings.slack_channel,
        api_url=settings.slack_api_url,
        files_url=settings.slack_files_url,
    )


def _tenant_of(item: str) -> tuple[str, str]:
    team, _, tenant = item.partition("=")
    tenant = tenant or "default"
    if _TEAM.fullmatch(team) is None or _TENANT.fullmatch(tenant) is None:
        raise SettingsError(f"TRAINTRIAGE_SLACK_TEAMS: write T0123ABCD or T0123ABCD=tenant, not {item!r}")
    return team, tenant


def _scope(name: str) -> Scope:
    if name not in _SCOPES:
        raise SettingsError(f"TRAINTRIAGE_SLACK_SCOPES: {name!r} is none of {', '.join(_SCOPES)}")
    return Scope(name)
