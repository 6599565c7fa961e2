"""From alerts to cases, with the real engine: opened, updated, told of the end, and never twice."""

import json
from typing import Any

import pytest

from api.access import LOCAL
from api.alerts.model import MAX_ALERTS
from api.alerts.payloads import AlertGroup
from api.alerts.receipt import take
from api.alerts.work import MOST_MESSAGES, caller_for, case_of
from api.store import StoreError
from tests.api.alerts.conftest import Service
from tests.api.alerts.elsewhere import Elsewhere
from tests.api.alerts.sent import alert, group, of_grafana, pagerduty, resolved

WORDS = {"summary": "it is slow"}


def kinds(service: Service, case: dict[str, Any]) -> list[str]:
    return [moment["kind"] for moment in service.moments(case)]


def labels(name: str, **more: str) -> dict[str, str]:
    return {"alertname": name, "instance": "node7:9400", **more}


def test_an_alert_opens_a_case_with_a_ranking(service: Service) -> None:
    answer = service.post("alertmanager", group("one", alert("GpuXidOne", annotations={"summary": "a GPU is lost"})))
    assert (answer.status_code, answer.json()) == (202, {"alerts": 1, "repeated": False})
    case = service.case("GpuXidOne")
    assert case["title"] == "GpuXidOne: node7:9400"
    assert case["status"] == "open"
    assert case["diagnosis"]["causes"][0]["id"] == "hardware/gpu-off-the-bus"
    facts = {fact["id"]: fact for fact in case["diagnosis"]["facts"]}
    assert facts["gpu.xid"]["value"] == 79
    assert facts["gpu.xid"]["sources"][0]["where"] == "alertmanager.json:1"
    assert case["source"]["kind"] == "alertmanager"
    assert case["source"]["url"].startswith("http://prometheus.example")
    assert case["opened_by"] == {"id": "alert:alertmanager", "name": "Alertmanager"}


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.long)])
def test_identical_alerts_make_one_case_and_one_message(service: Service, there: Elsewhere, count: int) -> None:
    name = f"Storm{count}"
    body = group(name, alert(name))
    for number in range(count):
        body["alerts"][0]["annotations"] = {"summary": "Xid 79", "value": str(number)}
        answer = service.post("alertmanager", body)
        assert answer.status_code == 202
        assert answer.json()["repeated"] is (number > 0)
    assert kinds(service, service.case(name)) == ["opened"]
    assert len([request for request in there.requests if request.path == "/hook"]) == 1


def test_what_is_new_in_a_group_joins_its_case_and_what_is_known_does_not(service: Service) -> None:
    first, second = alert("JoinA"), alert("JoinB", annotations={"summary": "the loss is NaN"})
    service.post("alertmanager", group("join", first))
    service.settle()
    service.post("alertmanager", group("join", first, second))
    case = service.case("JoinA")
    assert kinds(service, case) == ["opened", "evidence"]
    assert "loss.nan" in {finding["id"] for finding in case["diagnosis"]["findings"]}
    (names,) = (fact for fact in case["diagnosis"]["facts"] if fact["id"] == "alert.names")
    assert (names["value"], names["contradicted_by"]) == ("JoinA, JoinB", [])
    events = service.call(service.app.state.cases.get, LOCAL, case["id"]).events
    assert "JoinA" not in json.dumps(events[1].body.model_dump())
    assert service.cases("JoinB") == []


def test_resolved_leaves_a_message_and_resolves_nothing(service: Service) -> None:
    service.post("alertmanager", group("ends", alert("Ends")))
    service.settle()
    for _ in range(3):
        service.post("alertmanager", group("ends", resolved("Ends")))
    case = service.case("Ends")
    assert case["status"] == "open"
    assert kinds(service, case) == ["opened", "message"]
    event = service.call(service.app.state.cases.get, LOCAL, case["id"]).events[1]
    assert event.body.text == (
        "Alert resolved at 2026-11-30 10:42:00 UTC: Ends (node7:9400) (fired since 2026-11-30 10:02:20 UTC)."
    )
    assert "GPU" not in event.body.text


