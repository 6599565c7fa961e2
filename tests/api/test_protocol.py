"""Connections on which no request begins are closed; what cannot be read is refused in words that arrive."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from api import protocol
from api.limits import HEADER_BYTES

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def hello(_: Any, receive: Any, send: Any) -> None:
    """Answer after the body has come, so that a client that holds it back is being served meanwhile."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch) -> None:
    """As our app has it: what a server that ends tells to the connections which it has not yet seen closed."""
    monkeypatch.setattr(hello, "state", SimpleNamespace(closing=asyncio.Event()), raising=False)


def talk(client: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]) -> bytes:
    """What ``client`` makes of a connection to a server with a patience of 0.2 s, and a keep-alive without end."""

    async def run() -> bytes:
        config = uvicorn.Config(
            hello,
            h11_max_incomplete_event_size=HEADER_BYTES,
            port=0,
            lifespan="off",
            log_config=None,
            http=protocol.ImpatientProtocol,
            timeout_keep_alive=3600,
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - a flag of uvicorn, which has no event for it
            await asyncio.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        try:
            return await client(reader, writer)
        finally:
            writer.close()
            server.should_exit = True
            await task

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.2)


async def drip(writer: asyncio.StreamWriter, text: bytes) -> None:
    """One byte at a time, which would go on for minutes."""
    for byte in text * 1_000:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("begin", [b"", REQUEST])
@pytest.mark.parametrize("rest", [b"", b"GET /"])
def test_silence_and_dripping_headers_end(begin: bytes, rest: bytes) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(begin)
        dripping = asyncio.create_task(drip(writer, rest))
        try:
            async with asyncio.timeout(10):  # far less than the dripping would take
                while await reader.read(100):
                    pass
        except ConnectionResetError:
            pass
        dripping.cancel()
        return b"closed"

    assert talk(client) == b"closed"


def test_a_request_under_way_is_not_ended() -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
        await asyncio.sleep(0.5)
        writer.write(b"b")
        return await reader.readuntil(b"hi")

    assert talk(client).startswith(b"HTTP/1.1 200 ")


def test_connections_are_kept_for_the_next_request() -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        answers = b""
        for _ in range(3):
            writer.write(REQUEST + REQUEST)
            answers += await reader.readuntil(b"hi") + await reader.readuntil(b"hi")
            await asyncio.sleep(0.05)
        return answers

    assert talk(client).count(b"HTTP/1.1 200 ") == 6


def answered(sent: bytes) -> tuple[int, dict[str, Any]]:
    """Status and problem document that a client gets which sends all it has before it reads."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for start in range(0, len(sent), 10_000):
            writer.write(sent[start : start + 10_000])
            await writer.drain()
            await asyncio.sleep(0)
        return await reader.read()

    head, _, body = talk(client).partition(b"\r\n\r\n")
    assert b"\r\ncontent-type: application/problem+json\r\n" in head.lower()
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("size", [40_000, 200_000, 3_000_000])
def test_headers_without_end_are_refused_in_words_that_arrive(size: int) -> None:
    status, problem = answered(b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"x" * size)
    assert (status, problem["type"]) == (431, "/problems/headers-too-large")
    assert "32,768 bytes" in problem["detail"]


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00 a client that speaks TLS", b"hello\r\n\r\n"])
def test_what_is_no_http_is_told_so(sent: bytes) -> None:
    status, problem = answered(sent)
    assert (status, problem["type"]) == (400, "/problems/bad-request")


def test_a_body_that_breaks_off_into_nonsense_ends_its_request() -> None:
    begun = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
    status, problem = answered(begun + b"nonsense\r\n\r\n")
    assert (status, problem["type"]) == (400, "/problems/bad-request")
