"""Connections are shared among loops that listen on one socket."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from api import fairness
from api.fairness import FairLoop, Listening


class Echo(asyncio.Protocol):
    """Answers each connection with the name of its worker, and is then busy for a moment as a worker would be."""

    def __init__(self, name: bytes, busy: float = 0.0) -> None:
        self.name, self.busy = name, busy

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self.name)
        time.sleep(self.busy)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


class Worker:
    """A fair loop in a thread of its own."""

    def __init__(self, listener: socket.socket, factory: Callable[[], asyncio.Protocol]) -> None:
        self.loop = FairLoop()
        self.server: Listening | None = None
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(listener.dup(), factory))
        self.thread.start()
        assert self.ready.wait(10)

    def _run(self, listener: socket.socket, factory: Callable[[], asyncio.Protocol]) -> None:
        async def listen() -> None:
            self.server = await self.loop.create_server(factory, sock=listener, ssl=None, backlog=64)
            self.ready.set()

        self.loop.run_until_complete(listen())
        self.loop.run_forever()

    def stop(self) -> None:
        async def end() -> None:
            assert self.server is not None
            self.server.close()
            await self.server.wait_closed()
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join(10)
        assert not self.thread.is_alive()
        self.loop.close()


def burst(listener: socket.socket, count: int) -> tuple[list[socket.socket], list[bytes]]:
    connections = [socket.create_connection(listener.getsockname(), timeout=10) for _ in range(count)]
    return connections, [connection.recv(1) for connection in connections]


def end(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()


def test_a_burst_is_shared(listener: socket.socket) -> None:
    workers = [Worker(listener, lambda name=name: Echo(name, 0.002)) for name in (b"a", b"b")]  # type: ignore[misc]
    connections, names = burst(listener, 24)
    end(connections)
    for worker in workers:
        worker.stop()
    assert 6 <= names.count(b"a") <= 18
    assert names.count(b"a") + names.count(b"b") == 24


def test_what_a_closing_worker_has_not_taken_is_left_to_the_other(listener: socket.socket) -> None:
    first, second = Worker(listener, lambda: Echo(b"a")), Worker(listener, lambda: Echo(b"b"))
    first.stop()
    connections, names = burst(listener, 8)
    end(connections)
    second.stop()
    assert names == [b"b"] * 8


def test_a_worker_alone_takes_all(listener: socket.socket) -> None:
    worker = Worker(listener, lambda: Echo(b"a"))
    connections, names = burst(listener, 50)
    end(connections)
    worker.stop()
    assert names == [b"a"] * 50


class Exhausted:
    """A listener without descriptors for the first calls."""

    def __init__(self, listener: socket.socket, failures: list[OSError]) -> None:
        self.listener, self.failures = listener, failures

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            raise self.failures.pop()
        return self.listener.accept()

    def __getattr__(self, name: str) -> object:
        return getattr(self.listener, name)


def test_without_descriptors_it_waits_and_goes_on(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fairness, "NO_DESCRIPTOR_SECONDS", 0.01)
    failures = [ConnectionAbortedError(), OSError(errno.EMFILE, "too many open files")]

    class Short(Worker):
        def _run(self, listener: socket.socket, factory: Callable[[], asyncio.Protocol]) -> None:
            super()._run(Exhausted(listener, failures), factory)  # type: ignore[arg-type]

    worker = Short(listener, lambda: Echo(b"a"))
    connections, names = burst(listener, 3)
    end(connections)
    worker.stop()
    assert names == [b"a"] * 3
    assert not failures
    assert "too many open files" in caplog.text
