"""Series around an alert: fetched after it, from the one server of the settings, and never at its expense."""

import json
from typing import Any

import pytest

from api.access import LOCAL
from api.alerts import prometheus
from tests.api.alerts.conftest import Service
from tests.api.alerts.elsewhere import Elsewhere
from tests.api.alerts.sent import alert, group

STARTED = 1_796_032_940.381


def matrix(*values: str, **labels: str) -> bytes:
    pairs = [[STARTED - 300 + 30 * n, value] for n, value in enumerate(values)]
    result = [{"metric": {"__name__": "train_loss", **labels}, "values": pairs}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def send(service: Service, name: str, **labels: str) -> dict[str, Any]:
    told = {"alertname": name, "instance": "node7:9400", **labels}
    service.post("alertmanager", group(name, alert(name, labels=told, annotations={"summary": "the run is slow"})))
    return service.case(name)


def kinds(service: Service, case: dict[str, Any]) -> list[str]:
    return [moment["kind"] for moment in service.moments(case)]


def test_series_around_the_start_join_the_case(service: Service, there: Elsewhere) -> None:
    there.body = matrix("2.1", "2.0", "1.9", "NaN", "NaN", "NaN", rank="0")
    case = send(service, "Fetched", job='7b"} or x')
    asked = next(request for request in there.requests if request.path == "/api/v1/query_range")
    assert asked.query == {
        "query": [r'train_loss{job="7b\"} or x"}'],
        "start": [f"{STARTED - 600:.3f}"],
        "end": [f"{STARTED + 600:.3f}"],
        "step": ["30"],
    }
    assert kinds(service, case) == ["opened", "evidence"]
    assert "loss.nan" in {finding["id"] for finding in case["diagnosis"]["findings"]}
    read = {entry["file"]: entry["format"] for entry in case["diagnosis"]["coverage"]["read"]}
    assert read["prometheus.json"] == "prometheus_query"
    assert service.moments(case)[1]["by"] == {"id": "alert:prometheus", "name": "Prometheus"}


def test_nothing_is_asked_for_an_alert_without_the_label(service: Service, there: Elsewhere) -> None:
    case = send(service, "NoLabel")
    assert kinds(service, case) == ["opened"]
    assert [request.path for request in there.requests] == ["/hook"]


def test_nothing_found_is_no_event(service: Service, there: Elsewhere) -> None:
    there.body = b'{"status": "success", "data": {"resultType": "matrix", "result": []}}'
    assert kinds(service, send(service, "NothingFound", job="7b")) == ["opened"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not that of Prometheus"),
        (b"<html>502 Bad Gateway</html>", "not that of Prometheus"),
        (b"[]", "not that of Prometheus"),
        (b'{"data": null}', "not that of Prometheus"),
        (b'{"data": {"resultType": "matrix"}}', "not that of Prometheus"),
        (b'{"data": {"resultType": "matrix", "result": "\\ud800"}}', "not that of Prometheus"),
        (b'{"data": {"resultType": "scalar", "result": [0, "1"]}}', "not that of a range query"),
        (b"[" * 100_000, "not that of Prometheus"),
    ],
)
def test_an_answer_that_is_none_is_told_in_the_case(
    service: Service, there: Elsewhere, body: bytes, reason: str
) -> None:
    name = f"Odd{abs(hash(body))}"
    there.body = body
    case = send(service, name, job="7b")
    assert kinds(service, case) == ["opened", "message"]
    event = service.call(service.app.state.cases.get, LOCAL, case["id"]).events[1]
    assert event.body.text.startswith("The series around alert message 1 could not be fetched from Prometheus")
    assert reason in event.body.text
    assert len([request for request in there.requests if request.path != "/hook"]) == prometheus.TRIES


def test_a_server_that_recovers_is_asked_again(service: Service, there: Elsewhere) -> None:
    there.body = matrix("2.1", "2.0", "1.9")
    there.statuses = [503, 500] if not there.requests else []
    case = send(service, "Recovers", job="7b")
    assert kinds(service, case) == ["opened", "evidence"]


def test_entries_that_are_none_are_left_out() -> None:
    items: list[Any] = [
        None,
        7,
        {"metric": {}},
        {"metric": [], "values": []},
        {"metric": {"a": "b"}, "values": [[1, "2"]]},
    ]
    body = json.dumps({"data": {"resultType": "matrix", "result": items}}).encode()
    assert prometheus._matrix(body) == [{"metric": {"a": "b"}, "values": [[1, "2"]]}]


def test_the_first_messages_of_a_group_are_looked_into_and_no_more(
    service: Service, there: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "MOST_FETCHES", 2)
    there.body = matrix("2.1", "2.0")
    for number in range(4):
        name = f"Again{number}"
        told = {"alertname": name, "job": f"job{number}"}
        service.post("alertmanager", group("fetches", alert(name, labels=told)))
        service.settle()
    assert len([request for request in there.requests if request.path != "/hook"]) == 2