def test_the_end_of_what_nobody_knows_opens_nothing(service: Service) -> None:
    assert service.post("alertmanager", group("unknown", resolved("NeverSeen"))).status_code == 202
    assert service.cases("NeverSeen") == []


def test_a_group_that_fires_again_after_its_case_was_resolved_opens_another(service: Service) -> None:
    again = {"startsAt": "2026-12-01T08:00:00Z"}
    service.post("alertmanager", group("again", alert("Again")))
    first = service.case("Again")
    outcome = {"other": "a loose cable"}
    assert service.client.post(f"/v1/cases/{first['id']}/resolution", json=outcome).status_code == 200
    # Still the same time of firing, told again beside an alert that ended: nobody opens a case for it.
    service.post("alertmanager", group("again", alert("Again"), resolved("AgainToo")))
    assert len(service.cases("Again")) == 1
    service.post("alertmanager", group("again", alert("Again", **again)))
    found = service.cases("Again")
    assert sorted(case["status"] for case in found) == ["open", "resolved"]
    service.post("alertmanager", group("again", resolved("Again", **again)))
    second = next(case for case in service.cases("Again") if case["id"] != first["id"])
    assert kinds(service, second) == ["opened", "message"]


def test_groups_and_sources_have_cases_of_their_own(service: Service) -> None:
    service.post("alertmanager", group("same key", alert("OwnA")))
    service.post("alertmanager", group("other key", alert("OwnA")))
    service.post("grafana", of_grafana("same key", alert("OwnA")))
    assert len(service.cases("OwnA")) == 3


def test_grafana_values_and_labels_that_have_a_meaning_are_facts(service: Service) -> None:
    told = alert(
        "GrafanaNorm",
        labels=labels("GrafanaNorm", precision="fp16", team="llm", job="pretrain"),
        annotations={"summary": "the gradient norm is high"},
        values={"grad_norm": 812.5, "B": 3, "C": None},
    )
    service.post("grafana", of_grafana("values", told))
    case = service.case("GrafanaNorm")
    facts = {fact["id"]: fact["value"] for fact in case["diagnosis"]["facts"]}
    assert facts["grad_norm.last"] == 812.5
    assert facts["run.precision"] == "fp16"
    unclear = json.dumps(case["diagnosis"]["not_understood"])
    assert "team" not in unclear
    assert case["source"]["url"] == "https://grafana.example/d/abc?viewPanel=1"


def test_alerts_that_were_left_out_are_told(service: Service) -> None:
    service.post("alertmanager", group("cut", alert("CutOff"), truncatedAlerts=7))
    unclear = json.dumps(service.case("CutOff")["diagnosis"]["not_understood"])
    assert "7 further alerts were cut off by the sender" in unclear


def test_alerts_that_are_too_many_were_not_cut_off_by_their_sender(service: Service) -> None:
    many = [alert("TooMany", fingerprint=f"{n:016x}") for n in range(MAX_ALERTS + 3)]
    service.post("alertmanager", group("many", *many))
    unclear = json.dumps(service.case("TooMany")["diagnosis"]["not_understood"])
    assert "3 further alerts were cut off by the service" in unclear
    assert "by the sender" not in unclear


def test_an_incident_of_pagerduty_opens_a_case_and_its_end_is_told(service: Service) -> None:
    for number in (1, 1, 2):  # the second repeats the first, under the same id
        answer = service.client.post(
            "/v1/webhooks/pagerduty", **pagerduty(7, webhook_id=f"delivery-{number}", title="PD seven")
        )
        assert answer.status_code == 202
    case = service.case("PD seven")
    assert kinds(service, case) == ["opened"]
    assert case["source"]["url"] == "https://example.pagerduty.com/incidents/Q000007"
    for kind in ("incident.acknowledged", "incident.priority_updated", "pagey.ping", "incident.resolved"):
        service.client.post("/v1/webhooks/pagerduty", **pagerduty(7, kind, title="PD seven"))
        service.settle()
    assert kinds(service, case) == ["opened", "message"]
    service.client.post("/v1/webhooks/pagerduty", **pagerduty(7, "incident.reopened", title="PD seven"))
    assert kinds(service, service.case("PD seven")) == ["opened", "message", "evidence"]


