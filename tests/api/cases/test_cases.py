"""Cases over REST, with the real engine."""

import asyncio
import hashlib
import json
import math
from typing import Any

import httpx2
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from api.access import LOCAL
from api.cases.service import Cases
from api.store.audit_log import LOG
from api.store.cases import EVENTS, FILES, PIECE
from tests.api.cases.conftest import OVERFLOW, REPORT, chance


def changed(service: TestClient, case: dict[str, Any], path: str, body: dict[str, Any], status: int = 200) -> Any:
    response = service.post(f"/v1/cases/{case['id']}/{path}", json=body)
    assert response.status_code == status, response.text
    return response.json()


def test_a_case_ranks_as_the_same_diagnosis_does(service: TestClient, case: dict[str, Any]) -> None:
    diagnosis = service.post("/v1/diagnoses", json=REPORT).json()
    assert case["diagnosis"]["causes"] == diagnosis["causes"]
    assert (case["status"], case["revision"], case["title"]) == ("open", 1, REPORT["report"])
    assert service.get(f"/v1/cases/{case['id']}").json() == case


def test_the_location_leads_to_the_case(service: TestClient) -> None:
    response = service.post("/v1/cases?title=A%20name", json=REPORT)
    assert service.get(response.headers["location"]).json()["title"] == "A name"
    assert response.headers["etag"] == '"1"'


def test_an_answer_moves_the_ranking_and_its_retraction_moves_it_back(
    service: TestClient, case: dict[str, Any]
) -> None:
    answered = changed(service, case, "answers", {"findings": {"activation.beyond-fp16": "present"}})
    assert chance(answered, OVERFLOW) > chance(case, OVERFLOW)
    back = changed(service, case, "retractions", {"seq": 2})
    assert back["diagnosis"] == case["diagnosis"]
    again = changed(service, case, "retractions", {"seq": 3})
    assert again["diagnosis"] == answered["diagnosis"]


def test_what_nobody_can_tell_is_not_asked_again(service: TestClient, case: dict[str, Any]) -> None:
    first = case["diagnosis"]["next_checks"][0]["id"]
    passed = changed(service, case, "answers", {"asked": first})
    assert first in passed["passed"]
    assert first not in [check["id"] for check in passed["diagnosis"]["next_checks"]]


def test_facts_may_be_answered_with_values(service: TestClient, case: dict[str, Any]) -> None:
    answered = changed(service, case, "answers", {"facts": {"activation.abs_max": 81920}})
    assert answered["answered"] == {"activation.abs_max": 81920}
    assert "activation.beyond-fp16" in [finding["id"] for finding in answered["diagnosis"]["findings"]]


def test_more_evidence_is_read_together_with_the_first(service: TestClient, case: dict[str, Any]) -> None:
    more = {"log": ["step 4119 | loss 2.31", "step 4120 | loss nan"], "report": "bf16 is fine"}
    together = changed(service, case, "evidence", more)
    at_once = {**REPORT, "report": f"{REPORT['report']}\n\nbf16 is fine", "log": more["log"]}
    assert together["diagnosis"]["causes"] == service.post("/v1/diagnoses", json=at_once).json()["causes"]


def test_files_are_kept_and_read_again(service: TestClient) -> None:
    log = b"".join(b"step %d | loss %.3f\n" % (n, 3 - n / 1e5) for n in range(100_000)) + b"step 100000 | loss nan\n"
    assert len(log) > 2 * PIECE
    opened = service.post("/v1/cases", files=[("files", ("train.log", log))]).json()
    assert "loss.nan" in [fact["id"] for fact in opened["diagnosis"]["facts"]]
    answered = changed(service, opened, "answers", {"findings": {"activation.beyond-fp16": "present"}})
    assert "loss.nan" in [fact["id"] for fact in answered["diagnosis"]["facts"]]
    cases: Cases = service.app.state.cases
    cases._ranker._kept.clear()  # as after a restart
    replay = service.get(f"/v1/cases/{opened['id']}/replay").json()
    assert replay["same"]
    assert len(replay["rankings"]) == 2

    def kept(connection: Any) -> bytes:
        from api.store.cases import pieces

        return b"".join(pieces(connection, opened["id"], hashlib.sha256(log).hexdigest()))

    assert service.portal.call(service.app.state.store.read, kept) == log


