"""``python -m bench.api.load PORT CLIENTS SECONDS BODIES``: requests over kept-open connections; JSON on stdout.

BODIES is a file with one JSON body a line; the clients take them in turn, each from another place on.

A process of its own and bare sockets, so that making the load takes as little as possible from the service.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

PATH = "/v1/diagnoses"


async def drive(port: int, clients: int, seconds: float, bodies: list[bytes]) -> list[float]:
    """Seconds each answer took, from the first byte sent to the last received.

    Raises:
        AssertionError: if an answer is not a 200.
    """
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    took: list[float] = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_client(port, _from(requests, number / clients), end, took) for number in range(clients)))
    return took


def _from(requests: list[bytes], part: float) -> Iterator[bytes]:
    """The requests again and again, beginning at that part of them."""
    start = int(len(requests) * part)
    return cycle(requests[start:] + requests[:start])


async def _client(port: int, requests: Iterator[bytes], end: float, took: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (started := time.perf_counter()) < end:
        writer.write(next(requests))
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        took.append(time.perf_counter() - started)
    writer.close()


if __name__ == "__main__":
    port, clients, seconds, path = sys.argv[1:]
    answers = asyncio.run(drive(int(port), int(clients), float(seconds), Path(path).read_bytes().splitlines()))
    json.dump(answers, sys.stdout)
