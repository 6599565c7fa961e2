"""``/healthz``, ``/readyz`` and ``/metrics``: for those who run the service."""

from typing import Literal

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from api.access import Scope, needs, public
from api.described import problems
from api.exchange import expert_of
from api.messages import say
from api.problem import Problem
from engine.model.base import Frozen
from engine.model.case import Case, Observation

router = APIRouter(tags=["health"])


class Health(Frozen):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Frozen):
    """The service can diagnose."""

    status: Literal["ready"] = "ready"
    kb_version: str
    kb_digest: str
    answered_by: str


@router.get(
    "/healthz",
    operation_id="get_health",
    summary="Is the process alive?",
    dependencies=[public()],
    responses=problems(),
)
async def get_health() -> Health:
    """Answers as long as the event loop turns; looks at nothing else."""
    return Health()


@router.get(
    "/readyz",
    operation_id="get_readiness",
    summary="Can the service diagnose?",
    dependencies=[public()],
    responses=problems("not-ready"),
)
async def get_readiness(request: Request) -> Readiness:
    """Diagnoses a tiny known case, and writes to the store and rolls back."""
    knowledge = expert_of(request).knowledge
    try:
        answered_by = expert_of(request).self_test(Case(observations=[Observation(name="loss", value="nan")]))
    except Exception as error:
        raise Problem("not-ready", say("engine-failed")) from error
    try:
        await request.app.state.store.check_writable()
    except Exception as error:
        raise Problem("not-ready", say("store-failed")) from error
    return Readiness(kb_version=knowledge.version, kb_digest=knowledge.digest, answered_by=answered_by)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Prometheus metrics",
    dependencies=[needs(Scope.METRICS_READ)],
    response_class=PlainTextResponse,
    responses=problems(),
)
async def get_metrics(request: Request) -> Response:
    """Requests, latencies, diagnoses and engine events in Prometheus' text format."""
    return Response(request.app.state.metrics.exposition(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
