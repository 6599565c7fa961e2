"""Bodies as Alertmanager, Grafana and PagerDuty send them, and their signatures."""

import hashlib
import hmac
import json
from typing import Any

SECRET = "an-old-secret-of-ours"
NEXT_SECRET = "the-secret-that-follows"
JSON = {"Content-Type": "application/json"}


def alert(name: str = "GpuXid", **changes: Any) -> dict[str, Any]:
    return {
        "status": "firing",
        "labels": {"alertname": name, "instance": "node7:9400", "gpu": "3", "xid": "79", "severity": "critical"},
        "annotations": {"summary": "Xid 79 on node7", "description": "GPU has fallen off the bus"},
        "startsAt": "2026-11-30T10:02:20.381123456Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example:9090/graph?g0.expr=xid",
        "fingerprint": hashlib.sha256(name.encode()).hexdigest()[:16],
        **changes,
    }


def resolved(name: str = "GpuXid", **changes: Any) -> dict[str, Any]:
    return alert(name, **{"status": "resolved", "endsAt": "2026-11-30T10:42:00Z", **changes})


def group(key: str, *alerts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A notification of Alertmanager, version 4."""
    firing = any(one["status"] == "firing" for one in alerts)
    return {
        "version": "4",
        "groupKey": key,
        "truncatedAlerts": 0,
        "status": "firing" if firing else "resolved",
        "receiver": "traintriage",
        "groupLabels": {"alertname": "GpuXid"},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example:9093",
        "notification_reason": "a key of a later version",
        "alerts": list(alerts),
        **changes,
    }


def of_grafana(key: str, *alerts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    extra = {
        "silenceURL": "https://grafana.example/alerting/silence/new",
        "dashboardURL": "https://grafana.example/d/abc",
        "panelURL": "https://grafana.example/d/abc?viewPanel=1",
        "imageURL": "",
        "valueString": "[ var='B' labels={} value=79 ]",
    }
    told = {"orgId": 1, "version": "1", "title": "[FIRING:1]", "state": "alerting", "message": "**Firing**"}
    return group(key, *({**one, **extra} for one in alerts), **told, **changes)


def incident(number: int, kind: str = "incident.triggered", **changes: Any) -> dict[str, Any]:
    """A V3 webhook of PagerDuty."""
    data = {
        "id": f"Q{number:06d}",
        "type": "incident",
        "self": f"https://api.pagerduty.com/incidents/Q{number:06d}",
        "html_url": f"https://example.pagerduty.com/incidents/Q{number:06d}",
        "number": number,
        "status": "triggered",
        "incident_key": "d3640fbd41094207a1c11e58e46b1662",
        "created_at": "2026-11-30T10:03:00Z",
        "title": "Training loss is NaN",
        "service": {"id": "PF9KMXH", "type": "service_reference", "summary": "pretraining"},
        "assignees": [],
        "teams": [],
        "priority": {"id": "PSO75BM", "type": "priority_reference", "summary": "P1"},
        "urgency": "high",
        "resolve_reason": None,
        **changes,
    }
    event = {
        "id": f"01CH754SM17TWPE2V2H{number:07d}{kind[-4:]}",
        "event_type": kind,
        "resource_type": "incident",
        "occurred_at": "2026-11-30T10:03:05.169Z",
        "agent": {"id": "PLH1HKV", "type": "user_reference"},
        "client": None,
        "data": data,
    }
    return {"event": event}


def signed(body: bytes, *secrets: str) -> str:
    """The value of ``X-PagerDuty-Signature``."""
    return ",".join("v1=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest() for secret in secrets)


def pagerduty(number: int, kind: str = "incident.triggered", webhook_id: str = "", **changes: Any) -> dict[str, Any]:
    """A signed request, as arguments of ``client.post``."""
    body = json.dumps(incident(number, kind, **changes)).encode()
    headers = {**JSON, "X-PagerDuty-Signature": signed(body, SECRET)}
    return {"content": body, "headers": headers | ({"X-Webhook-Id": webhook_id} if webhook_id else {})}


def hexed(body: bytes, secret: str = SECRET) -> str:
    """The value of ``X-Grafana-Alerting-Signature``."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
