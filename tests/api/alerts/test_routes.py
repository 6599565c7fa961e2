"""The routes: what is refused, and that refusing never is our own error."""

import json
from typing import Any

import pytest

from api.store import StoreError
from tests.api.alerts.conftest import Service, a_service
from tests.api.alerts.elsewhere import Elsewhere
from tests.api.alerts.sent import JSON, NEXT_SECRET, SECRET, alert, group, hexed, incident, pagerduty, signed
from tests.api.fake_engine import SOURCE

GOOD = json.dumps(group("k", alert("Refused"))).encode()
DEEP = b'{"groupKey": "k", "alerts": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"


def with_alerts(*alerts: Any, **keys: Any) -> bytes:
    return json.dumps({"groupKey": "k", "alerts": list(alerts), **keys}).encode()


BODIES: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 400),
    "a space": (b" ", 400),
    "text": (b"firing", 400),
    "half of it": (GOOD[:200], 400),
    "two documents": (GOOD + GOOD, 400),
    "bytes": (b"\xff\xfe\x00", 400),
    "latin-1": ('{"groupKey": "é"}'.encode("latin-1"), 400),
    "half a surrogate": (b'{"groupKey": "\\ud800", "alerts": []}', 400),
    "a key twice": (b'{"groupKey": "a", "groupKey": "b", "alerts": []}', 400),
    "many digits": (b'{"groupKey": "a", "alerts": [' + b"9" * 5_000 + b"]}", 400),
    "depth": (DEEP, 422),
    "null": (b"null", 422),
    "a list": (b"[]", 422),
    "a number": (b"7", 422),
    "a string": (b'"x"', 422),
    "no keys": (b"{}", 422),
    "no alerts": (b'{"groupKey": "k"}', 422),
    "no group": (b'{"alerts": []}', 422),
    "an empty group": (b'{"groupKey": "", "alerts": []}', 422),
    "a long group": (json.dumps({"groupKey": "k" * 30_000, "alerts": []}).encode(), 422),
    "a list as group": (b'{"groupKey": [], "alerts": []}', 422),
    "alerts that are none": (b'{"groupKey": "k", "alerts": {}}', 422),
    "alerts that are null": (b'{"groupKey": "k", "alerts": null}', 422),
    "an alert that is null": (with_alerts(None), 422),
    "an alert that is text": (with_alerts("x"), 422),
    "an alert without labels": (with_alerts({}), 422),
    "labels that are a list": (with_alerts({"labels": []}), 422),
    "labels that are text": (with_alerts({"labels": "x"}), 422),
    "annotations that are text": (with_alerts({"labels": {}, "annotations": "x"}), 422),
    "a status that is a list": (with_alerts({"labels": {}, "status": []}), 422),
    "a time that is text": (with_alerts(alert(startsAt="soon")), 422),
    "a time that is a list": (with_alerts(alert(startsAt=[1])), 422),
    "a time that is huge": (with_alerts(alert(startsAt=1e300)), 422),
    "a time that is no number": (b'{"groupKey": "k", "alerts": [{"labels": {}, "startsAt": NaN}]}', 422),
    "a truncation that is text": (with_alerts(truncatedAlerts="many"), 422),
    "a negative truncation": (with_alerts(truncatedAlerts=-1), 422),
    "a fingerprint that is an object": (with_alerts({"labels": {}, "fingerprint": {}}), 422),
}
HEADERS: dict[str, tuple[dict[str, str], int]] = {
    "form": ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    "yaml": ({"Content-Type": "application/yaml"}, 415),
    "multipart": ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    "nonsense": ({"Content-Type": "\xff;;=/"}, 415),
    "no type": ({"Content-Type": ""}, 415),
    "latin-1": ({"Content-Type": "application/json; charset=latin-1"}, 415),
    "compressed": ({**JSON, "Content-Encoding": "gzip"}, 415),
    "other host": ({**JSON, "Host": "elsewhere.example"}, 400),
}


