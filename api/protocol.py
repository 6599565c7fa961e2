"""HTTP/1.1 connections: patient for a while only, and what is no request is refused so that the client hears it."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.errors import MEDIA_TYPE, document
from api.limits import HEADER_BYTES, headers_too_large
from api.messages import say
from api.problem import Problem

HEADER_SECONDS = 20


class ImpatientProtocol(H11Protocol):
    """Uvicorn's protocol, closing a connection on which no request has begun within ``HEADER_SECONDS``.

    Uvicorn itself only ends connections that are silent after an answer; any byte resets that clock. What a client
    still sends of a body that was refused does not reset this one either.
    """

    _patience: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_answering():  # it may have begun with the next request of a pipeline
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Live streams have no end of their own: they hear that the service ends, before it waits for answers."""
        state_of(self.config.loaded_app).closing.set()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words, which are no problem document
        """Refuse what h11 cannot read, in a problem document: headers that are too large, and what is no HTTP.

        What is still on its way is read and dropped: a connection closed before it came is reset, and the client then
        often does not see the answer.
        """
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # the answer to a request has begun
            self.transport.close()
            return
        if len(self.conn.trailing_data[0]) > HEADER_BYTES:
            problem = headers_too_large()
        else:
            problem = Problem("bad-request", say("not-http"))
        body = document(problem, "en")
        headers = [
            ("Content-Type", MEDIA_TYPE),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        answer = h11.Response(
            status_code=problem.kind.status, headers=headers, reason=HTTPStatus(problem.kind.status).phrase
        )
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        if self._is_answering():  # the app has to hear that nobody waits for its answer any more
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write_eof()
        self._wait()

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._patience = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def state_of(app: Any) -> Any:
    """The state of our app, below what uvicorn may have wrapped around it."""
    while not hasattr(app, "state"):
        app = app.app
    return app.state
