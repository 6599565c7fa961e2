"""A cap on request bodies that counts the bytes that arrive, whatever Content-Length says or does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import Request

from api.errors import problem_response, request_id_of
from api.problem import too_large

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: 413 for bodies beyond ``max_document`` bytes, or ``max_upload`` if they are multipart."""

    def __init__(self, app: ASGIApp, *, max_document: int, max_upload: int) -> None:
        self.app = app
        self.max_document = max_document
        self.max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        is_upload = headers.get("content-type", "").lower().startswith("multipart/")
        limit = self.max_upload if is_upload else self.max_document
        problem = too_large("A multipart body" if is_upload else "This body", limit)
        declared = headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
            response = problem_response(problem, request_id_of(Request(scope)))
            await response(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise problem
            return message

        await self.app(scope, counted, send)
