"""What is refused before a route sees it: other hosts and sites, compressed bodies, what is too large or too slow.

And the headers that every answer has.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import Request

from api.errors import problem_response
from api.media import FORMATS, MULTIPART, media_type
from api.messages import Words, say
from api.problem import Problem, too_large

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from api.settings import Settings

HEADER_BYTES = 32 * 1024  # of request line and headers together
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PORT = re.compile(r":\d{0,5}$")
_ANY = "*"
_CROSS_SITE = Words("The Origin header names a page of another host.", "Origin 头写的是其他主机的页面。")


class RequestLimits:
    """ASGI middleware: 400 for another host, 403 for another site, 431 for headers, 408, 413, 415 for bodies.

    Bytes are counted as they arrive, whatever Content-Length says or does not say.
    """

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self.app = app
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.hosts = dict.fromkeys((*_LOOPBACK, own, *settings.allowed_hosts))
        # Where a key is needed, a page that reaches the service under a name of its own can do nothing there.
        self.is_any_host = settings.access == "keys" and _ANY in settings.allowed_hosts
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, watching its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        what, limit = self._limit(media_type(headers.get("content-type", "")))
        try:
            _check_size(scope)
            self._check_host(headers)
            _check_headers(headers, what, limit)
        except Problem as problem:
            await problem_response(problem, Request(scope))(scope, receive, send)
            return
        await self.app(scope, self._watched(receive, what, limit), send)

    def _limit(self, kind: str) -> tuple[str, int]:
        """What the body is called, and how many bytes it may have."""
        if kind == MULTIPART:
            return "multipart-body", self.settings.max_upload_bytes
        if FORMATS.get(kind) == "yaml":
            return "yaml-document", self.settings.max_yaml_bytes
        return "the-body", self.settings.max_document_bytes

    def _check_host(self, headers: Headers) -> None:
        sent = headers.getlist("host")
        if len(sent) != 1 or not (self.is_any_host or _PORT.sub("", sent[0].lower()) in self.hosts):
            raise Problem("unknown-host", say("unknown-host", hosts=", ".join(self.hosts)))
        # A browser lets any page send a form, without asking; it cannot leave out or change this header.
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != sent[0].lower():
            raise Problem("cross-site", _CROSS_SITE)

    def _watched(self, receive: Receive, what: str, limit: int) -> Receive:
        received = 0
        more = True
        deadline = asyncio.get_running_loop().time() + self.settings.body_seconds

        async def watched() -> Message:
            nonlocal received, more
            if not more:  # what comes after the body is the client's going, for which there is no hurry
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                # The rest may still come: without the close it would be read to its end.
                close = {"Connection": "close"}
                raise Problem(
                    "body-timeout", say("body-timeout", seconds=self.settings.body_seconds), (), close
                ) from error
            more = message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > limit:
                raise too_large(what, limit)
            return message

        return watched


class HeadAsGet:
    """ASGI middleware: HEAD is answered like GET, without the body (RFC 9110, 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a HEAD as a GET; pass everything else on."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        # A copy, because the server must go on knowing that this is a HEAD.
        inner = {**scope, "method": "GET"}
        await self.app(inner, receive, without_body)
        scope["route"] = inner.get("route")


class SecureHeaders:
    """ASGI middleware, outermost: headers that keep an answer from being framed, guessed at, embedded or stored."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self.app = app
        self.always = [
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]
        if settings.hsts_seconds:
            self.always.append((b"strict-transport-security", f"max-age={settings.hsts_seconds}".encode()))
        self.unless_set = {
            b"referrer-policy": b"no-referrer",
            b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
            b"cache-control": b"no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, adding to the head of an answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *(header for header in message["headers"] if header[0].lower() != b"x-content-type-options"),
                    *self.always,
                    *(header for header in self.unless_set.items() if header[0] not in own),
                ]
            await send(message)

        await self.app(scope, receive, secured)


def headers_too_large() -> Problem:
    """The 431 problem."""
    return Problem("headers-too-large", say("headers-too-large", limit=HEADER_BYTES))


def _check_size(scope: Scope) -> None:
    # The protocol sees only that headers are not at their end yet; those that came at once get past it.
    fields = sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
    if fields + len(scope["raw_path"]) + len(scope["query_string"]) > HEADER_BYTES:
        raise headers_too_large()


def _check_headers(headers: Headers, what: str, limit: int) -> None:
    """Refuse at once what the headers already tell."""
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem("unsupported-media-type", say("content-encoding"), headers={"Accept-Encoding": "identity"})
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
        raise too_large(what, limit)
