"""The OpenAPI document, the pages made of it, and the check of every operation against it."""

import json
import re
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from api.openapi import operations


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    response = client.get("/openapi.json")
    assert response.status_code == 200
    return response.json()


def test_every_operation_is_described(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(names) == len(set(names)) >= 37
    tags = {tag["name"] for tag in document["tags"]}
    for name, operation in operations(document):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"])
        assert operation["summary"]
        assert set(operation["tags"]) <= tags
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"], (name, status)
        assert "500" in operation["responses"]


def test_every_operation_has_a_real_answer_as_example(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        if operation["operationId"] == "get_gate":  # the fake knowledge has none
            continue
        done = next(response for status, response in operation["responses"].items() if status.startswith("2"))
        for content in done.get("content", {}).values():
            assert content.get("example"), name


def test_examples_fit_their_schemas(document: dict[str, Any]) -> None:
    checked = 0
    for name, operation in operations(document):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            examples = [example["value"] for example in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            for example in examples:
                schema = {**content["schema"], "components": document["components"]}
                jsonschema.Draft202012Validator(schema).validate(example)
                checked += 1
            assert examples or operation["operationId"] == "get_gate", name
    assert checked > 100


@pytest.mark.parametrize(
    ("case", "fits"),
    [
        ({"report": "x"}, True),
        ({"log": "a line"}, True),
        ({"report": None, "facts": {"a.b": 1}}, True),
        ({"paradigm": "grpo", "report": "x"}, True),
        ({}, False),
        ({"report": " "}, False),
        ({"paradigm": "sft"}, False),
        ({"log": None}, False),
        ({"observations": []}, False),
        ({"report": "x", "unknown": 1}, False),
    ],
)
def test_the_schema_of_a_case_says_what_the_code_does(
    document: dict[str, Any], client: TestClient, case: dict[str, Any], fits: bool
) -> None:
    schema = {"$ref": "#/components/schemas/Case", "components": document["components"]}
    assert jsonschema.Draft202012Validator(schema).is_valid(case) is fits
    assert client.post("/v1/diagnoses", json=case).is_success is fits


def test_texts_are_in_one_language(document: dict[str, Any], client: TestClient) -> None:
    schema = {"$ref": "#/components/schemas/Cause", "components": document["components"]}
    for lang in ("en", "zh"):
        cause = client.get(f"/v1/causes/numerics/overflow?lang={lang}").json()
        jsonschema.Draft202012Validator(schema).validate(cause)


def test_nothing_is_undocumented(document: dict[str, Any], client: TestClient) -> None:
    described = set(document["paths"])
    pages = {"/", "/docs", "/openapi.json", "/problems/{slug}"}
    served = {path.replace(":path", "") for path in _paths(client.app)}
    assert served == described | pages


def _paths(app: Any) -> set[str]:
    from fastapi.routing import iter_route_contexts

    return {context.path for context in iter_route_contexts(app.routes)}


@pytest.mark.parametrize("path", ["/", "/docs", "/problems/too-large"])
def test_pages_need_no_other_host(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert not re.search(r"<(script|link|img|iframe|object|embed)\b|@import|url\(|\son\w+=", response.text)
    targets = re.findall(r'(?:href|src|action)="([^"]*)"', response.text)
    assert targets
    assert all(target.startswith(("/", "#")) and not target.startswith("//") for target in targets)


def test_docs_show_every_operation(document: dict[str, Any], client: TestClient) -> None:
    page = client.get("/docs").text
    for _, operation in operations(document):
        assert f'id="{operation["operationId"]}"' in page
    ids = set(re.findall(r'id="([^"]*)"', page))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= ids


def test_the_document_is_strict_json(client: TestClient) -> None:
    json.loads(client.get("/openapi.json").text, parse_constant=pytest.fail)