def test_an_incident_that_was_made_of_a_case_opens_no_other(service: Service) -> None:
    service.post("alertmanager", group("ours", alert("Ours")))
    case = service.case("Ours")
    for kind in ("incident.triggered", "incident.resolved"):
        sent = pagerduty(8, kind, title="Ours: node7", incident_key=case["id"])
        assert service.client.post("/v1/webhooks/pagerduty", **sent).status_code == 202
        service.settle()
    assert kinds(service, service.case("Ours")) == ["opened", "message"]


def test_the_question_of_the_dialogue_stays_open_when_an_alert_ends(service: Service) -> None:
    service.post("alertmanager", group("dialogue", alert("Dialogue")))
    case = service.case("Dialogue")
    said = service.client.post(f"/v1/cases/{case['id']}/messages", json={"text": "the card does not answer"})
    assert said.status_code == 200, said.text
    before = service.call(service.app.state.cases.get, LOCAL, case["id"]).state.reply
    service.post("alertmanager", group("dialogue", resolved("Dialogue")))
    assert kinds(service, service.case("Dialogue"))[-1] == "message"
    after = service.call(service.app.state.cases.get, LOCAL, case["id"]).state.reply
    assert before
    assert after == before


def test_a_case_takes_so_many_messages_and_says_so_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.alerts.work.MOST_MESSAGES", 3)
    assert MOST_MESSAGES == 100
    for number in range(6):
        name = f"Full{number}"
        service.post("alertmanager", group("full", alert(name, annotations=WORDS, labels=labels(name))))
        service.settle()
    case = service.case("Full0")
    assert kinds(service, case) == ["opened", "evidence", "evidence", "message"]


def test_texts_of_alerts_cannot_do_harm(service: Service) -> None:
    nasty = "line\x1b[31m\u202e\x00 <script> {x} \U0001f600" + "y" * 50_000
    name = "Nasty {0} %s"
    service.post("alertmanager", group("n\x00a\ns\u202ety" * 90, alert(name, annotations={"summary": nasty})))
    service.settle()
    case = service.case("Nasty")
    assert "\x1b" not in json.dumps(case, ensure_ascii=False)
    service.post("alertmanager", group("n\x00a\ns\u202ety" * 90, resolved(name, annotations={"summary": nasty})))
    assert kinds(service, service.case("Nasty")) == ["opened", "message"]


def test_chinese(service: Service) -> None:
    service.post("alertmanager", group("zh", alert("Zhong")), params={"lang": "zh"})
    service.settle()
    service.post("alertmanager", group("zh", resolved("Zhong")))
    case = service.case("Zhong")
    event = service.call(service.app.state.cases.get, LOCAL, case["id"]).events[1]
    assert event.body.text.startswith("告警已解除（2026-11-30 10:42:00 UTC）：Zhong")


def test_alerts_of_two_tenants_do_not_meet(service: Service) -> None:
    note = AlertGroup.model_validate(group("shared", alert("Tenanted"))).notification("alertmanager")
    state = service.app.state
    for tenant in ("default", "other"):
        receipt = service.call(take, state.store, state.jobs, tenant, note, "en")
        assert not receipt.repeated
    case = service.case("Tenanted")
    other = service.call(state.cases.linked, caller_for("other", "alertmanager"), "alertmanager", "shared")
    assert other is not None
    assert other != case["id"]


def test_a_value_that_is_not_finite_is_the_news(service: Service) -> None:
    told = alert("NotFinite", annotations={"summary": "see the value"}, values={"loss": "NaN"})
    service.post("grafana", of_grafana("not finite", told))
    assert "loss.nan" in {finding["id"] for finding in service.case("NotFinite")["diagnosis"]["findings"]}


def test_a_store_that_fails_is_not_taken_for_a_case_that_is_gone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, caller = service.app.state.cases, caller_for("default", "prometheus")
    assert service.call(case_of, cases, caller, "0" * 32) is None

    async def broken(*_: Any) -> None:
        raise StoreError("the server cannot be reached")

    monkeypatch.setattr(cases, "get", broken)
    with pytest.raises(StoreError):
        service.call(case_of, cases, caller, "0" * 32)
