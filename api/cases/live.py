"""Server-sent events of a case: everything so far, then each change as it comes (HTML Living Standard, 9.2)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse

from api.cases import history
from api.exchange import expert_of
from api.messages import say
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from api.access import Caller
    from api.cases.out import Moment
    from api.cases.service import Cases
    from engine.model.base import Lang

POLL_SECONDS = 1.0  # other processes change cases as well, and only the store knows
ALIVE_SECONDS = 15.0  # proxies cut connections that say nothing for longer
MAX_STREAMS = 100  # a process
EXAMPLE = 'id: 2\nevent: answer\ndata: {"seq": 2, "kind": "answer", "what": "Loss is NaN: yes"}\n\n'


async def stream(request: Request, cases: Cases, caller: Caller, case_id: str, lang: Lang) -> StreamingResponse:
    """The events after ``Last-Event-ID`` and all that follow.

    Raises:
        Problem: 404 ``unknown-case``, 503 ``busy`` if too many follow already.
    """
    await cases.revision(caller, case_id)
    sent = request.headers.get("last-event-id", "")
    seen = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 10 else 0
    streams: set[Any] = request.app.state.streams
    if len(streams) >= MAX_STREAMS:
        raise Problem("busy", say("many-streams"), headers={"Retry-After": "30"})
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Language": lang}
    return StreamingResponse(
        _counted(streams, _events(request, cases, caller, case_id, lang, seen)),
        headers=headers,
        media_type="text/event-stream",
    )


async def _counted(streams: set[Any], events: AsyncIterator[str]) -> AsyncIterator[str]:
    """An open stream counts until its client is gone."""
    token = object()
    streams.add(token)
    try:
        async for text in events:
            yield text
    finally:
        streams.discard(token)


async def _events(
    request: Request, cases: Cases, caller: Caller, case_id: str, lang: Lang, seen: int
) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    quiet = 0.0
    while not request.app.state.closing.is_set():
        try:
            if await cases.revision(caller, case_id) > seen:
                told = await history.timeline(cases, caller, case_id, expert_of(request).knowledge, lang)
                for moment in told.moments:
                    if moment.seq > seen:
                        yield _event(moment)
                        seen = moment.seq
                quiet = 0.0
        except Problem:  # deleted meanwhile
            yield "event: deleted\ndata: {}\n\n"
            return
        if quiet >= ALIVE_SECONDS:
            yield ": still here\n\n"
            quiet = 0.0
        await _pause(request.app.state.closing)
        quiet += POLL_SECONDS


async def _pause(closing: asyncio.Event) -> None:
    """Wait until it is time to look again, or the service ends."""
    try:
        async with asyncio.timeout(POLL_SECONDS):
            await closing.wait()
    except TimeoutError:
        return


def _event(moment: Moment) -> str:
    return f"id: {moment.seq}\nevent: {moment.kind}\ndata: {moment.model_dump_json()}\n\n"
