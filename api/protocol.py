"""HTTP/1.1 connections that do not wait for ever for a client that sends nothing, or one byte at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20


class ImpatientProtocol(H11Protocol):
    """Uvicorn's protocol, closing a connection on which no request has begun within ``HEADER_SECONDS``.

    Uvicorn itself only ends connections that are silent after an answer; any byte resets that clock. What a client
    still sends of a body that was refused does not reset this one either.
    """

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
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
