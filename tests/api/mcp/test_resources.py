"""Causes, findings and gates as resources."""

import json

import pytest
from fastapi import FastAPI
from mcp import Client, MCPError
from mcp_types import TextResourceContents

from api.access import Caller, Scope
from tests.api.mcp.conftest import Chat, a_server

pytestmark = pytest.mark.anyio


async def read(chat: Chat, uri: str) -> dict:
    (content,) = (await chat.client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "application/json"
    return json.loads(content.text)


async def test_a_cause_in_both_languages(chat: Chat) -> None:
    uri = "cause://numerics/fp16-activation-overflow"
    cause = await read(chat, uri)
    assert cause["title"] == "Half-precision activations overflow"
    assert cause["remedies"]
    assert (await read(chat, f"{uri}?lang=zh"))["title"] == "半精度激活溢出"


async def test_a_finding_with_a_parameter(chat: Chat) -> None:
    assert (await read(chat, "finding://contrast(precision)"))["id"] == "contrast(precision)"


async def test_every_id_can_be_read(chat: Chat, service: FastAPI) -> None:
    knowledge = service.state.expert.knowledge
    for kind, ids in (("gate", list(knowledge.gates)[::10]), ("finding", list(knowledge.findings)[::60])):
        for name in ids:
            assert (await read(chat, f"{kind}://{name}"))["id"] == name


async def test_the_templates_are_listed(chat: Chat) -> None:
    templates = (await chat.client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "cause://{+id}{?lang}", "finding://{+id}{?lang}", "gate://{+id}{?lang}",
    ]  # fmt: skip


@pytest.mark.parametrize("uri", ["cause://no/such", "gate://x", "secret://x", "cause://../../etc/passwd"])
async def test_there_is_no_such_resource(chat: Chat, uri: str) -> None:
    with pytest.raises(MCPError):
        await chat.client.read_resource(uri)


async def test_reading_needs_the_scope(service: FastAPI) -> None:
    caller = Caller("default", "key:1", "chat", frozenset(Scope) - {Scope.KNOWLEDGE_READ})
    async with Client(a_server(service, caller)) as client:
        with pytest.raises(MCPError, match="knowledge:read"):
            await client.read_resource("cause://numerics/fp16-activation-overflow")
