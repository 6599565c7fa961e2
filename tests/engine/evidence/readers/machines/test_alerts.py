from __future__ import annotations

import json

import pytest

from engine.evidence.readers import read
from engine.evidence.readers.machines.alerts import joined


def alert(name: str, status: str = "firing", **labels: str) -> dict[str, object]:
    return {
        "status": status,
        "labels": {"alertname": name, **labels},
        "annotations": {"summary": "first\\tline", "description": "and\nmore"},
        "startsAt": "2026-03-02T04:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z" if status == "firing" else "2026-03-02T05:00:00Z",
    }


def webhook(*alerts: dict[str, object], **extra: object) -> bytes:
    body = {
        "version": "4",
        "groupKey": "{}",
        "status": "firing",
        "groupLabels": {},
        "commonLabels": {},
        "alerts": [*alerts],
    }
    return json.dumps(body | extra).encode()


def test_a_firing_alert_is_one_line_of_text(facts):
    record = read(webhook(alert("GpuXidError", gpu="3", host="gpu041", xid="79")), "alert.json")
    assert record.read.format == "alerts"
    text = 'alertname="GpuXidError" gpu="3" host="gpu041" xid="79" first line and more'
    assert [(event.line, event.text) for event in record.events] == [(1, text)]
    assert facts(record) == {"gpu.xid": 79.0, "alert.names": "GpuXidError"}


def test_the_alerts_of_several_notifications_are_named_together():
    records = [read(webhook(alert(name)), f"{name}.json") for name in ("HostDown", "LossNaN")]
    told = joined([reading for record in records for reading in record.readings])
    assert [(one.fact, one.value) for one in told] == [("alert.names", "HostDown, LossNaN")]


@pytest.mark.parametrize("name", ["Watchdog", "DeadMansSwitch", "InfoInhibitor"])
def test_alerts_that_fire_on_purpose(name, facts):
    record = read(webhook(alert(name)), "alert.json")
    assert (record.events, facts(record)) == ((), {})


def test_resolved_alerts_are_no_trouble(facts):
    record = read(webhook(alert("HostDown", "resolved"), alert("LossNaN")), "alert.json")
    assert facts(record) == {"alert.names": "LossNaN"}
    assert [event.line for event in record.events] == [2]
    assert record.not_understood == ("1 alerts are resolved and were left out",)


def test_grafana_and_the_list_of_the_api():
    grafana = json.loads(webhook(alert("LossSpike"))) | {"orgId": 1, "state": "alerting", "title": "[FIRING:1]"}
    assert read(json.dumps(grafana).encode(), "g.json").events[0].text.startswith('alertname="LossSpike"')
    listed = [alert("LossSpike") | {"status": {"state": "active"}}, alert("Old") | {"status": {"state": "suppressed"}}]
    assert len(read(json.dumps(listed).encode(), "a.json").events) == 1


def test_cut_off_alerts_are_told():
    cut = read(webhook(alert("A"), truncatedAlerts=7, leftOutAlerts=2), "alert.json").not_understood
    assert cut == (
        "7 further alerts were cut off by the sender",
        "2 further alerts were cut off by the service that took them",
    )


@pytest.mark.parametrize("alerts", [None, 3, "x", [None, 1, "a", {}], [{"labels": 5, "annotations": []}]])
def test_odd_content(alerts):
    body = json.loads(webhook()) | {"alerts": alerts}
    assert read(json.dumps(body).encode(), "alert.json").read.format == "alerts"
