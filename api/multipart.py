"""The parts of a multipart body, read once a request, within limits, and only if the body is complete."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from starlette.formparsers import MultiPartException, MultiPartParser

from api.messages import say
from api.problem import Problem, too_large

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.datastructures import FormData, Headers
    from starlette.requests import Request

    from api.settings import Settings


class _Parser(MultiPartParser):
    """Starlette's parser, which says nothing if a body ends before its closing boundary and drops its last part."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes, None], **limits: int) -> None:
        super().__init__(headers, self._complete(stream), **limits)
        self._is_complete = False

    def on_end(self) -> None:
        self._is_complete = True

    async def _complete(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """The stream, and a problem in place of its end if the parser still waits; parsing then closes every file."""
        async with aclosing(stream):
            async for chunk in stream:
                yield chunk
        if not self._is_complete:
            raise Problem("bad-multipart", say("truncated"))


async def read_form(request: Request) -> FormData:
    """The parts of ``request``, whose files stay open until :func:`close_form`.

    Raises:
        Problem: 400 ``bad-multipart`` or 413 ``too-large``.
    """
    form: FormData | None = getattr(request.state, "form", None)
    if form is None:
        form = request.state.form = await _parse(request, request.app.state.settings)
    return form


async def close_form(request: Request) -> None:
    """Close the files of the parts that were read, if any were."""
    form: FormData | None = getattr(request.state, "form", None)
    if form is not None:
        await form.close()


async def _parse(request: Request, settings: Settings) -> FormData:
    parser = _Parser(
        request.headers,
        request.stream(),
        max_files=settings.max_files,
        max_fields=settings.max_files + 1,
        max_part_size=settings.max_document_bytes,
    )
    try:
        async with aclosing(parser.stream):
            return await parser.parse()
    except MultiPartException as error:
        if error.message.startswith("Too many"):
            raise Problem("too-large", say("too-many-files", limit=settings.max_files)) from error
        if "exceeded maximum size" in error.message:
            raise too_large("field-part", settings.max_document_bytes) from error
        raise Problem("bad-multipart", say("boundary")) from error
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise Problem("bad-multipart", say("part-header")) from error
