"""Socket Mode: the service calls Slack and listens on that connection, so no address of ours has to be open."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

from api.settings import SettingsError
from api.slack.config import config_of
from api.slack.connect import client_of

if TYPE_CHECKING:
    from api.settings import Settings
    from api.slack.config import SlackConfig


NEEDED = frozenset({"app_mentions:read", "channels:history", "chat:write", "commands", "files:read"})


async def listen(settings: Settings, stop: asyncio.Event | None = None) -> None:
    """Hear and answer Slack until ``stop``, SIGTERM or Ctrl-C. The connection is made anew whenever it breaks.

    Raises:
        SettingsError: if something that is needed is not set.
        SlackApiError: if Slack refuses the tokens.
    """
    from api.app import create_app

    config = _required(settings)
    stop = stop or _stop_by_signal()
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        state: Any = app.state
        await state.slack.client.auth_test()
        handler: Any = AsyncSocketModeHandler(state.slack, config.app_token)
        handler.client.proxy = settings.outbound_proxy or None  # the SDK would take one from the environment
        await handler.connect_async()
        state.logger.info("listening to Slack")
        try:
            await stop.wait()
        finally:
            await handler.close_async()


async def tried(settings: Settings) -> str:
    """Try both tokens, and say in words what came of it.

    Raises:
        SettingsError: if something that is needed is not set, or the bot lacks a scope or is of another workspace.
        SlackApiError: if Slack refuses the tokens.
    """
    config = _required(settings)
    client = client_of(config, settings)
    answer = await client.auth_test()
    if answer.get("team_id") not in config.tenants:
        raise SettingsError(f"TRAINTRIAGE_SLACK_TEAMS does not name {answer.get('team_id')}, the workspace of the bot")
    granted = {scope.strip() for scope in str(answer.headers.get("x-oauth-scopes", "")).split(",")}
    if missing := sorted(NEEDED - granted):
        raise SettingsError(f"TRAINTRIAGE_SLACK_BOT_TOKEN: the bot lacks {', '.join(missing)}; see docs/slack.md")
    await client.apps_connections_open(app_token=str(config.app_token))
    return f"{answer.get('user')} in {answer.get('team')} ({answer.get('team_id')}): both tokens work"


def _required(settings: Settings) -> SlackConfig:
    config = config_of(settings)
    if config is None or config.app_token is None:
        raise SettingsError("TRAINTRIAGE_SLACK_APP_TOKEN is missing: the app-level token, xapp-…, for Socket Mode")
    return config


def _stop_by_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
