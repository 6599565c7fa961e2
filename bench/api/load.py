"""``python -m bench.api.load PORT CLIENTS SECONDS BODY_FILE``: requests over kept-open connections; JSON on stdout.

A process of its own and bare sockets, so that making the load takes as little as possible from the service.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

PATH = "/v1/diagnoses"


async def drive(port: int, clients: int, seconds: float, body: bytes) -> list[float]:
    """Seconds each answer took, from the first byte sent to the last received.

    Raises:
        AssertionError: if an answer is not a 200.
    """
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    request = head.encode() + b"\r\n\r\n" + body
    took: list[float] = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_client(port, request, end, took) for _ in range(clients)))
    return took


async def _client(port: int, request: bytes, end: float, took: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (started := time.perf_counter()) < end:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        took.append(time.perf_counter() - started)
    writer.close()


if __name__ == "__main__":
    port, clients, seconds, path = sys.argv[1:]
    answers = asyncio.run(drive(int(port), int(clients), float(seconds), Path(path).read_bytes()))
    json.dump(answers, sys.stdout)
