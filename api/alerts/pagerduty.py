"""Cases as incidents of PagerDuty (Events API v2): opened triggers, resolved resolves, all under the id of the case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.alerts.evidence import alerts_of
from api.alerts.model import one_line, told_time
from api.alerts.summary import ranking
from api.alerts.webhooks import DeliveryError
from api.alerts.work import caller_for, case_of
from api.cases.events import Opened, Reopened
from api.cases.state import state_of
from api.outbound import OutboundError
from api.store import jobs

if TYPE_CHECKING:
    from pydantic import SecretStr
    from sqlalchemy import Connection

    from api.cases.service import Cases
    from api.cases.view import CaseView, Change
    from api.outbound import Outbound
    from api.store.jobs import Job
    from engine.model.base import Lang

KIND = "pagerduty"
SECONDS = 10.0
MAX_SUMMARY = 1_024  # characters, by the documentation of the API
_SEVERITIES = {
    "critical": "critical", "page": "critical", "emergency": "critical", "p0": "critical", "p1": "critical",
    "error": "error", "high": "error", "major": "error", "p2": "error",
    "warning": "warning", "warn": "warning", "minor": "warning", "medium": "warning", "p3": "warning",
    "info": "info", "informational": "info", "low": "info", "none": "info", "p4": "info", "p5": "info",
}  # fmt: skip


class PagerDutyWork:
    """Orders events for PagerDuty, and sends them.

    Args:
        url: of the events API, ``…/v2/enqueue``.
        tenant: whose cases are told.
        base_url: of the service, for links.
    """

    def __init__(
        self, cases: Cases, outbound: Outbound, url: str, routing_key: SecretStr, tenant: str, base_url: str
    ) -> None:
        self._cases = cases
        self._outbound = outbound
        self._url = url
        self._key = routing_key
        self._tenant = tenant
        self._base_url = base_url

    def order(self, connection: Connection, change: Change) -> None:
        """Let the beginning or the end of a case be told; for the outbox of the cases.

        A case that PagerDuty itself opened is not told back: it would be another incident about the same.
        """
        view, body = change.after, change.event.body
        if change.caller.tenant != self._tenant or view.state.source.kind == "pagerduty":
            return
        ended = view.state.is_resolved
        if isinstance(body, Opened | Reopened) or (ended and not _was_resolved(view)):
            payload = {"case": view.id, "seq": change.event.seq, "action": "resolve" if ended else "trigger"}
            key = f"{KIND}/{view.id}/{change.event.seq}"
            jobs.enqueue(connection, KIND, payload, tenant=change.caller.tenant, key=key)

    async def __call__(self, job: Job) -> None:
        """Send one event.

        Raises:
            DeliveryError: if it was not taken.
        """
        view = await case_of(self._cases, caller_for(job.tenant, "pagerduty"), job.payload["case"])
        if view is None or (job.payload["action"] == "resolve") != view.state.is_resolved:
            return  # it was deleted, or the other event follows or went before while this one waited
        event = {"routing_key": self._key.get_secret_value(), "dedup_key": view.id, "client": "traintriage"}
        event |= {"event_action": job.payload["action"]}
        if job.payload["action"] == "trigger":
            event |= self._details(view)
        try:
            answer = await self._outbound.send("POST", self._url, json=event, seconds=SECONDS)
        except OutboundError as error:
            raise DeliveryError(str(error)) from error
        if not 200 <= answer.status < 300:
            raise DeliveryError(f"answered with HTTP status {answer.status}")

    def _details(self, view: CaseView) -> dict[str, Any]:
        lang: Lang = view.state.lang
        told = ranking(view.ranked, lang)
        url = f"{self._base_url.rstrip('/')}/v1/cases/{view.id}"
        return {
            "payload": {
                "summary": one_line(f"{view.head.title}: {told['summary']}", MAX_SUMMARY),
                "severity": severity(view),
                "source": view.state.source.ref or "traintriage",
                "timestamp": told_time(view.head.created),
                "component": told["causes"][0]["id"] if told["causes"] else "unknown",
                "group": view.state.source.kind,
                "class": "training",
                "custom_details": told,
            },
            "links": [{"href": url, "text": "traintriage"}] if self._base_url else [],
        }


def severity(view: CaseView) -> str:
    """What the alert that opened the case says, in the words of the API; error, if it says nothing."""
    labels = [alert.labels for alert in alerts_of(view.events[0])]
    said = (one.get(name, "").lower() for one in labels for name in ("severity", "priority"))
    return next((_SEVERITIES[word] for word in said if word in _SEVERITIES), "error")


def _was_resolved(view: CaseView) -> bool:
    return len(view.events) > 1 and state_of(view.events[:-1]).is_resolved