def test_numbers_that_are_not_finite_survive_being_kept(service: TestClient) -> None:
    text = '{"series": [{"name": "loss", "values": [2.0, 1.9, 1.8, NaN, Infinity]}]}'
    opened = service.post("/v1/cases", content=text, headers={"content-type": "application/json"}).json()
    replay = service.get(f"/v1/cases/{opened['id']}/replay").json()
    assert replay["same"]
    view = service.portal.call(service.app.state.cases.get, LOCAL, opened["id"])
    values = view.state.document["series"][0]["values"]
    assert math.isnan(values[3])
    assert math.isinf(values[4])


def test_replay_finds_a_ranking_that_is_not_what_was_answered(service: TestClient, case: dict[str, Any]) -> None:
    changed(service, case, "answers", {"findings": {"activation.beyond-fp16": "present"}})

    def tamper(connection: Any) -> None:
        event = connection.execute(select(EVENTS.c.event).where(EVENTS.c.case_id == case["id"], EVENTS.c.seq == 2))
        import zlib

        text = zlib.decompress(event.scalar_one()).replace(b'"present"', b'"absent"')
        where = (EVENTS.c.case_id == case["id"], EVENTS.c.seq == 2)
        connection.execute(EVENTS.update().where(*where).values(event=zlib.compress(text)))

    service.portal.call(service.app.state.store.run, tamper)
    replay = service.get(f"/v1/cases/{case['id']}/replay").json()
    assert [ranking["same"] for ranking in replay["rankings"]] == [True, False]
    assert replay["same"] is False
    assert replay["same_knowledge"] is True


def test_the_past_is_kept_byte_for_byte(service: TestClient, case: dict[str, Any]) -> None:
    before = service.get(f"/v1/cases/{case['id']}/rankings/1").content
    changed(service, case, "answers", {"findings": {"activation.beyond-fp16": "present"}})
    assert service.get(f"/v1/cases/{case['id']}/rankings/1").content == before
    assert json.loads(before) == case["diagnosis"]
    assert service.get(f"/v1/cases/{case['id']}/rankings/2").json() != case["diagnosis"]
    assert service.get(f"/v1/cases/{case['id']}/rankings/3").status_code == 404


def test_a_resolved_case_is_closed_until_it_is_opened_again(service: TestClient, case: dict[str, Any]) -> None:
    outcome = {"cause": OVERFLOW, "confirmed_by": "finite in bf16", "remedy": "bf16"}
    resolved = changed(service, case, "resolution", outcome)
    assert (resolved["status"], resolved["cause"]) == ("resolved", OVERFLOW)
    assert resolved["outcome"]["confirmed_by"] == "finite in bf16"
    for path, body in (("evidence", {"log": ["x"]}), ("answers", {"asked": "loss.nan"}), ("retractions", {"seq": 1})):
        assert changed(service, case, path, body, 409)["type"] == "/problems/case-resolved"
    assert service.delete(f"/v1/cases/{case['id']}/resolution").json()["status"] == "open"
    assert service.delete(f"/v1/cases/{case['id']}/resolution").status_code == 409
    changed(service, case, "evidence", {"log": ["step 1 | loss 2.0"]})


def test_a_cause_that_nobody_wrote_down_is_an_outcome_too(service: TestClient, case: dict[str, Any]) -> None:
    resolved = changed(service, case, "resolution", {"other": "a loose power cable"})
    assert resolved["cause"] is None
    assert changed(service, case, "resolution", {"cause": None}, 422)["errors"][0]["reason"]