@pytest.mark.parametrize("source", ["alertmanager", "grafana"])
@pytest.mark.parametrize("name", BODIES)
def test_malformed_bodies(service: Service, source: str, name: str) -> None:
    body, status = BODIES[name]
    answer = service.client.post(f"/v1/webhooks/{source}", content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("source", ["alertmanager", "grafana", "pagerduty"])
@pytest.mark.parametrize("name", HEADERS)
def test_malformed_headers(service: Service, source: str, name: str) -> None:
    headers, status = HEADERS[name]
    proof = {"X-PagerDuty-Signature": signed(GOOD, SECRET)}
    sent = [(key.encode("latin-1"), value.encode("latin-1")) for key, value in {**proof, **headers}.items()]
    answer = service.client.post(f"/v1/webhooks/{source}", content=GOOD, headers=sent)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    "header", ["", "v1=", "v1=zz", "v1=" + "0" * 64, "v1=\xff", ",,,", hexed(GOOD), signed(GOOD, "another secret")]
)
def test_pagerduty_without_a_fitting_signature(service: Service, header: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"x-pagerduty-signature", header.encode("latin-1"))]
    answer = service.client.post("/v1/webhooks/pagerduty", content=GOOD, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (401, "/problems/bad-signature")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422), ({"event": None}, 422), ({"event": []}, 422), ({"event": {"id": "x"}}, 422),
        ({"event": {"id": "x", "event_type": "incident.triggered", "data": []}}, 422),
        ({"event": {"id": "x", "event_type": "incident.triggered", "data": {}}}, 422),
        ({"event": {"id": "x", "event_type": "incident.triggered", "data": {"id": "i" * 500}}}, 422),
        ({"event": {"id": "x", "event_type": "incident.triggered", "data": {"id": "i", "created_at": "x"}}}, 422),
        ({"event": {"id": "x", "event_type": "something.new", "data": {}}}, 202),
    ],
)  # fmt: skip
def test_signed_bodies_of_pagerduty(service: Service, body: dict[str, Any], status: int) -> None:
    content = json.dumps(body).encode()
    headers = {**JSON, "X-PagerDuty-Signature": signed(content, NEXT_SECRET)}
    answer = service.client.post("/v1/webhooks/pagerduty", content=content, headers=headers)
    assert answer.status_code == status, answer.text


def test_the_id_of_a_delivery_may_be_anything(service: Service) -> None:
    for header in (b"", b"\xff\xfe", b"x" * 5_000, b"a b/c"):
        sent = pagerduty(11, "incident.resolved")
        headers = [(key.encode(), value.encode()) for key, value in sent["headers"].items()]
        answer = service.client.post(
            "/v1/webhooks/pagerduty", content=sent["content"], headers=[*headers, (b"x-webhook-id", header)]
        )
        assert answer.status_code == 202
    service.settle()


def test_trouble_of_our_own_is_an_error_that_senders_repeat(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Any) -> None:
        raise StoreError("the disk is full", "store-full")

    with monkeypatch.context() as patch:
        patch.setattr(service.app.state.store, "run", broken)
        assert service.post("alertmanager", group("full disk", alert("FullDisk"))).status_code == 507
        assert service.client.post("/v1/webhooks/pagerduty", **pagerduty(12)).status_code == 507
    assert service.post("alertmanager", group("full disk", alert("FullDisk"))).json()["repeated"] is False
    assert len(service.cases("FullDisk")) == 1


def test_grafana_must_sign_where_a_secret_is_set(tmp_path: Any, there: Elsewhere) -> None:
    changes = {"grafana_secrets": SECRET, "prometheus_url": "", "pagerduty_secrets": ()}
    content = json.dumps(group("signed", alert("Signed"))).encode()
    with a_service(tmp_path, there, SOURCE, **changes) as service:
        url = "/v1/webhooks/grafana"
        assert service.client.post(url, content=content, headers=JSON).status_code == 401
        assert service.client.post(url, content=b"{}", headers=JSON).status_code == 401
        headers = {**JSON, "X-Grafana-Alerting-Signature": hexed(content)}
        assert service.client.post(url, content=content, headers=headers).status_code == 202
        assert service.client.post(url, content=content + b" ", headers=headers).status_code == 401
        stale = {**headers, "X-Grafana-Alerting-Timestamp": "1"}
        assert service.client.post(url, content=content, headers=stale).status_code == 401
        # And without a secret of PagerDuty, its webhook is not there.
        unsigned = service.client.post("/v1/webhooks/pagerduty", **pagerduty(1))
        assert (unsigned.status_code, unsigned.json()["type"]) == (404, "/problems/not-found")
        assert "TRAINTRIAGE_PAGERDUTY_SECRETS" in unsigned.json()["detail"]
        assert incident(1)["event"]["id"] not in unsigned.text
