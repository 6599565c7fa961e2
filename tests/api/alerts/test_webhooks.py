"""Outgoing webhooks: signed, the same at every try, sent until they arrive, and never in the way."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from api.alerts.webhooks import DeliveryError, WebhookWork
from api.outbound import ForbiddenAddressError, Outbound
from api.settings import Webhook
from api.store import jobs
from api.store.jobs import Job
from tests.api.alerts.conftest import Service, a_service
from tests.api.alerts.elsewhere import Elsewhere
from tests.api.alerts.sent import NEXT_SECRET, alert, group
from tests.api.fake_engine import SOURCE

NOW = 1_796_032_940.5
KEY = base64.b64decode("c2VjcmV0" * 4)


def hooked(there: Elsewhere) -> list[Any]:
    return [request for request in there.requests if request.path == "/hook"]


def test_a_case_is_told_with_signatures_that_hold(service: Service, there: Elsewhere) -> None:
    service.post("alertmanager", group("told", alert("ToldOnce")))
    case = service.case("ToldOnce")
    (request,) = hooked(there)
    headers = request.headers
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + request.body
    digests = [hmac.new(key, signed, hashlib.sha256).digest() for key in (KEY, NEXT_SECRET.encode())]
    expected = " ".join("v1," + base64.b64encode(digest).decode() for digest in digests)
    assert headers["webhook-signature"] == expected
    assert headers["content-type"] == "application/json"
    told = request.data
    assert told["type"] == "case.opened"
    data = told["data"]
    assert data["event"]["by"] == {"id": "alert:alertmanager", "name": "Alertmanager"}
    assert (data["case"]["id"], data["case"]["status"]) == (case["id"], "open")
    assert data["ranking"]["causes"][0]["id"] == case["diagnosis"]["causes"][0]["id"]
    assert len(data["ranking"]["causes"]) <= 3
    assert data["ranking"]["kb_digest"] == case["diagnosis"]["kb_digest"]
    assert data["links"]["case"] == f"https://triage.example/v1/cases/{case['id']}"
    assert len(request.body) < 4_000


def test_only_what_is_asked_for_is_told(service: Service, there: Elsewhere) -> None:
    service.post("alertmanager", group("asked", alert("AskedFor")))
    service.settle()
    service.post("alertmanager", group("asked", alert("AskedFor"), alert("AskedToo")))
    case = service.case("AskedFor")
    outcome = {"cause": "hardware/gpu-off-the-bus", "confirmed_by": "nvidia-smi"}
    assert service.client.post(f"/v1/cases/{case['id']}/resolution", json=outcome).status_code == 200
    service.settle()
    told = {request.data["type"]: request.data["data"] for request in hooked(there)}
    assert set(told) == {"case.opened", "case.resolution"}
    assert told["case.resolution"]["case"]["outcome"]["cause"] == "hardware/gpu-off-the-bus"
    assert told["case.resolution"]["case"]["status"] == "resolved"


def test_it_is_sent_again_the_same_until_it_is_taken(service: Service, there: Elsewhere) -> None:
    there.statuses = [500, 429, 307]
    service.post("alertmanager", group("persist", alert("Persist")))
    service.settle()
    requests = hooked(there)
    assert len(requests) == 4
    assert len({request.body for request in requests}) == 1
    assert len({request.headers["webhook-id"] for request in requests}) == 1


def test_what_is_never_taken_is_kept_as_dead_and_counted(service: Service, there: Elsewhere) -> None:
    before = service.call(service.app.state.store.read, jobs.counts)["dead"]
    there.statuses = [500] * 20
    service.post("alertmanager", group("dead", alert("NeverTaken")))
    service.settle()
    assert len(hooked(there)) == 4
    assert service.call(service.app.state.store.read, jobs.counts)["dead"] == before + 1
    assert service.case("NeverTaken")["status"] == "open"


def a_job(hook_body: str, hook: str) -> Job:
    return Job(1, "webhook", "default", None, {"hook": hook, "body": hook_body}, 1, "lease")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["slow", "huge", "redirects", "closes", "babbles"])
async def test_hostile_receivers(there: Elsewhere, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("api.alerts.webhooks.SECONDS", 0.5)
    hook = Webhook.model_validate({"url": f"{there.url}/hostile/{name}", "secrets": NEXT_SECRET})
    outbound = Outbound([hook.url])
    work = WebhookWork(outbound, [hook], "", lambda: NOW)
    with pytest.raises(DeliveryError) as caught:
        await work(a_job("{}", next(iter(work._hooks))))
    await outbound.close()
    assert there.url not in str(caught.value)
    assert [request.path for request in there.requests] == [f"/hostile/{name}"]


@pytest.mark.anyio
async def test_only_addresses_of_the_settings_are_called(there: Elsewhere) -> None:
    hook = Webhook.model_validate({"url": f"{there.url}/hook", "secrets": NEXT_SECRET})
    outbound = Outbound(["http://127.0.0.1:1"])
    work = WebhookWork(outbound, [hook], "", lambda: NOW)
    with pytest.raises(ForbiddenAddressError):
        await work(a_job("{}", next(iter(work._hooks))))
    await work(a_job("{}", "a webhook that is not in the settings any more"))
    await outbound.close()
    assert there.requests == []


def test_a_tenant_is_not_told_of_cases_of_another(tmp_path: Path, there: Elsewhere) -> None:
    hook = {"url": f"{there.url}/hook", "secrets": NEXT_SECRET, "tenant": "other"}
    with a_service(tmp_path, there, SOURCE, webhooks=json.dumps([hook]), prometheus_url="") as service:
        service.post("alertmanager", group("mine", alert("Mine")))
        service.case("Mine")
    assert there.requests == []
