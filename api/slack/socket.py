"""Socket Mode: the service calls Slack and listens on that connection, so no address of ours has to be open."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

from api.slack.check import required

if TYPE_CHECKING:
    from api.settings import Settings


async def listen(settings: Settings, stop: asyncio.Event | None = None) -> None:
    """Hear and answer Slack until ``stop``, SIGTERM or Ctrl-C. The connection is made anew whenever it breaks.

    Raises:
        SettingsError: if something that is needed is not set.
        SlackApiError: if Slack refuses the tokens.
    """
    from api.app import create_app

    config = required(settings)
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


def _stop_by_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
