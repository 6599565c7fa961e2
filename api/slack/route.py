"""``POST /v1/slack/events``: everything Slack sends over HTTP, proven and well-formed before Bolt sees it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter
from slack_bolt.adapter.starlette.async_handler import to_async_bolt_request, to_starlette_response
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from api.access import public
from api.media import media_type
from api.messages import Words
from api.problem import Problem, too_large
from api.slack.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from slack_bolt.async_app import AsyncApp

    from api.slack.config import SlackConfig

MOST_BYTES = 1024 * 1024  # Slack sends some 100 kB at most
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
_OBJECTS = ("event", "message", "user", "view", "container", "channel", "team", "enterprise", "function_data")
_LISTS = ("actions", "authorizations")
_MALFORMED = Words("The body is nothing that Slack sends.", "请求体不是 Slack 会发送的内容。")
_UNKNOWN = Words("TRAINTRIAGE_SLACK_TEAMS does not name this workspace.", "TRAINTRIAGE_SLACK_TEAMS 未列出此工作区。")
_AWAY = Words("The delivery could not be stored; send it again.", "未能保存此次投递；请重发。")


def make_router(config: SlackConfig, bot: AsyncApp, clock: Callable[[], float] = time.time) -> APIRouter:
    """The route. It is not in the OpenAPI document: its only client is Slack, whose format it is."""
    router = APIRouter(include_in_schema=False)

    # Public, since the signature is the proof: Slack cannot send a key of ours.
    @router.post("/v1/slack/events", dependencies=[public()])
    async def receive_slack(request: Request) -> Response:
        body = await request.body()
        if len(body) > MOST_BYTES:
            raise too_large("the-body", MOST_BYTES)
        verify(request.headers, body, config.secrets, clock())
        data = parsed(body, media_type(request.headers.get("content-type", "")))
        if data.get("type") == "url_verification":
            return JSONResponse({"challenge": str(data.get("challenge", ""))[:1000]})
        if data.get("ssl_check"):
            return Response()
        try:
            asked = to_async_bolt_request(request, body)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # Bolt looks for workspace, user and channel in parts whose shape it takes for granted.
            raise Problem("bad-request", _MALFORMED) from error
        response = to_starlette_response(await bot.async_dispatch(asked))
        if response.status_code == 403:
            raise Problem("unknown-workspace", _UNKNOWN, headers={"X-Slack-No-Retry": "1"})
        if response.status_code >= 500:
            raise Problem("not-ready", _AWAY, headers={"Retry-After": "5"})
        return response

    return router


def parsed(body: bytes, kind: str) -> dict[str, Any]:
    """The body as plain data, in the shape that Slack documents.

    Raises:
        Problem: 400 or 415.
    """
    if kind not in (FORM, JSON):
        raise Problem("unsupported-media-type", _MALFORMED, headers={"Accept": f"{JSON}, {FORM}"})
    try:
        text = body.decode()
        if kind == JSON:
            data = json.loads(text)
        elif text.startswith("{"):  # Bolt would take it for JSON
            raise Problem("bad-request", _MALFORMED)
        else:
            form = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=200))
            data = json.loads(form["payload"]) if "payload" in form else form
    except (ValueError, RecursionError) as error:
        raise Problem("bad-request", _MALFORMED) from error
    if not isinstance(data, dict) or not _has_shape(data):
        raise Problem("bad-request", _MALFORMED)
    return data


def _has_shape(data: dict[str, Any]) -> bool:
    """Whether the parts that are objects are, so that nobody behind this trips over one that is not."""
    for name in _OBJECTS:
        value = data.get(name)
        if not (
            value is None or isinstance(value, dict) or (isinstance(value, str) and name in ("team", "enterprise"))
        ):
            return False
    for name in _LISTS:
        items = data.get(name)
        if not (items is None or (isinstance(items, list) and all(isinstance(item, dict) for item in items))):
            return False
    if not all(isinstance(data.get(name, ""), str) for name in ("type", "team_id", "trigger_id", "callback_id")):
        return False
    if data.get("type", "").startswith("view_") and data.get("view") is None:
        return False
    actions = data.get("actions", [{}])
    return bool(actions) and all(isinstance(action.get("action_id", ""), str) for action in actions)
