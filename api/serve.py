"""Start the service: one process or several, reloading its knowledge on SIGHUP."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
import sys
import tempfile
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from api.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fastapi import FastAPI

KEEP_ALIVE_SECONDS = 15  # longer than clients that poll or retry within seconds need
BACKLOG = 512
SHUTDOWN_SECONDS = 30
WORKER_SECONDS = 60  # a worker that does not answer for so long is replaced; on a busy machine starting takes a while


def run(
    host: str | None = None,
    port: int | None = None,
    *,
    workers: int | None = None,
    knowledge: Path | None = None,
    store_url: str | None = None,
    log_level: str | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests under way are answered first. ``None``: TRAINTRIAGE_* or the default.

    Raises:
        SettingsError: if a setting or the store cannot be used, or the address is too open.
        OSError: if the port cannot be bound.
    """
    settings = Settings.from_env(
        os.environ,
        host=host,
        port=port,
        workers=workers,
        knowledge=knowledge,
        store_url=store_url,
        log_level=log_level,
    )
    if settings.access == "open":
        require_loopback(settings.host)
    if settings.oidc_issuer:
        _check_provider(settings)
    _check_slack(settings)
    _check_checkpoints(settings)
    with _bound(settings.host, settings.port) as listener:
        asyncio.run(_prepare_store(settings.store_url))
        if settings.workers > 1:
            _run_workers(settings, listener)
        else:
            _run_one(settings, listener)


def _check_slack(settings: Settings) -> None:
    """Say what is missing before workers start, each of which would fail and be started again.

    Raises:
        SettingsError: if only half of what Slack needs is set.
    """
    from api.slack import require_libraries
    from api.slack.config import config_of

    if config_of(settings) is not None:
        require_libraries()


def _check_checkpoints(settings: Settings) -> None:
    """See that the audit log can be signed, if it is to be.

    Raises:
        SettingsError: if it cannot.
    """
    from api import checkpoints

    checkpoints.check(settings)


def require_loopback(host: str) -> None:
    """Refuse every address that other machines can reach.

    Raises:
        SettingsError: for any other address.
    """
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise SettingsError(
            f"without access keys the service only listens on loopback (127.0.0.1, ::1 or localhost), not on {host!r}, "
            "where anybody who reaches the port could use it. Set TRAINTRIAGE_ACCESS=keys, and make keys with "
            "traintriage keys create."
        )


def _check_provider(settings: Settings) -> None:
    """See that what is said of the identity provider fits together, before workers start.

    Raises:
        SettingsError: if it does not.
    """
    from api.access.authentication import provider_of
    from api.outbound import Outbound

    provider_of(settings, Outbound.of(settings), time.time)


async def _prepare_store(url: str) -> None:
    """Bring the store up to date once, before workers start, so that one that cannot be used is said in one line.

    Raises:
        SettingsError: if it cannot be used.
    """
    from api.store import Store, StoreError

    try:
        store = Store(url)
        try:
            await store.start()
        finally:
            await store.close()
    except StoreError as error:
        raise SettingsError(f"TRAINTRIAGE_STORE_URL: {error}") from None


def _bound(host: str, port: int) -> socket.socket:
    """A socket on the address, taken before anything is loaded, so that a port in use is said at once.

    Raises:
        OSError: if the address cannot be had; the text names it.
    """
    # asyncio turns Nagle's delay off only where the protocol is named; with it, an answer of two writes takes 40 ms.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # A port that an earlier run has just left is free, although its last connections still linger.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"{host}:{port}: {(error.strerror or str(error)).lower()}") from error
    return listener


def application(settings: Settings) -> FastAPI:
    """The application as it runs in a worker; also what a worker process calls."""
    from api.app import create_app

    return create_app(settings)


def _config(settings: Settings) -> Any:
    import uvicorn

    from api.limits import HEADER_BYTES
    from api.protocol import ImpatientProtocol

    return uvicorn.Config(
        partial(application, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="api.fairness:FairLoop" if settings.workers > 1 else "asyncio",
        http=ImpatientProtocol,
        ws="none",
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        backlog=BACKLOG,
        proxy_headers=False,  # nothing here depends on the client's address or scheme
        access_log=False,  # the service logs its requests itself
        log_config=_log_config(settings.log_level),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=WORKER_SECONDS,
        server_header=False,
        date_header=True,
    )


def _say_ready(listener: socket.socket) -> None:
    """Tell whoever started the service, in words and whatever the log level is, that it answers now."""
    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    sys.stderr.write(f"listening on {address} (docs at /docs)\n")
    sys.stderr.flush()


def _is_listening(listener: socket.socket) -> bool:
    """Whether connections are taken: workers listen on the socket only when they are ready."""
    return bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _run_one(settings: Settings, listener: socket.socket) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        """Reloads the knowledge on SIGHUP while it serves."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                _say_ready(listener)
            # The loop holds tasks weakly; the set keeps a reload alive until it is done.
            tasks: set[asyncio.Task[None]] = set()
            app = self.config.loaded_app
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload_soon(app, tasks))

    server = Server(_config(settings))
    server.run(sockets=[listener])
    if not server.started:
        sys.exit(3)


def _reload_soon(app: Any, tasks: set[asyncio.Task[None]]) -> Callable[[], None]:
    from api.protocol import state_of

    state = state_of(app)

    def on_signal() -> None:
        task = asyncio.get_running_loop().create_task(reload_and_log(state))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return on_signal


async def reload_and_log(state: Any) -> None:
    """Reload the knowledge of the app with this ``state``; a failure is logged and changes nothing."""
    from api.expert import ReloadError

    try:
        digest = await state.expert.reload()
    except ReloadError as error:
        state.logger.error("reload failed, the old knowledge base stays in use", reason=str(error))
    else:
        state.logger.info("reloaded", kb_digest=digest)


def _run_workers(settings: Settings, listener: socket.socket) -> None:
    """Several processes on one socket. On SIGHUP each is replaced by a new one that is ready first."""
    from uvicorn.supervisors import Multiprocess

    class Supervisor(Multiprocess):
        """Says when the first worker listens, and notices at once that one has died."""

        ready = False

        def keep_subprocess_alive(self) -> None:
            if not self.ready and _is_listening(listener):
                self.ready = True
                _say_ready(listener)
            for process in self.processes:
                # The worker's end, of which it has a copy. While ours is open, asking a dead worker how it is waits
                # WORKER_SECONDS for the answer, and SIGTERM with it.
                process.child_conn.close()
            super().keep_subprocess_alive()

    with tempfile.TemporaryDirectory(prefix="traintriage-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # read by prometheus-client in the workers
        Supervisor(_config(settings), [listener]).run()


def _log_config(level: str) -> dict[str, Any]:
    """Uvicorn's own messages, as JSON lines on stderr like those of the service."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": json_formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
        "loggers": {"uvicorn": {"handlers": ["stderr"], "level": level.upper(), "propagate": False}},
    }


def json_formatter() -> Any:
    """A logging formatter that writes one JSON object a line."""
    import structlog

    from api.telemetry import exception_renderer

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            exception_renderer(),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
    )
