"""Audits over the tools: made by path, read again, and told small."""

import json
from pathlib import Path

import pytest
from fastapi import FastAPI

from api.mcp.digest import Digest
from api.mcp.results import LIMIT, fitted
from engine.knowledge.knowledge import Knowledge
from tests.api.mcp.conftest import Chat
from tests.engine.audit.build.causal_lm import causal_lm


@pytest.mark.anyio
async def test_made_by_path_and_read_again(chat: Chat, service: FastAPI) -> None:
    weights = causal_lm(service.state.settings.audit_roots[0]).root / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    audit = await chat.call("audit_report", path="model", intent={"paradigm": "sft", "release_kind": "downstream"})
    assert audit["verdict"] == "fail"
    assert audit["failed"][0]["because"]
    assert sum(audit["counts"].values()) > 100
    assert await chat.call("audit_report", audit_id=audit["audit_id"]) == audit
    chinese = await chat.call("audit_report", audit_id=audit["audit_id"], lang="zh")
    assert chinese["summary"].startswith("不通过")


def test_the_gates_that_decide_come_first(knowledge: Knowledge) -> None:
    example = json.loads((Path("api") / "static" / "audit" / "example.json").read_text("utf-8"))
    follower = {**example["gates"][0], "id": "b/follows", "status": "fail", "root": False, "severity": "blocker"}
    minor = {**follower, "id": "a/minor", "root": True, "severity": "minor"}
    blocker = {**follower, "id": "c/root", "root": True}
    audit = {**example, "gates": [follower, minor, blocker]}
    told = Digest(knowledge, "en").audit(audit)
    assert [gate.id for gate in told.failed] == ["c/root", "a/minor", "b/follows"]


def test_a_hundred_failures_fit(knowledge: Knowledge) -> None:
    example = json.loads((Path("api") / "static" / "audit" / "example.json").read_text("utf-8"))
    gate = {**example["gates"][0], "status": "fail", "root": True, "because": "x" * 500}
    data = fitted(Digest(knowledge, "en").audit({**example, "gates": [gate] * 100}), LIMIT)
    assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()) <= LIMIT
    assert data["failed"]
    assert data["left_off"]["failed"] > 0
