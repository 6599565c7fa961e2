"""Workers that listen on one socket take connections in turn, so that each has its share of them."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

SECONDS_A_CONNECTION = 0.00025
MOST_SECONDS = 0.005  # a worker that has many connections still takes 200 a second
NO_DESCRIPTOR_SECONDS = 1.0  # as long as asyncio waits then
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class FairLoop(asyncio.SelectorEventLoop):
    """An event loop that leaves new connections to other processes for a moment, the longer the more it has.

    asyncio takes every connection that waits. Of a burst the worker that wakes first then has all, and where clients
    keep their connections it answers alone while the others idle.
    """

    async def create_server(  # type: ignore[override]  # uvicorn gives no more than this
        self,
        protocol_factory: Callable[[], asyncio.Protocol],
        *,
        sock: socket.socket,
        ssl: None,  # noqa: ARG002
        backlog: int,
    ) -> Listening:
        """Listen on a bound socket."""
        sock.setblocking(False)
        sock.listen(backlog)
        return Listening(self, sock, protocol_factory)


class Listening:
    """What uvicorn needs of an ``asyncio.Server``."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listener: socket.socket, factory: Callable[[], asyncio.Protocol]
    ) -> None:
        self.sockets = [listener]
        self._loop = loop
        self._listener = listener
        self._factory = factory
        self._connecting: set[asyncio.Task[Any]] = set()
        self._open: set[asyncio.Transport] = set()
        self._closed = False
        self._resume()

    def close(self) -> None:
        """Take no more connections; those that wait are left to the other workers."""
        self._closed = True
        self._loop.remove_reader(self._listener)
        self._listener.close()

    async def wait_closed(self) -> None:
        """Connections that were taken are served."""
        await asyncio.gather(*self._connecting, return_exceptions=True)

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker has it
        except OSError as error:
            if error.errno not in _NO_DESCRIPTOR:
                raise
            logging.getLogger("uvicorn.error").error("no connection can be taken: %s", error.strerror)
            self._pause(NO_DESCRIPTOR_SECONDS)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._connect(connection))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        self._open = {transport for transport in self._open if not transport.is_closing()}
        self._pause(min((len(self._open) + 1) * SECONDS_A_CONNECTION, MOST_SECONDS))

    async def _connect(self, connection: socket.socket) -> None:
        transport, _ = await self._loop.connect_accepted_socket(self._factory, connection)
        self._open.add(transport)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(seconds, self._resume)
