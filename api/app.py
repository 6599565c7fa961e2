"""The web application, made by :func:`create_app`; nothing is shared between two of them."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from api import alerts, checkpoints, errors, housekeeping, mcp, slack
from api.access.authentication import Authenticator, provider_of
from api.access.gates import Access, Gates
from api.alerts.routes import router as alerts_router
from api.cases.conversation import Conversation
from api.cases.ranking import Ranker
from api.cases.service import Cases
from api.expert import Expert, default_source
from api.jobs import Handler, Worker
from api.limits import HeadAsGet, RequestLimits, SecureHeaders
from api.outbound import Outbound
from api.reader import Source
from api.routes import audit_log, audits, calculators, case_history, cases, diagnoses, health, pages, pipeline
from api.routes.knowledge import make_router
from api.settings import Settings
from api.store import AuditLimits, AuditStore, KeyStore, Store
from api.store.idempotency import KeyLimits
from api.telemetry import Metrics, Telemetry, make_logger
from engine import __version__
from engine.knowledge.knowledge import Knowledge

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


def create_app(settings: Settings, knowledge: Knowledge | None = None, source: Source | None = None) -> FastAPI:
    """The application. Knowledge, engine and store are opened when it starts and closed when it ends.

    Args:
        settings: limits, folder of the knowledge base, place of the store.
        knowledge: to answer from this instead of loading one.
        source: where knowledge and engine come from, if not from the two above.
    """
    app = FastAPI(
        title="traintriage",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    metrics = Metrics()
    logger = make_logger(settings.log_level)
    store = Store(settings.store_url)
    app.state.settings = settings
    app.state.metrics = metrics
    app.state.logger = logger
    app.state.store = store
    app.state.keys = KeyStore(store, _key_limits(settings), time.time)
    app.state.audits = AuditStore(store, AuditLimits(settings.audits_kept, settings.audits_bytes), time.time)
    app.state.expert = Expert(settings, source or default_source(settings, knowledge), metrics)
    app.state.cases = Cases(store, app.state.expert, Ranker(app.state.expert), settings, time.time)
    app.state.conversation = Conversation(app.state.cases, app.state.expert)
    app.state.streams = set()
    handlers: dict[str, Handler] = {housekeeping.KIND: housekeeping.handler(store, settings.retention_days, time.time)}
    if settings.audit_log_key is not None and settings.audit_log_checkpoints is not None:
        handlers[checkpoints.KIND] = checkpoints.handler(
            store, settings.audit_log_key, settings.audit_log_checkpoints, time.time
        )
    app.state.worker_handlers = handlers
    app.state.jobs = Worker(store, handlers, metrics.registry, logger)
    if (slack_config := slack.config_of(settings)) is not None:
        slack.install(app, slack_config)
    errors.install(app)
    for router in (
        diagnoses.router,
        audits.router,
        cases.router,
        case_history.router,
        audit_log.router,
        alerts_router,
        make_router(),
        pipeline.router,
        calculators.router,
        health.router,
        pages.router,
    ):
        app.include_router(router)
    mcp.install(app)
    app.state.outbound = outbound = Outbound.of(settings)
    alerts.install(app, outbound)
    app.state.gates = gates = Gates()
    authenticator = Authenticator(settings, store, provider_of(settings, outbound, time.time))
    # The last one added is the first to see a request.
    app.add_middleware(Access, settings=settings, gates=gates, authenticator=authenticator)
    app.add_middleware(RequestLimits, settings=settings)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Telemetry, logger=logger, metrics=metrics)
    app.add_middleware(SecureHeaders, settings=settings)
    return app


def _key_limits(settings: Settings) -> KeyLimits:
    return KeyLimits(
        keys=settings.idempotency_keys,
        size=settings.idempotency_bytes,
        seconds=settings.idempotency_seconds,
        # A request may wait in the queue of the reading or the auditing process before it is its turn.
        in_flight_seconds=max(
            settings.reading_seconds * (settings.reading_queue + 1), settings.audit_seconds * (settings.audit_queue + 1)
        ),
    )


def _leave_alone() -> None:
    """Take knowledge and engine out of the search for garbage, which would walk through all of them again and again."""
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state: Any = app.state
    expert: Expert = state.expert
    store: Store = state.store
    logger: FilteringBoundLogger = state.logger
    state.gates.learn(app)
    state.closing = asyncio.Event()
    await store.start()
    try:
        await expert.start()
        _leave_alone()
        await housekeeping.schedule(store, time.time)
        if checkpoints.KIND in state.worker_handlers:
            await checkpoints.schedule(store, time.time)
        state.jobs.start()
        async with mcp.running(app):
            logger.info("started", kb_version=expert.knowledge.version, kb_digest=expert.knowledge.digest)
            yield
    finally:
        state.closing.set()
        await state.jobs.close()
        await expert.close()
        await state.outbound.close()
        await store.close()
        logger.info("stopped")
