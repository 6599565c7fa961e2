"""What a client puts before a model: names, texts and schemas of the tools."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.api.mcp.conftest import Chat

pytestmark = pytest.mark.anyio

NAMES = ["list_facts", "diagnose", "answer_check", "explain", "audit_report", "report_outcome"]


async def test_the_six_tools(chat: Chat) -> None:
    tools = (await chat.client.list_tools()).tools
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.description
        assert "Use it" in tool.description or "Give audit_id" in tool.description
        assert tool.annotations is not None
        assert tool.annotations.destructive_hint is False
    reading = [tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint]
    assert reading == ["list_facts", "explain"]


async def test_every_argument_says_what_goes_into_it(chat: Chat) -> None:
    for tool in (await chat.client.list_tools()).tools:
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert set(tool.input_schema.get("required", ())) <= {
            "query", "case_id", "cause", "confirmed_by"
        }  # fmt: skip
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}.{name}"


async def test_the_examples_in_the_texts_exist(chat: Chat) -> None:
    """Ids in the descriptions are taken over by models as they stand."""
    (diagnose,) = [tool for tool in (await chat.client.list_tools()).tools if tool.name == "diagnose"]
    case = await chat.call("diagnose", **_examples(diagnose.input_schema))
    assert "not_understood" not in case


def _examples(schema: dict[str, Any]) -> dict[str, Any]:
    """The example within each description that has one: the first JSON in it."""
    found: dict[str, Any] = {}
    for name, argument in schema["properties"].items():
        text = argument["description"]
        starts = [at for at in (text.find("[{"), text.find("{")) if at >= 0]
        if starts and name not in ("observations", "files"):
            found[name] = json.JSONDecoder().raw_decode(text[min(starts) :])[0]
    return found


async def test_results_fit_the_schemas_that_are_declared(chat: Chat) -> None:
    tools = {tool.name: tool for tool in (await chat.client.list_tools()).tools}
    case = await chat.call("diagnose", report="The loss became NaN in fp16, and the loss scale fell to 1.", log="a\nb")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_facts", {"query": "loss scale"}),
        ("diagnose", {"report": "CUDA out of memory", "detail": True}),
        ("answer_check", {"case_id": case["case_id"], "facts": {"amp.loss_scale": 1}}),
        ("explain", {"case_id": case["case_id"], "cause": case["causes"][0]["id"]}),
        ("report_outcome", {"case_id": case["case_id"], "cause": case["causes"][0]["id"], "confirmed_by": "x"}),
    ]
    for name, arguments in calls:
        schema = tools[name].output_schema
        assert schema is not None
        Draft202012Validator(schema).validate(await chat.call(name, **arguments))


async def test_the_definitions_stay_small(chat: Chat) -> None:
    tools = (await chat.client.list_tools()).tools
    shown = sum(len(tool.description or "") + len(json.dumps(tool.input_schema)) for tool in tools)
    assert shown <= 15_000  # characters that every conversation carries


async def test_the_instructions_tell_the_order(chat: Chat) -> None:
    told = chat.client.instructions or ""
    places = [told.index(word) for word in ("diagnose with", "next_checks", "answer_check", "report_outcome")]
    assert places == sorted(places)
    assert "input_quote" in told
