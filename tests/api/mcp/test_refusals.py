"""What a model is told that called a tool wrongly: what is wrong, and what to do."""

from typing import Any

import pytest
from fastapi import FastAPI
from mcp import Client

from api.access import Caller, Scope
from tests.api.mcp.conftest import Chat, a_server, text_of

pytestmark = pytest.mark.anyio

CASE = "0" * 32
LEAD = "numerics/fp16-activation-overflow"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("list_facts", {}, "query: a required value is missing"),
        ("list_facts", {"query": ""}, "at least 1 character"),
        ("list_facts", {"query": "loss", "limit": 1000}, "at most 50"),
        ("diagnose", {}, "Send at least one of report"),
        ("diagnose", {"logs": "x"}, "There is no argument 'logs'. Did you mean log?"),
        ("diagnose", {"report": "x", "paradigm": "sing"}, "paradigm: "),
        ("diagnose", {"observations": [{"nme": "lr", "value": 1}]}, "Write 'name' if that was meant"),
        ("diagnose", {"series": [{"name": "loss", "values": "falling"}]}, "series/0/values"),
        ("diagnose", {"report": "x", "facts": {"amp.loss_scale": "one"}}, "takes a number, not a text"),
        ("diagnose", {"report": "x", "case_id": CASE}, "without case_id diagnose opens a new case"),
        ("answer_check", {"case_id": CASE}, "put the id into unknown"),
        ("answer_check", {"case_id": CASE, "asked": "amp.steps-skiped", "unknown": ["x"]}, "no check or question"),
        ("answer_check", {"case_id": CASE, "unknown": ["amp.steps-skiped"]}, "Did you mean amp.steps-skipped"),
        ("answer_check", {"case_id": CASE, "unknown": ["first-nonfinite-modul"]}, "first-nonfinite-module"),
        ("answer_check", {"case_id": CASE, "findings": {"amp.overflow": "present"}}, "Did you mean amp.overflow-line"),
        ("answer_check", {"case_id": CASE, "findings": {"loss.nan": "yes"}}, "'present', 'absent' or 'unknown'"),
        ("answer_check", {"case_id": CASE, "facts": {"amp.lossscale": 1}}, "Did you mean amp.loss_scale"),
        ("answer_check", {"case_id": CASE, "facts": {"amp.loss_scale": "one"}}, "takes a number, not a text"),
        ("answer_check", {"case_id": CASE, "facts": {"run.precision": "fp99"}}, "is one of: fp32"),
        ("answer_check", {"case_id": CASE, "findings": {"loss.nan": "present"}}, "No case of yours has this id"),
        ("explain", {"case_id": CASE}, "cause: a required value is missing"),
        ("explain", {"case_id": CASE, "cause": LEAD + "s"}, f"Did you mean {LEAD}"),
        ("explain", {"case_id": CASE, "cause": "overflow of activations"}, LEAD),
        ("explain", {"case_id": CASE, "cause": "zzz"}, "Look it up with list_facts"),
        ("explain", {"case_id": CASE, "cause": LEAD}, "Take case_id from the result of diagnose"),
        ("audit_report", {}, "either audit_id of an audit that was made, or path"),
        ("audit_report", {"audit_id": CASE, "path": "x"}, "either audit_id"),
        ("audit_report", {"audit_id": CASE}, "Audit it again by its path"),
        ("audit_report", {"path": "/etc"}, "out of the folders that may be audited"),
        ("audit_report", {"path": "missing"}, "Argument path: it is not there"),
        ("report_outcome", {"case_id": CASE, "cause": LEAD}, "confirmed_by: a required value is missing"),
        ("report_outcome", {"case_id": CASE, "confirmed_by": "x"}, "say in other what it was"),
        ("report_outcome", {"case_id": CASE, "cause": "zzz/y", "confirmed_by": "x"}, "no cause with the id 'zzz/y'"),
        ("report_outcome", {"case_id": CASE, "cause": LEAD, "confirmed_by": "x"}, "No case of yours"),
    ],
)
async def test_a_wrong_call_is_told_what_to_do(chat: Chat, tool: str, arguments: dict[str, Any], told: str) -> None:
    assert told in await chat.refused(tool, **arguments)