def test_an_opinion_is_kept_and_moves_nothing(service: TestClient, case: dict[str, Any]) -> None:
    doubted = changed(service, case, "feedback", {"cause": OVERFLOW, "note": "we looked"})
    assert doubted["doubted"] == [OVERFLOW]
    assert doubted["diagnosis"] == case["diagnosis"]
    assert changed(service, case, "feedback", {"cause": OVERFLOW, "verdict": "right"})["doubted"] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "pointer"),
    [
        ("answers", {}, 422, ""),
        ("answers", {"findings": {"no.such": "present"}}, 422, "/findings/no.such"),
        ("answers", {"facts": {"no/such": 1}}, 422, "/facts/no~1such"),
        ("answers", {"facts": {"amp.loss_scale": "big"}}, 422, "/facts/amp.loss_scale"),
        ("answers", {"findings": {"loss.nan": "perhaps"}}, 422, "/findings/loss.nan"),
        ("answers", {"found": {}}, 422, "/found"),
        ("retractions", {"seq": 0}, 422, "/seq"),
        ("retractions", {"seq": 9}, 404, None),
        ("resolution", {"cause": "no/such"}, 422, "/cause"),
        ("feedback", {"cause": "no/such"}, 422, "/cause"),
        ("evidence", {}, 400, None),
        ("evidence", {"logs": []}, 422, "/logs"),
        ("messages", {"text": "  "}, 422, "/text"),
        ("messages", {}, 422, "/text"),
    ],
)
def test_bad_input_says_where_and_keeps_nothing(
    service: TestClient, case: dict[str, Any], path: str, body: dict[str, Any], status: int, pointer: str | None
) -> None:
    problem = changed(service, case, path, body, status)
    if pointer is not None:
        assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert service.get(f"/v1/cases/{case['id']}").json()["revision"] == 1


def test_what_is_not_there_is_404_everywhere(service: TestClient) -> None:
    for path in ("", "/timeline", "/replay", "/post-mortem", "/question", "/events", "/rankings/1"):
        response = service.get(f"/v1/cases/none{path}")
        assert (response.status_code, response.json()["type"]) == (404, "/problems/unknown-case"), path
    assert service.get("/v1/cases/none/explanation?cause=" + OVERFLOW).status_code == 404
    assert service.delete("/v1/cases/none").status_code == 404
    assert service.delete("/v1/cases/none/resolution").status_code == 404
    assert service.post("/v1/cases/none/messages", json={"text": "yes"}).status_code == 404


def test_other_tenants_do_not_see_it(service: TestClient, case: dict[str, Any]) -> None:
    from dataclasses import replace

    from api.problem import Problem
    from api.store.cases import Asked

    other = replace(LOCAL, tenant="other")
    cases: Cases = service.app.state.cases
    for call in (cases.get, cases.delete, cases.rankings, cases.revision):
        with pytest.raises(Problem) as error:
            service.portal.call(call, other, case["id"])
        assert error.value.kind.slug == "unknown-case"
    assert service.portal.call(cases.find, other, Asked()) == []


def test_lists_are_paged_without_loss_or_repeats(service: TestClient) -> None:
    made = {service.post(f"/v1/cases?title=paged%20{n}", json={"report": "loss is NaN"}).json()["id"] for n in range(5)}
    seen: list[str] = []
    url: str | None = "/v1/cases?q=PAGED&limit=2"
    while url:
        page = service.get(url).json()
        seen += [item["id"] for item in page["items"]]
        url = page["next"]
    assert len(seen) == 5
    assert set(seen) == made
    assert service.get("/v1/cases?q=paged%25").json()["items"] == []
    assert service.get("/v1/cases?cursor=%00").status_code == 422


