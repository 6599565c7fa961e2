"""Puts the parts together for one app."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from api.outbound import Outbound
from api.slack.bot import Bot
from api.slack.deliveries import DELIVERY
from api.slack.desk import Desk
from api.slack.files import Files
from api.slack.posts import POST, Outbox, Poster
from api.slack.route import make_router

if TYPE_CHECKING:
    from fastapi import FastAPI

    from api.settings import Settings
    from api.slack.config import SlackConfig

SECONDS = 15  # for one call of the Web API


def connect(app: FastAPI, config: SlackConfig) -> None:
    """Make the bot of ``app``, and let the service know of it."""
    state: Any = app.state
    client = client_of(config, state.settings)
    bot = Bot(config, client, state.store, state.jobs, state.cases, state.expert, state.logger).app()
    poster = Poster(client, state.store, state.cases, state.expert, state.logger)
    proxy, ca = state.settings.outbound_proxy, state.settings.outbound_ca
    outbound = Outbound([config.files_url], proxy=proxy or None, ca=str(ca) if ca else None)
    files = Files(client, outbound, config.bot_token, state.settings.max_upload_bytes)
    desk = Desk(config, client, state.cases, state.conversation, state.expert, files, poster, state.logger)
    state.worker_handlers[DELIVERY] = desk.work
    state.worker_handlers[POST] = poster.work
    state.cases.outbox.append(Outbox(config, state.expert).notice)
    state.slack = bot
    if config.secrets:
        app.include_router(make_router(config, bot))


def client_of(config: SlackConfig, settings: Settings) -> AsyncWebClient:
    """A client of the Web API with the bot's token."""
    ca = str(settings.outbound_ca) if settings.outbound_ca else None
    client = AsyncWebClient(
        token=config.bot_token,
        base_url=config.api_url,
        timeout=SECONDS,
        ssl=ssl.create_default_context(cafile=ca),
        retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=2)],
    )
    client.proxy = settings.outbound_proxy or None  # the SDK would take one from the environment
    return client