async def test_in_chinese(chat: Chat) -> None:
    assert await chat.refused("diagnose", report="x", case_id=CASE, lang="zh") == (
        "您没有此 id 的案例。 case_id 取自 diagnose 的结果；不带 case_id 时 diagnose 会新建案例。"
    )


async def test_a_fault_of_ours_is_told_without_what_it_was(
    chat: Chat, service: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret of the machine")

    monkeypatch.setattr(service.state.cases, "open", break_down)
    told = await chat.refused("diagnose", report="loss is NaN")
    assert told.startswith("The tool failed through no fault of the arguments.")


def nested(levels: int) -> Any:
    return {"k": nested(levels - 1)} if levels else 1


@pytest.mark.parametrize(
    "sent",
    [
        {"files": {"a": nested(100)}},
        {"report": "loss \ud800 is NaN"},
        {"report": "\x00"},
        {"report": "x" * 200_001},
        {"observations": [{"name": "lr", "value": float("nan")}]},
        {"observations": [{"name": "lr", "value": nested(50)}]},
        {"series": [{"name": "loss", "values": ["nan", None, "x", [1]]}]},
        {"log": "\x1b[31m" * 1_000},
        {"facts": {"x" * 5_000: 1}},
        {"facts": {"amp.loss_scale": 10**400}},
    ],
)
async def test_whatever_is_sent_gets_an_answer_without_a_fault(chat: Chat, sent: dict[str, Any]) -> None:
    result = await chat.result("diagnose", **sent)
    text = text_of(result)
    assert "no fault of the arguments" not in text
    assert len(text.encode()) <= 2_000


TOOLS = {
    "list_facts": (Scope.KNOWLEDGE_READ, {"query": "loss"}),
    "diagnose": (Scope.CASES_WRITE, {"report": "loss is NaN"}),
    "answer_check": (Scope.CASES_WRITE, {"case_id": CASE, "findings": {"loss.nan": "present"}}),
    "explain": (Scope.CASES_READ, {"case_id": CASE, "cause": LEAD}),
    "audit_report": (Scope.AUDITS_READ, {"audit_id": CASE}),
    "report_outcome": (Scope.CASES_RESOLVE, {"case_id": CASE, "cause": LEAD, "confirmed_by": "x"}),
}


@pytest.mark.parametrize("tool", TOOLS)
async def test_each_tool_needs_its_scope(service: FastAPI, tool: str) -> None:
    scope, arguments = TOOLS[tool]
    without = Caller("default", "key:1", "chat", frozenset(Scope) - {scope})
    async with Client(a_server(service, without)) as client:
        told = await Chat(client).refused(tool, **arguments)
    assert f"needs the scope {scope}" in told
    only = Caller("default", "key:2", "chat", frozenset({scope}))
    async with Client(a_server(service, only)) as client:
        result = await client.call_tool(tool, arguments)
    assert "scope" not in str(result.content)


async def test_making_an_audit_needs_more_than_reading_one(service: FastAPI) -> None:
    reader = Caller("default", "key:1", "chat", frozenset({Scope.AUDITS_READ}))
    async with Client(a_server(service, reader)) as client:
        assert "audits:write" in await Chat(client).refused("audit_report", path="x")


async def test_a_case_of_another_tenant_does_not_exist(chat: Chat, service: FastAPI) -> None:
    case = await chat.call("diagnose", report="loss is NaN")
    async with Client(a_server(service, Caller("other", "key:1", "chat", frozenset(Scope)))) as client:
        other = Chat(client)
        for tool in ("answer_check", "explain", "report_outcome"):
            arguments = {**TOOLS[tool][1], "case_id": case["case_id"]}
            assert "No case of yours has this id" in await other.refused(tool, **arguments)
        assert "No case of yours" in await other.refused("diagnose", report="x", case_id=case["case_id"])
