"""The bodies that Alertmanager (webhook version 4), Grafana and PagerDuty (V3) send; unknown keys are no error."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from api.alerts.model import (
    MAX_NAME,
    Alert,
    Notification,
    SourceName,
    clean,
    fingerprint_of,
    limited,
    numbers,
    one_line,
    seconds_of,
    texts,
)
from api.documents import load_json
from api.messages import say
from api.problem import invalid_input
from api.validation import FieldError, explain

MAX_GROUP = 20_000
MAX_URL = 2_000
_FIRES = frozenset({"incident.triggered", "incident.reopened"})
_ENDS = frozenset({"incident.resolved"})
_ENDED = frozenset({"resolved", "normal", "inactive"})

Texts = Annotated[dict[str, str], BeforeValidator(texts)]
Numbers = Annotated[dict[str, float], BeforeValidator(numbers)]
Moment = Annotated[datetime | None, BeforeValidator(lambda given: given or None)]
Url = Annotated[str, BeforeValidator(lambda given: given or ""), Field(max_length=100_000)]
Model = TypeVar("Model", bound="Sent")


class Sent(BaseModel):
    """Something that another program writes: what it adds in later versions must not stop us."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class SentAlert(Sent):
    """An alert of Alertmanager or Grafana."""

    status: str = ""
    labels: Texts
    annotations: Texts = {}
    values: Numbers = Field({}, description="Grafana: what the queries of the rule came to.")
    startsAt: Moment = None  # noqa: N815 - the sender's names
    endsAt: Moment = None  # noqa: N815
    generatorURL: Url = ""  # noqa: N815
    panelURL: Url = ""  # noqa: N815
    fingerprint: str = ""

    def alert(self, state: str) -> Alert:
        """As we understand it; ``state`` is that of its group."""
        firing = (self.status or state).lower() not in _ENDED
        url = self.panelURL or self.generatorURL
        return Alert(
            name=one_line(self.labels.get("alertname", ""), MAX_NAME) or "alert",
            firing=firing,
            labels=self.labels,
            annotations=self.annotations,
            values=self.values,
            started=seconds_of(self.startsAt),
            ended=None if firing else seconds_of(self.endsAt),
            fingerprint=clean(self.fingerprint, MAX_NAME) or fingerprint_of(self.labels),
            url=url[:MAX_URL],
        )


class AlertGroup(Sent):
    """A notification of Alertmanager, version 4, or of Grafana, which has the same keys and some more."""

    groupKey: str = Field(min_length=1, max_length=MAX_GROUP, description="What the sender calls the group.")  # noqa: N815
    status: str = Field("firing", description="firing or resolved.")
    alerts: list[SentAlert] = Field(description="The alerts of the group.")
    truncatedAlerts: int = Field(0, ge=0, description="Alerts that the sender left out.")  # noqa: N815
    externalURL: Url = ""  # noqa: N815

    def notification(self, source: SourceName) -> Notification:
        """As we understand it."""
        alerts, left_out = limited([one.alert(self.status) for one in self.alerts])
        url = next((alert.url for alert in alerts if alert.url), self.externalURL[:MAX_URL])
        return Notification(
            source=source,
            group=self.groupKey,
            alerts=alerts,
            cut_off=self.truncatedAlerts,
            left_out=left_out,
            url=url,
        )


class Named(Sent):
    """A reference of PagerDuty to one of its objects."""

    summary: str = ""


class Incident(Sent):
    """The incident of an event."""

    id: str = Field(min_length=1, max_length=MAX_NAME)
    title: str = ""
    html_url: Url = ""
    created_at: Moment = None
    incident_key: str | None = Field(None, max_length=1_000)
    urgency: str | None = None
    service: Named | None = None
    priority: Named | None = None


class IncidentEvent(Sent):
    """What happened."""

    id: str = Field(min_length=1, max_length=MAX_NAME)
    event_type: str
    occurred_at: Moment = None
    data: dict[str, Any]


class PagerDutyBody(Sent):
    """A webhook of PagerDuty, V3: one event."""

    event: IncidentEvent

    def notification(self) -> Notification | None:
        """As we understand it; None for what is no news of an alert: acknowledged, escalated, a ping.

        Raises:
            Problem: 422 if the incident cannot be read.
        """
        kind = self.event.event_type
        if kind not in _FIRES | _ENDS:
            return None
        incident = _checked(Incident, self.event.data, ("event", "data"))
        title = one_line(incident.title, MAX_NAME) or "incident"
        # An incident that is opened again is another time of firing.
        began = self.event.occurred_at if kind == "incident.reopened" else incident.created_at or self.event.occurred_at
        firing = kind in _FIRES
        alert = Alert(
            name=title,
            firing=firing,
            labels=_labels(incident),
            annotations={"summary": title},
            started=seconds_of(began),
            ended=None if firing else seconds_of(self.event.occurred_at),
            fingerprint=incident.id,
            url=incident.html_url[:MAX_URL],
        )
        return Notification(
            source="pagerduty",
            group=incident.id,
            alerts=(alert,),
            url=alert.url,
            about=incident.incident_key or "",  # the dedup_key of who triggered it, which for us is the case
        )


def read(body: bytes, model: type[Model]) -> Model:
    """The checked body of a webhook.

    Raises:
        Problem: 400 if it is no JSON, 422 if it is not what the sender documents.
    """
    data = load_json(body)
    if not isinstance(data, dict):
        raise invalid_input((FieldError("body", "", say("not-an-object"), say("send-object-with-keys")),))
    return _checked(model, data, ())


def _checked(model: type[Model], data: dict[str, Any], place: tuple[str, ...]) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        told = error.errors(include_input=False, include_url=False)
        raise invalid_input(explain([{**one, "loc": ("body", *place, *one["loc"])} for one in told])) from error


def _labels(incident: Incident) -> dict[str, str]:
    named = {
        "alertname": incident.title,
        "service": incident.service.summary if incident.service else "",
        "priority": incident.priority.summary if incident.priority else "",
        "urgency": incident.urgency or "",
    }
    return {name: one_line(value, MAX_NAME) for name, value in named.items() if value.strip()}
