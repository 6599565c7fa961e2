"""What senders write, understood."""

import json
from typing import Any

import pytest

from api.alerts.model import MAX_ALERTS, MAX_VALUE, Notification
from api.alerts.payloads import AlertGroup, PagerDutyBody, read
from api.problem import Problem
from tests.api.alerts.sent import alert, group, incident, of_grafana, resolved


def note(body: dict[str, Any]) -> Notification:
    return read(json.dumps(body).encode(), AlertGroup).notification("alertmanager")


def test_a_notification_of_alertmanager() -> None:
    told = note(group("key", alert(), resolved("Other"), truncatedAlerts=3))
    assert (told.group, told.ref, told.cut_off) == ("key", "key", 3)
    first, second = told.alerts
    assert (first.name, first.firing, first.place) == ("GpuXid", True, "node7:9400")
    assert first.started == 1_796_032_940.381123
    assert first.ended is None
    assert (second.firing, second.ended) == (False, 1_796_035_320.0)
    assert told.titled() == "GpuXid: node7:9400"


@pytest.mark.parametrize(
    "never", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+08:00", "9999-12-31T23:59:59-08:00", "", None]
)
def test_a_time_that_is_none(never: str | None) -> None:
    assert note(group("key", resolved(endsAt=never, startsAt=never))).alerts[0].ended is None


def test_what_may_be_missing() -> None:
    (one,) = note({"groupKey": 666, "alerts": [{"labels": {"a": 1}}]}).alerts
    assert (one.name, one.firing, one.labels, one.started) == ("alert", True, {"a": "1"}, None)
    assert len(one.fingerprint) == 16
    (other,) = note({"groupKey": "k", "status": "resolved", "alerts": [{"labels": {}, "annotations": None}]}).alerts
    assert not other.firing
    assert other.fingerprint != one.fingerprint


def test_grafana_has_values_and_panels() -> None:
    told = read(json.dumps(of_grafana("k", alert(values={"B": 22.5, "C": None, "D": "x"}))).encode(), AlertGroup)
    (one,) = told.notification("grafana").alerts
    assert one.values == {"B": 22.5}
    assert one.url == "https://grafana.example/d/abc?viewPanel=1"


def test_too_many_alerts_are_cut_and_those_that_fire_come_first() -> None:
    many = [resolved(str(n)) for n in range(400)] + [alert(str(n)) for n in range(300)]
    told = note(group("key", *many))
    assert (len(told.alerts), told.cut_off, told.left_out) == (MAX_ALERTS, 0, 200)
    assert len(told.firing) == 300


def test_long_texts_are_cut_and_odd_characters_go() -> None:
    told = note(group("k" * 400, alert(annotations={"summary": "a\x00b\u202ec\n" + "x" * 9_000, "list": [1]})))
    (one,) = told.alerts
    assert set(one.annotations) == {"summary"}
    assert one.annotations["summary"].startswith("a b c\nx")
    assert len(one.annotations["summary"]) == MAX_VALUE
    assert told.ref.startswith("sha256:")
    assert len(told.ref) < 100


def test_equal_news_have_an_equal_key() -> None:
    told = note(group("k", alert("A"), alert("B")))
    assert told.key == note(group("k", alert("B", annotations={}, endsAt=None), alert("A"), receiver="other")).key
    for other in (
        group("k", alert("A")),
        group("l", alert("A"), alert("B")),
        group("k", alert("A"), resolved("B")),
        group("k", alert("A"), alert("B", startsAt="2026-11-30T10:02:21Z")),
        group("k", alert("A"), alert("B", fingerprint="0")),
    ):
        assert note(other).key != told.key


@pytest.mark.parametrize(
    ("kind", "firing"), [("incident.triggered", True), ("incident.reopened", True), ("incident.resolved", False)]
)
def test_incidents(kind: str, firing: bool) -> None:
    told = read(json.dumps(incident(7, kind)).encode(), PagerDutyBody).notification()
    assert told is not None
    (one,) = told.alerts
    assert (told.ref, one.firing, one.name) == ("Q000007", firing, "Training loss is NaN")
    assert one.labels == {
        "alertname": "Training loss is NaN", "service": "pretraining", "priority": "P1", "urgency": "high",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["incident.acknowledged", "incident.annotated", "pagey.ping", "service.created"])
def test_other_events_of_pagerduty_are_no_news(kind: str) -> None:
    body = {"event": {"id": "x", "event_type": kind, "data": {"message": "Hello", "type": "ping"}}}
    assert read(json.dumps(body).encode(), PagerDutyBody).notification() is None


def test_errors_name_the_place() -> None:
    with pytest.raises(Problem) as caught:
        read(b'{"groupKey": "k", "alerts": [{"labels": [], "startsAt": "soon"}]}', AlertGroup)
    assert {error.pointer for error in caught.value.errors} == {"/alerts/0/labels", "/alerts/0/startsAt"}
    body = PagerDutyBody.model_validate({"event": {"id": "x", "event_type": "incident.triggered", "data": {}}})
    with pytest.raises(Problem) as caught:
        body.notification()
    assert [error.pointer for error in caught.value.errors] == ["/event/data/id"]
