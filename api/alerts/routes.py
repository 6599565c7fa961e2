"""``/v1/webhooks``: alerts of Alertmanager, Grafana and PagerDuty come in."""

import time
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from api.access import Scope, caller_of, needs, public
from api.alerts.model import MAX_NAME, Notification, SourceName
from api.alerts.payloads import AlertGroup, PagerDutyBody, read
from api.alerts.receipt import Receipt, take
from api.alerts.signatures import require_grafana, require_pagerduty
from api.alerts.words import REFUSALS
from api.described import problems
from api.exchange import LangParameters
from api.media import FORMATS, media_type, require_utf8
from api.messages import say
from api.problem import Problem
from api.settings import Settings
from engine.model.base import Lang

router = APIRouter(prefix="/v1/webhooks", tags=["alerts"])

_ALERT = MappingProxyType(
    {
        "status": "firing",
        "labels": {"alertname": "GpuXid", "instance": "node7:9400", "gpu": "3", "xid": "79", "severity": "critical"},
        "annotations": {"summary": "Xid 79 on node7", "description": "GPU has fallen off the bus"},
        "startsAt": "2026-11-30T10:02:20.381Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example:9090/graph",
        "fingerprint": "4e4c4c3d872bf6d8",
    }
)
_GROUP = MappingProxyType(
    {
        "version": "4",
        "groupKey": '{}:{alertname="GpuXid"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "traintriage",
        "externalURL": "http://alertmanager.example:9093",
        "alerts": [dict(_ALERT)],
    }
)
_INCIDENT = MappingProxyType(
    {
        "event": {
            "id": "01CH754SM17TWPE2V2H4VPBRO7",
            "event_type": "incident.triggered",
            "resource_type": "incident",
            "occurred_at": "2026-11-30T10:03:00.169Z",
            "data": {
                "id": "PGR0VU2",
                "type": "incident",
                "html_url": "https://example.pagerduty.com/incidents/PGR0VU2",
                "title": "Training loss is NaN",
                "urgency": "high",
                "created_at": "2026-11-30T10:03:00Z",
                "service": {"id": "PF9KMXH", "summary": "pretraining"},
            },
        }
    }
)
_RECEIPT = {"alerts": 1, "repeated": False}
_PROBLEMS = ("bad-json", "unsupported-media-type", "invalid-input", "too-deep", "too-large", "body-timeout")


def _body(example: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def _answers(*slugs: str) -> dict[int | str, dict[str, Any]]:
    good = {"content": {"application/json": {"example": _RECEIPT}}}
    return {202: good, **problems(*_PROBLEMS, "store-unavailable", "store-full", *slugs)}


@router.post(
    "/alertmanager",
    operation_id="receive_alertmanager",
    summary="Take alerts of Alertmanager",
    status_code=202,
    response_model=Receipt,
    dependencies=[needs(Scope.ALERTS_WRITE)],
    responses=_answers(),
    openapi_extra=_body(dict(_GROUP)),
)
async def receive_alertmanager(request: Request, query: Annotated[LangParameters, Query()]) -> Response:
    """Open or update the case of an alert group. The body is that of Alertmanager's webhook, version 4.

    It is kept before it is answered, and worked on after. A group that fires while its case is open adds to that
    case; one that fires after it was resolved opens another. `resolved` leaves a message and resolves nothing.
    """
    return await _alert_group(request, "alertmanager", query.chosen(request))


@router.post(
    "/grafana",
    operation_id="receive_grafana",
    summary="Take alerts of Grafana",
    status_code=202,
    response_model=Receipt,
    dependencies=[needs(Scope.ALERTS_WRITE)],
    responses=_answers("bad-signature"),
    openapi_extra=_body({**_GROUP, "alerts": [{**_ALERT, "values": {"B": 79}}], "orgId": 1, "version": "1"}),
)
async def receive_grafana(request: Request, query: Annotated[LangParameters, Query()]) -> Response:
    """As for Alertmanager. If TRAINTRIAGE_GRAFANA_SECRETS is set, the body must be signed with one of them as well."""
    settings = _settings(request)
    if settings.grafana_secrets:
        headers = request.headers
        require_grafana(
            await request.body(),
            headers.get("x-grafana-alerting-signature"),
            headers.get(settings.grafana_timestamp_header) if settings.grafana_timestamp_header else None,
            settings.grafana_secrets,
            time.time(),
        )
    return await _alert_group(request, "grafana", query.chosen(request))


@router.post(
    "/pagerduty",
    operation_id="receive_pagerduty",
    summary="Take incidents of PagerDuty",
    status_code=202,
    response_model=Receipt,
    dependencies=[public()],  # it brings its own proof
    responses=_answers("bad-signature", "not-found"),
    openapi_extra=_body(dict(_INCIDENT)),
)
async def receive_pagerduty(request: Request, query: Annotated[LangParameters, Query()]) -> Response:
    """Open or update the case of an incident. The body is that of a V3 webhook, signed in X-PagerDuty-Signature."""
    settings = _settings(request)
    if not settings.pagerduty_secrets:
        raise Problem("not-found", REFUSALS["not-set"])
    body = await request.body()
    require_pagerduty(body, request.headers.get("x-pagerduty-signature"), settings.pagerduty_secrets)
    _require_json(request)
    sent = read(body, PagerDutyBody)
    delivery = request.headers.get("x-webhook-id", "")
    key = delivery if delivery.isascii() and delivery.isprintable() and 0 < len(delivery) <= MAX_NAME else sent.event.id
    return await _taken(request, settings.pagerduty_tenant, sent.notification(), query.chosen(request), key)


async def _alert_group(request: Request, source: SourceName, lang: Lang) -> Response:
    _require_json(request)
    note = read(await request.body(), AlertGroup).notification(source)
    return await _taken(request, caller_of(request).tenant, note, lang)


async def _taken(request: Request, tenant: str, note: Notification | None, lang: Lang, key: str = "") -> Response:
    state = request.app.state
    receipt = await take(state.store, state.jobs, tenant, note, lang, key)
    return Response(receipt.model_dump_json(), status_code=202, media_type="application/json")


def _require_json(request: Request) -> None:
    sent = request.headers.get("content-type", "")
    if FORMATS.get(media_type(sent)) != "json":
        shown = "application/json"
        raise Problem("unsupported-media-type", say("media-type", accepted=shown), headers={"Accept": shown})
    require_utf8(sent)


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings
