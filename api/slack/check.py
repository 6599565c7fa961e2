"""See that Slack can be reached with what is set: first without the network, then by asking Slack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.settings import SettingsError
from api.slack.config import config_of
from api.slack.connect import client_of

if TYPE_CHECKING:
    from api.settings import Settings
    from api.slack.config import SlackConfig

NEEDED = frozenset({"app_mentions:read", "channels:history", "chat:write", "commands", "files:read"})


async def tried(settings: Settings) -> str:
    """Try both tokens, and say in words what came of it.

    Raises:
        SettingsError: if something that is needed is not set, or the bot lacks a scope or is of another workspace.
        SlackApiError: if Slack refuses the tokens.
        OSError: if Slack cannot be reached.
    """
    config = required(settings)
    client = client_of(config, settings)
    answer = await client.auth_test()
    if answer.get("team_id") not in config.tenants:
        raise SettingsError(f"TRAINTRIAGE_SLACK_TEAMS does not name {answer.get('team_id')}, the workspace of the bot")
    granted = {scope.strip() for scope in str(answer.headers.get("x-oauth-scopes", "")).split(",")}
    if missing := sorted(NEEDED - granted):
        raise SettingsError(f"TRAINTRIAGE_SLACK_BOT_TOKEN: the bot lacks {', '.join(missing)}; see docs/slack.md")
    await client.apps_connections_open(app_token=str(config.app_token))
    return f"{answer.get('user')} in {answer.get('team')} ({answer.get('team_id')}): both tokens work"


def required(settings: Settings) -> SlackConfig:
    """What the settings say, if Socket Mode can work by it.

    Raises:
        SettingsError: that names everything that is missing, or tokens in each other's place.
    """
    bot, app = settings.slack_bot_token, settings.slack_app_token
    needed = (
        (bot, "TRAINTRIAGE_SLACK_BOT_TOKEN (the bot's token, xoxb-…)"),
        (app, "TRAINTRIAGE_SLACK_APP_TOKEN (the app-level token, xapp-…)"),
        (settings.slack_teams, "TRAINTRIAGE_SLACK_TEAMS (the id of your workspace, T…)"),
    )
    if missing := [name for value, name in needed if not value]:
        raise SettingsError(f"not set: {', '.join(missing)}; see docs/slack.md")
    config = config_of(settings)
    assert config is not None
    wrong = []
    if config.bot_token.startswith("xapp-"):
        wrong.append("TRAINTRIAGE_SLACK_BOT_TOKEN holds an app-level token (xapp-…), not the bot's (xoxb-…)")
    if str(config.app_token).startswith(("xoxb-", "xoxp-")):
        wrong.append("TRAINTRIAGE_SLACK_APP_TOKEN holds a token to write with, not the app-level one (xapp-…)")
    if wrong:
        raise SettingsError("; ".join(wrong))
    return config


def reason_unreached(error: OSError) -> str:
    """Why there is no connection, in words for people: aiohttp's own name objects by their address in memory."""
    where = ":".join(str(part) for part in (getattr(error, "host", None), getattr(error, "port", None)) if part)
    why = error.strerror or ("no answer in time" if isinstance(error, TimeoutError) else str(error))
    return f"{where}: {why}" if where else why