def test_deleting_takes_everything_but_the_audit_log(service: TestClient) -> None:
    opened = service.post("/v1/cases", files=[("files", ("a.log", b"step 1 | loss nan\n"))]).json()
    assert service.delete(f"/v1/cases/{opened['id']}").status_code == 204
    assert service.get(f"/v1/cases/{opened['id']}").status_code == 404

    def left(connection: Any) -> tuple[int, int, list[str]]:
        files = connection.execute(select(FILES).where(FILES.c.case_id == opened["id"])).all()
        events = connection.execute(select(EVENTS).where(EVENTS.c.case_id == opened["id"])).all()
        rows = connection.execute(select(LOG.c.action).where(LOG.c.subject == opened["id"]).order_by(LOG.c.seq))
        return len(files), len(events), list(rows.scalars())

    assert service.portal.call(service.app.state.store.read, left) == (0, 0, ["case.opened", "case.deleted"])


def test_a_change_and_what_follows_from_it_are_kept_together_or_not_at_all(
    service: TestClient, case: dict[str, Any]
) -> None:
    cases: Cases = service.app.state.cases

    def fail(*_: Any) -> None:
        raise RuntimeError("the outbox fails")

    cases.outbox.append(fail)
    try:
        changed(service, case, "answers", {"asked": "loss.nan"}, 500)
    finally:
        cases.outbox.remove(fail)
    assert service.get(f"/v1/cases/{case['id']}").json() == case
    changed(service, case, "answers", {"asked": "loss.nan"})


def test_many_who_write_at_once_lose_nothing(service: TestClient, case: dict[str, Any]) -> None:
    async def at_once() -> list[int]:
        transport = httpx2.ASGITransport(app=service.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            body = {"log": ["step 1 | loss 2.0"]}
            posts = [client.post(f"/v1/cases/{case['id']}/evidence", json=body) for _ in range(12)]
            return [response.status_code for response in await asyncio.gather(*posts)]

    assert service.portal.call(at_once) == [200] * 12
    timeline = service.get(f"/v1/cases/{case['id']}/timeline").json()
    assert [moment["seq"] for moment in timeline["moments"]] == list(range(1, 14))
    assert service.get(f"/v1/cases/{case['id']}/replay").json()["same"]


def test_a_repeated_request_with_its_key_changes_the_case_once(service: TestClient, case: dict[str, Any]) -> None:
    headers = {"Idempotency-Key": f'"{case["id"]}"'}
    url = f"/v1/cases/{case['id']}/answers"
    first = service.post(url, json={"asked": "loss.nan"}, headers=headers)
    second = service.post(url, json={"asked": "loss.nan"}, headers=headers)
    assert first.content == second.content
    assert second.headers["idempotent-replayed"] == "true"
    assert service.get(f"/v1/cases/{case['id']}").json()["revision"] == 2


def test_too_many_bytes_for_one_case(service: TestClient, case: dict[str, Any], monkeypatch: Any) -> None:
    small = service.app.state.settings.model_copy(update={"max_case_bytes": 10})
    monkeypatch.setattr(service.app.state.cases, "_settings", small)
    response = service.post(f"/v1/cases/{case['id']}/evidence", files=[("files", ("a.log", b"step 1 | loss nan\n"))])
    assert response.status_code == 413


def test_a_case_that_is_full_says_so(service: TestClient) -> None:
    opened = service.post("/v1/cases", json={"report": "x" * 199_990}).json()
    problem = changed(service, opened, "messages", {"text": "the gradient norm is inf, see the dashboard"}, 413)
    assert "open another case" in problem["detail"]
    changed(service, opened, "answers", {"asked": "loss.nan"})


def test_signs_that_nobody_sees_are_no_outcome(service: TestClient, case: dict[str, Any]) -> None:
    changed(service, case, "resolution", {"other": "\u0000 \u200b"}, 422)


def test_a_list_shows_no_cause_that_unknown_outweighs(service: TestClient) -> None:
    opened = service.post("/v1/cases", json={"report": "GPU utilisation is low"}).json()
    diagnosis = opened["diagnosis"]
    assert diagnosis["causes"][0]["probability"] < diagnosis["unknown"]["probability"]
    assert opened["cause"] is None
