"""Request ids, one JSON log line a request, Prometheus metrics, and the last catch for exceptions."""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request

from api.errors import problem_response
from api.messages import say
from api.problem import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from structlog.typing import FilteringBoundLogger

HEADER = "X-Request-ID"
CLIENT_GONE = 499
_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})
# OpenTelemetry's advised boundaries for http.server.request.duration, in seconds, and two below for fast answers.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_SEVERITY = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Stderr:
    """Writes to what is stderr at that moment, which may be another stream than at the start."""

    def msg(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)  # noqa: T201 - this is where log lines leave the process

    debug = info = warning = error = msg


def exception_renderer() -> structlog.processors.ExceptionRenderer:
    """Exceptions as plain data, without the variables of their frames, which hold what the request said."""
    return structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))


def make_logger(level: str) -> FilteringBoundLogger:
    """A logger that writes one JSON object a line to stderr; it is not shared and not global."""
    logger: FilteringBoundLogger = structlog.wrap_logger(
        _Stderr(),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            exception_renderer(),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_SEVERITY[level]),
    )
    return logger


class Metrics:
    """The service's metrics in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("traintriage_http_requests", "Answered requests.", "method", "route", "status")
        self.latency = Histogram(
            "traintriage_http_request_duration_seconds",
            "Time from the request's headers to the end of the answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.diagnoses = self._counter("traintriage_diagnoses", "Diagnoses by what answered.", "answered_by")
        self.disagreements = self._counter(
            "traintriage_engine_disagreements", "Cases in which engine and reference evaluator differed."
        )
        self.rebuilds = self._counter("traintriage_engine_rebuilds", "Times the engine was built anew after an error.")
        self.reloads = self._counter("traintriage_knowledge_reloads", "Reloads of the knowledge base.", "outcome")
        self.knowledge = Gauge(
            "traintriage_knowledge_objects",
            "Objects of the knowledge base in use.",
            ("kind",),
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format 0.0.4, over all workers if there are several."""
        registry = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class Telemetry:
    """ASGI middleware, outermost: gives the request its id, logs and counts it, turns exceptions into a 500."""

    def __init__(self, app: ASGIApp, *, logger: FilteringBoundLogger, metrics: Metrics) -> None:
        self.app = app
        self.logger = logger
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get(HEADER))
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except ClientDisconnect:
            # Nobody is left to answer. Not an error of ours; nginx's number for it tells it apart in log and metrics.
            status = CLIENT_GONE
        except Exception as error:
            self.logger.error("request failed", request_id=request_id, exc_info=error)
            if not status:
                response = problem_response(_INTERNAL, Request(scope))
                await response(scope, receive, noted)
        self._record(scope, status, time.perf_counter() - started, request_id)

    def _record(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = _template(scope)
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.latency.labels(method, route).observe(seconds)
        self.logger.info(
            "request",
            request_id=request_id,
            method=method,
            route=route,
            status=status,
            milliseconds=round(seconds * 1000, 2),
            caller=getattr(scope.get("state", {}).get("caller"), "id", None),
        )


_INTERNAL = Problem("internal", say("internal"))


def _request_id(sent: str | None) -> str:
    """The caller's id if it is harmless in a log, else a new one."""
    return sent if sent and _VALID_ID.fullmatch(sent) else uuid.uuid4().hex


def _template(scope: Scope) -> str:
    """The path with its parameters unfilled, so that the number of label values stays bounded."""
    route: Any = scope.get("route")
    return getattr(route, "path", "unmatched")
