"""An incident from the first sentence to the confirmed cause, over the tools alone."""

import pytest
from fastapi import FastAPI

from api.access import LOCAL
from api.cases.events import Resolved
from tests.api.mcp.conftest import Chat

pytestmark = pytest.mark.anyio

OVERFLOW = "numerics/fp16-activation-overflow"
REPORT = "The loss became NaN at step 4120, some steps after the loss scale had fallen to 1."


def likelihood(case: dict, cause: str) -> float:
    return next((entry["probability"] for entry in case["causes"] if entry["id"] == cause), 0.0)


async def test_a_whole_story(chat: Chat, service: FastAPI) -> None:
    case = await chat.call("diagnose", report=REPORT, facts={"run.precision": "fp16"}, detail=True)
    assert case["status"] == "open"
    assert likelihood(case, OVERFLOW) > case["unknown"]
    assert case["next_checks"]

    answered = await chat.call(
        "answer_check",
        case_id=case["case_id"],
        asked="contrast(precision)",
        findings={"contrast(precision)": "present"},
    )
    assert answered["causes"][0]["id"] == OVERFLOW
    assert likelihood(answered, OVERFLOW) > likelihood(case, OVERFLOW)
    (moved,) = [move for move in answered["moved"] if move["cause"] == OVERFLOW]
    assert (moved["before"], moved["after"]) == (likelihood(case, OVERFLOW), likelihood(answered, OVERFLOW))

    asked = answered["next_checks"][0]["id"]
    passed = await chat.call("answer_check", case_id=case["case_id"], asked=asked, unknown=[asked])
    assert asked not in {check["id"] for check in passed["next_checks"]}
    assert "moved" not in passed

    why = await chat.call("explain", case_id=case["case_id"], cause="optimization/lr-too-high")
    assert why["outweighed_by"][0] == {"cause": OVERFLOW, "probability": likelihood(passed, OVERFLOW)}
    assert why["rank"] > 1
    assert why["missing"]

    ended = await chat.call(
        "report_outcome",
        case_id=case["case_id"],
        cause=OVERFLOW,
        confirmed_by="The same data and rate in bf16 ran 2,000 steps.",
        remedy="bf16",
    )
    assert ended == {
        "case_id": case["case_id"],
        "status": "resolved",
        "cause": OVERFLOW,
        "rank": 1,
        "probability": likelihood(passed, OVERFLOW),
    }

    kept = await service.state.cases.get(LOCAL, case["case_id"])
    assert [event.body.kind for event in kept.events] == ["opened", "answer", "answer", "resolution"]
    assert kept.state.source.kind == "mcp"
    last = kept.events[-1].body
    assert isinstance(last, Resolved)
    assert last.outcome.confirmed_by.startswith("The same data")


async def test_more_evidence_goes_to_the_same_case(chat: Chat) -> None:
    case = await chat.call("diagnose", report="Training ran out of memory.")
    more = await chat.call("diagnose", case_id=case["case_id"], observations=[{"name": "frobs", "value": 3}])
    assert more["case_id"] == case["case_id"]
    assert [item["where"] for item in more["not_understood"]] == ["observation frobs"]
    again = await chat.call("diagnose", case_id=case["case_id"], facts={"oom.smaller-batch-helps": True})
    assert again["moved"]
    assert "not_understood" not in again  # what was told already is not told again


async def test_a_cause_that_the_list_does_not_have(chat: Chat) -> None:
    case = await chat.call("diagnose", report="Loss is NaN.")
    ended = await chat.call(
        "report_outcome", case_id=case["case_id"], other="A broken riser card", confirmed_by="Swapped it"
    )
    assert ended == {"case_id": case["case_id"], "status": "resolved", "other": "A broken riser card"}
    assert "resolved" in await chat.refused("diagnose", case_id=case["case_id"], report="Still NaN.")


async def test_in_chinese(chat: Chat, service: FastAPI) -> None:
    case = await chat.call(
        "diagnose", report="训练到第 4120 步损失变为 NaN，此前损失缩放降到 1，精度 fp16。", lang="zh"
    )
    lead = case["causes"][0]
    assert lead["title"] == service.state.expert.knowledge.causes[lead["id"]].title.zh
    assert case["summary"].startswith("最可能")
