"""What a case tells of itself: timeline, post-mortem, live events, explanations, the dialogue."""

import json
import threading
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.cases.conftest import OVERFLOW, REPORT, chance


def test_the_timeline_says_who_did_what_and_what_led_after_it(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    service.post(f"{url}/answers", json={"findings": {"activation.beyond-fp16": "present"}})
    service.post(f"{url}/retractions", json={"seq": 2})
    service.post(f"{url}/resolution", json={"cause": OVERFLOW})
    moments = service.get(f"{url}/timeline").json()["moments"]
    assert [moment["kind"] for moment in moments] == ["opened", "answer", "retraction", "resolution"]
    assert [moment["retracted"] for moment in moments] == [False, True, False, False]
    assert all(moment["by"] == {"id": "local", "name": "local"} for moment in moments)
    assert moments[0]["digest"] == moments[2]["digest"] != moments[1]["digest"]
    assert moments[3]["what"].startswith("resolved: ")
    chinese = service.get(f"{url}/timeline?lang=zh").json()["moments"]
    assert chinese[3]["what"].startswith("结案：")


def test_an_explanation_is_that_of_the_case_as_it_stands(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    before = service.get(f"{url}/explanation", params={"cause": OVERFLOW}).json()
    service.post(f"{url}/answers", json={"findings": {"activation.beyond-fp16": "present"}})
    after = service.get(f"{url}/explanation", params={"cause": OVERFLOW}).json()
    assert after["probability"] > before["probability"]
    assert service.get(f"{url}/explanation", params={"cause": "no/such"}).status_code == 404


def test_the_post_mortem_holds_the_story_and_no_markup_of_strangers(service: TestClient) -> None:
    hostile = "fp16 loss is NaN # <script>alert(1)</script> | `rm` [x](http://evil) step 4120"
    opened = service.post("/v1/cases", json={**REPORT, "report": hostile, "log": ["loss nan `x` | grad norm inf"]})
    url = f"/v1/cases/{opened.json()['id']}"
    service.post(f"{url}/resolution", json={"cause": OVERFLOW, "remedy": "bf16 | <b>", "confirmed_by": "a\n# b"})
    response = service.get(f"{url}/post-mortem")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    text = response.text
    assert "## Timeline" in text
    assert "resolved: " in text
    outside_code = "".join(part for n, part in enumerate(text.split("`")) if n % 2 == 0)
    assert "<script>" not in outside_code
    assert "\n# b" not in text
    assert r"bf16 \| \<b\>" in text
    rows = [line for line in text.splitlines() if line.startswith("| 20")]
    assert len(rows) == 2
    chinese = service.get(f"{url}/post-mortem?lang=zh").text
    assert "## 时间线" in chinese


def test_a_post_mortem_argues_for_what_was_confirmed(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    open_ = service.get(f"{url}/post-mortem").text
    assert "Not confirmed yet." in open_
    assert f"- [ ] {case['diagnosis']['next_checks'][0]['title']}" in open_
    service.post(f"{url}/resolution", json={"cause": "data/corrupt-shard"})
    text = service.get(f"{url}/post-mortem").text
    assert "Most likely" not in text
    assert "Confirmed: A data shard is damaged" in text
    cause = service.get("/v1/causes/data/corrupt-shard").json()
    assert cause["impact"] in text.split("## Cause")[0]
    assert "- [ ] Train and serve in bf16" not in text
    service.post(f"{url}/resolution", json={"cause": OVERFLOW, "remedy": "bf16"})
    assert "It led the ranking with" in service.get(f"{url}/post-mortem").text


def test_live_events_tell_the_past_then_what_comes(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"

    def later() -> None:
        service.post(f"{url}/answers", json={"asked": "loss.nan"})
        service.delete(url)

    threading.Timer(0.3, later).start()
    # The client hands over the whole answer at its end, which is the deletion of the case.
    text = service.get(f"{url}/events").text
    told = [block for block in text.split("\n\n") if block.startswith("id: ")]
    assert [json.loads(block.split("data: ")[1])["kind"] for block in told] == ["opened", "answer"][: len(told)]
    assert text.endswith("event: deleted\ndata: {}\n\n")
    assert not service.app.state.streams


def test_live_events_go_on_where_a_client_left_off(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    service.post(f"{url}/answers", json={"asked": "loss.nan"})
    threading.Timer(0.3, lambda: service.delete(url)).start()
    text = service.get(f"{url}/events", headers={"Last-Event-ID": "1"}).text
    assert "id: 1\n" not in text
    assert "id: 2\nevent: answer\n" in text


def test_a_message_answers_the_question_that_was_asked(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    asked = service.get(f"{url}/question").json()["question"]
    said = service.post(f"{url}/messages", json={"text": "don't know"}).json()
    assert said["reply"]["question"] is None or said["reply"]["question"]["id"] != asked["id"]
    assert asked["id"] in service.get(url).json()["passed"]


def test_free_text_and_pasted_lines_are_evidence(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    said = service.post(f"{url}/messages", json={"text": "The same batch is finite in bf16, only fp16 breaks"}).json()
    assert said["reply"]["understood"]
    after = service.get(url).json()
    assert chance(after, OVERFLOW) > chance(case, OVERFLOW)
    undone = service.post(f"{url}/messages", json={"text": "undo"}).json()
    assert undone["revision"] == 3
    assert service.get(url).json()["diagnosis"] == case["diagnosis"]


def test_a_chinese_message_gets_a_chinese_reply(service: TestClient, case: dict[str, Any]) -> None:
    said = service.post(f"/v1/cases/{case['id']}/messages", json={"text": "梯度是 inf，bf16 正常"})
    assert said.json()["reply"]["lang"] == "zh"
    assert said.headers["content-language"] == "zh"


def test_a_message_may_ask_why_and_resolve(service: TestClient, case: dict[str, Any]) -> None:
    url = f"/v1/cases/{case['id']}"
    why = service.post(f"{url}/messages", json={"text": "why?"}).json()
    assert why["reply"]["paragraphs"]
    lead = case["diagnosis"]["causes"][0]
    service.post(f"{url}/messages", json={"text": f"it was {lead['id']}"})
    resolved = service.get(url).json()
    assert (resolved["status"], resolved["cause"]) == ("resolved", lead["id"])
    assert service.post(f"{url}/messages", json={"text": "the loss is also spiking"}).status_code == 409
    assert service.post(f"{url}/messages", json={"text": "why?"}).status_code == 200
    assert service.get(f"{url}/replay").json()["same"]


def test_a_message_answers_what_is_asked_now_not_what_was_answered_meanwhile(
    service: TestClient,
) -> None:
    url = service.post("/v1/cases", json={"report": "the loss is NaN"}).headers["location"]
    first = service.post(f"{url}/messages", json={"text": "help"}).json()["reply"]["question"]
    service.post(f"{url}/answers", json={"asked": first["id"], "findings": {first["asks"][0]: "absent"}})
    second = service.get(f"{url}/question").json()["question"]
    assert second["id"] != first["id"]
    service.post(f"{url}/messages", json={"text": "don't know"})
    after = service.get(url).json()
    assert second["id"] in after["passed"]
    assert after["answered"][first["asks"][0]] is False


@pytest.mark.parametrize("text", ["yes, it was {}", "是的，原因是{}"])
def test_an_answer_that_names_the_cause_is_kept_and_resolves_the_case(
    service: TestClient, case: dict[str, Any], text: str
) -> None:
    url = f"/v1/cases/{case['id']}"
    asked = service.get(f"{url}/question").json()["question"]
    said = service.post(f"{url}/messages", json={"text": text.format(OVERFLOW)}).json()
    resolved = service.get(url).json()
    assert resolved["answered"] == dict.fromkeys(asked["asks"], True)
    assert (resolved["status"], resolved["outcome"]["cause"]) == ("resolved", OVERFLOW)
    assert said["revision"] == 2
