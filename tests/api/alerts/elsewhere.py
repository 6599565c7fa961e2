"""Another host on loopback: a Prometheus server, a receiver of webhooks, and receivers that misbehave."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@dataclass
class Elsewhere:
    """What it was asked, and how it shall answer."""

    url: str
    requests: list[Request] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of the next answers; then 200
    body: bytes = b"{}"

    def clear(self) -> None:
        self.requests.clear()
        self.statuses.clear()
        self.body = b"{}"


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """Run it on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    there = Elsewhere(f"http://127.0.0.1:{server.server_address[1]}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            there.requests.append(Request(split.path, parse_qs(split.query), headers, self.rfile.read(length)))
            getattr(self, split.path.strip("/").replace("/", "_"), self.answer)()

        do_POST = do_GET  # noqa: N815 - the library's name

        def answer(self) -> None:
            status = there.statuses.pop(0) if there.statuses else 200
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(there.body)))
            self.end_headers()
            self.wfile.write(there.body)

        def hostile_slow(self) -> None:
            time.sleep(1.5)
            self.answer()

        def hostile_huge(self) -> None:
            self.send_response(200)
            self.end_headers()
            for _ in range(200):
                self.wfile.write(b"x" * 65_536)

        def hostile_redirects(self) -> None:
            self.send_response(307)
            self.send_header("Location", f"{there.url}/redirected")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def hostile_closes(self) -> None:
            self.close_connection = True
            self.connection.close()

        def hostile_babbles(self) -> None:
            self.wfile.write(b"\x00\xff this is no HTTP \r\n\r\n")
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError, ValueError):  # who asked has gone, or we closed the connection ourselves
                super().handle()

    server.RequestHandlerClass = Handler
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield there
    finally:
        server.shutdown()
        server.server_close()
