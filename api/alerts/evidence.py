"""What alerts say about a run, as a case document, and which alerts a case knows already."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from api.alerts.model import told_time
from api.alerts.payloads import SentAlert
from api.cases.events import Added, Evidence, Opened
from engine.evidence.vocabulary import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from api.alerts.model import Alert, Notification
    from api.cases.events import Event
    from api.cases.view import CaseView
    from engine.knowledge.knowledge import Knowledge

SOURCES = frozenset({"alertmanager", "grafana", "pagerduty"})
MAX_REPORT = 4_000
MAX_OBSERVATIONS = 100
_WORDS = ("summary", "description", "message")
# The reader of alerts makes facts of these itself; as observations they would be told twice.
_READ_ELSEWHERE = frozenset({key_of("alertname"), key_of("xid"), key_of("err_code"), *map(key_of, _WORDS)})


def known_names(knowledge: Knowledge) -> frozenset[str]:
    """Every name under which the knowledge base takes an observation, in the form of :func:`key_of`."""
    names = {key_of(name) for fact in knowledge.facts.values() for name in (fact.id, *fact.aliases)}
    return frozenset(names - _READ_ELSEWHERE)


def document(note: Notification, alerts: Sequence[Alert], known: frozenset[str]) -> dict[str, Any]:
    """A case document of ``alerts`` of a notification.

    The alerts themselves are a file that the reader of alerts takes; their sentences are the report; labels,
    annotations and values are observations where their name is ``known``. Labels that only say where an alert comes
    from are none: as words of the case they would make it resemble causes that mention them.
    """
    name = f"{note.source}.json"
    result: dict[str, Any] = {"files": {name: json.dumps(_file(note, alerts), ensure_ascii=False)}}
    if report := _report(alerts):
        result["report"] = report
    if observations := _observations(alerts, known):
        result["observations"] = observations
    return result


def _file(note: Notification, alerts: Sequence[Alert]) -> dict[str, Any]:
    """As Alertmanager writes it, so that one reader does for all sources; ``leftOutAlerts`` is ours."""
    listed = [
        {
            "status": "firing",
            "labels": {"alertname": alert.name, **alert.labels},
            "annotations": alert.annotations,
            "startsAt": told_time(alert.started),
            "fingerprint": alert.fingerprint,
        }
        for alert in alerts
    ]
    return {
        "groupKey": note.group,
        "alerts": listed,
        "truncatedAlerts": note.cut_off,
        "leftOutAlerts": note.left_out,
    }


def _report(alerts: Sequence[Alert]) -> str:
    lines = dict.fromkeys(alert.annotations[key] for alert in alerts for key in _WORDS if alert.annotations.get(key))
    return "\n".join(lines)[:MAX_REPORT]


def _observations(alerts: Sequence[Alert], known: frozenset[str]) -> list[dict[str, Any]]:
    """The first value of each name: of many alerts of a group the others mostly say the same of other places."""
    found: dict[str, Any] = {}
    for alert in alerts:
        for name, value in {**alert.labels, **alert.annotations, **alert.values}.items():
            if key_of(name) in known:
                found.setdefault(name, value)
    return [{"name": name, "value": value} for name, value in [*found.items()][:MAX_OBSERVATIONS]]


def alert_events(view: CaseView) -> Iterator[Event]:
    """The events that alerts brought."""
    for event in view.events:
        if isinstance(event.body, Opened | Added) and event.body.source.kind in SOURCES:
            yield event


def alerts_of(event: Event) -> list[Alert]:
    """The alerts that an event brought, as far as they are kept."""
    evidence = event.body.evidence if isinstance(event.body, Opened | Added) else Evidence()
    source = event.body.source.kind if isinstance(event.body, Opened | Added) else ""
    text = evidence.document.get("files", {}).get(f"{source}.json", "{}")
    return [SentAlert.model_validate(item).alert("firing") for item in json.loads(text).get("alerts", ())]


def told(view: CaseView) -> frozenset[str]:
    """Ids of the alerts that a case knows already."""
    return frozenset(alert.id for event in alert_events(view) for alert in alerts_of(event))
