"""``Idempotency-Key`` for every POST: the same key and request give the stored answer, whatever happened between."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute
from starlette.responses import Response

from api import language
from api.access import caller_of
from api.messages import say
from api.multipart import close_form
from api.problem import Problem, invalid_input
from api.store import Outcome, StoredAnswer
from api.submission import content_digest
from api.validation import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.requests import Request

    from api.store import KeyStore

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
PATTERN = r'^("[!#-~]{1,126}"|[!#-~]{1,128})$'
_KEPT_HEADERS = ("content-type", "content-language", "vary", "location")


class IdempotentRoute(APIRoute):
    """A route that honours ``Idempotency-Key`` and closes uploads. Only successful answers are kept."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler with the key around it."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                key = _key_of(request)
                if key is None:
                    return await answer(request)
                return await _once(request, key, answer)
            finally:
                await close_form(request)

        return handle


async def _once(request: Request, key: str, answer: Callable[[Request], Coroutine[Any, Any, Response]]) -> Response:
    keys: KeyStore = request.app.state.keys
    key = _of_caller(request, key)
    claim = await keys.claim(key, await _digest(request), f"{request.method} {request.url.path}")
    if claim.outcome is Outcome.IN_FLIGHT:
        raise Problem("key-in-flight", say("in-flight"), headers={"Retry-After": "1"})
    if claim.outcome is Outcome.OTHER_REQUEST:
        error = FieldError("header", f"/{HEADER}", say("key-used"), say("send-new-key"))
        raise Problem("key-reused", say("reused"), (error,))
    if claim.answer is not None:
        headers = {**claim.answer.headers, REPLAYED: "true"}
        return Response(claim.answer.body, status_code=claim.answer.status, headers=headers)
    kept = False
    try:
        response = await answer(request)
        if response.status_code < 300:
            headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
            await keys.keep(key, StoredAnswer(response.status_code, headers, bytes(response.body)))
            kept = True
        return response
    finally:
        if not kept:
            await keys.release(key)


def _key_of(request: Request) -> str | None:
    """The key of a POST without its quotes (the draft standard wants quotes, few clients send them)."""
    sent = request.headers.get(HEADER)
    if sent is None or request.method != "POST":
        return None
    if not re.fullmatch(PATTERN, sent):
        error = FieldError("header", f"/{HEADER}", say("no-key"), say("send-key"))
        raise invalid_input((error,))
    return sent.strip('"')


def _of_caller(request: Request, key: str) -> str:
    """What the key is stored as: the same key of two callers is two keys."""
    caller = caller_of(request)
    return hashlib.sha256("\n".join((caller.tenant, caller.id, key)).encode()).hexdigest()


async def _digest(request: Request) -> str:
    """What makes a request the same request: where it goes, what it says, and in which language it wants to hear."""
    parts = (
        request.method,
        request.url.path,
        request.url.query,
        language.choose(request.headers.get("accept-language")),
        await content_digest(request),
    )
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
