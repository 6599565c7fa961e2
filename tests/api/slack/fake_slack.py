"""A Slack of our own on loopback: the methods of the Web API that the service calls, as strict as the documentation."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from aiohttp import WSMsgType, web

from tests.api.slack import checker

BOT_TOKEN, APP_TOKEN = "xoxb-1-of-the-test", "xapp-1-of-the-test"
BOT_USER = "U0BOT"
PATIENCE = 15.0  # seconds until a test gives up; nothing is measured by it


class FakeSlack:
    """Runs in a thread of its own. ``calls`` are what was asked of it; ``complaints`` what Slack would refuse."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refused: list[tuple[str, dict[str, Any]]] = []
        self.complaints: list[str] = []
        self.failing: dict[str, list[str | int]] = defaultdict(list)  # answers to give first: an error, or a status
        self.threads: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, tuple[int, str, bytes]] = {}
        self.people: frozenset[str] = frozenset()
        self.scopes = "app_mentions:read,channels:history,chat:write,commands,files:read"
        self.sockets: list[web.WebSocketResponse] = []
        self.acknowledged: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.port = 0
        self._posted = 0

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def close(self) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Begin a new test."""
        for kept in (self.calls, self.refused, self.complaints, self.failing, self.threads, self.files, self.contents):
            kept.clear()
        self.acknowledged.clear()
        self.people = frozenset()

    def called(self, method: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in list(self.calls) if name == method]

    def wait_for(self, what: Callable[[], Any]) -> Any:
        """Wait until ``what`` is true of this Slack, and return it."""
        with self._changed:
            assert self._changed.wait_for(what, PATIENCE), [name for name, _ in self.calls]
        return what()

    def wait_for_calls(self, method: str, count: int = 1) -> list[dict[str, Any]]:
        return list(self.wait_for(lambda: (found := self.called(method)) and len(found) >= count and found))

    def send(self, envelope: dict[str, Any]) -> None:
        """Deliver over the newest connection of Socket Mode."""
        self.wait_for(lambda: self.sockets)
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.sockets[-1].send_str(json.dumps(envelope)), self._loop).result(PATIENCE)

    def hang_up(self) -> None:
        """Break the newest connection of Socket Mode."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.sockets.pop().close(), self._loop).result(PATIENCE)

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._method)
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/files/{name}", self._file)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        for socket in self.sockets:
            await socket.close()
        await runner.cleanup()

    async def _method(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token != (APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN):
            return web.json_response({"ok": False, "error": "invalid_auth"})
        if request.content_type == "application/json":
            arguments = await request.json()
        else:
            arguments = {name: _value(str(value)) for name, value in (await request.post()).items()}
        arguments |= dict(request.query)
        failure = self._failure(method)
        answer = failure or self._answer(method, arguments)
        with self._changed:
            (self.refused if failure else self.calls).append((method, arguments))
            self._changed.notify_all()
        if isinstance(answer, web.Response):
            return answer
        return web.json_response(answer, headers={"x-oauth-scopes": self.scopes})

    def _failure(self, method: str) -> Any:
        if not self.failing[method]:
            return None
        failure = self.failing[method].pop(0)
        if isinstance(failure, int):
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=failure, headers={"Retry-After": "0"}
            )
        return {"ok": False, "error": failure}

    def _answer(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if method in ("chat.postMessage", "chat.update", "chat.postEphemeral"):
            self.complaints += checker.of_message(arguments, self.people)
            self._posted += 1
            ts = arguments.get("ts") or f"1700000000.{self._posted:06d}"
            posted = {
                "text": arguments["text"],
                "ts": ts,
                "metadata": _value(arguments.get("metadata", "")),
                "user": BOT_USER,
            }
            self.threads.setdefault(str(arguments.get("thread_ts") or ts), []).append(posted)
            channel = arguments["channel"]
            channel = f"D{channel[1:]}" if channel.startswith("U") else channel
            return {"ok": True, "channel": channel, "ts": ts, "message": {"ts": ts}}
        if method == "views.open":
            self.complaints += checker.of_view(arguments["view"])
            return {"ok": True, "view": {"id": "V1"}}
        if method == "conversations.replies":
            return {"ok": True, "messages": self.threads.get(str(arguments["ts"]), [])}
        if method == "conversations.history":
            return {"ok": True, "messages": [message for thread in self.threads.values() for message in thread]}
        if method == "files.info":
            known = self.files.get(str(arguments["file"]))
            return {"ok": True, "file": known} if known else {"ok": False, "error": "file_not_found"}
        if method == "auth.test":
            return {"ok": True, "team_id": "T0TEST", "team": "Test", "user": "traintriage", "user_id": BOT_USER}
        if method == "apps.connections.open":
            return {"ok": True, "url": f"ws://127.0.0.1:{self.port}/socket"}
        self.complaints.append(f"the method {method}")
        return {"ok": False, "error": "unknown_method"}

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"type": "hello", "num_connections": 1}))
        with self._changed:
            self.sockets.append(socket)
            self._changed.notify_all()
        async for message in socket:
            if message.type == WSMsgType.TEXT and message.data.startswith("{"):
                with self._changed:
                    self.acknowledged.append(json.loads(message.data))
                    self._changed.notify_all()
        return socket

    async def _file(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {BOT_TOKEN}":
            return web.Response(status=302, headers={"Location": "https://slack.com/signin"})
        status, kind, content = self.contents.get(request.match_info["name"], (404, "text/html", b"none"))
        headers = {"Location": "http://127.0.0.1:1/elsewhere"} if status == 302 else {}
        return web.Response(status=status, content_type=kind, body=content, headers=headers)


def _value(text: Any) -> Any:
    """What an argument means that comes as JSON inside a form, or inside JSON."""
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text
