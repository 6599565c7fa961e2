"""The OpenAPI 3.1 document: FastAPI's, with request bodies, one-language texts and examples taken from real answers."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from api.access import Caller, Scope
from api.access.described import add_security
from api.audits import AuditRequest
from api.cases.events import Answers, Outcome
from api.cases.out import Feedback, Message, Retraction
from api.described import COMPONENTS, ProblemDocument
from api.idempotency import HEADER, PATTERN
from engine.calculators.memory import MemoryRequest
from engine.calculators.tokens import TokensRequest
from engine.model.case import Case
from engine.model.kb import PARADIGM_ALIASES

# A tenant of its own, so that an answer never shows what somebody keeps.
_EXAMPLES = Caller("openapi-examples", "local", "the service itself", frozenset(Scope))
_REQUESTS = (Case, AuditRequest, TokensRequest, MemoryRequest, Answers, Retraction, Outcome, Message, Feedback)
_DESCRIPTION = """\
Rule-based diagnosis of training incidents. Send what you have — a sentence, a few numbers, a log — and get ranked
causes, the evidence for and against each, and the next check to make. The same input gives the same answer.

Errors are problem documents (RFC 9457). JSON bodies may contain NaN and Infinity; answers are strict JSON.
"""
_TAGS = [
    {"name": "diagnoses", "description": "A case in, ranked causes and next checks out."},
    {"name": "cases", "description": "An incident that lives: evidence and answers come in, the ranking follows."},
    {"name": "alerts", "description": "Alerts of other services come in, and open cases."},
    {"name": "audits", "description": "A checkpoint in; pass, fail or not enough evidence out, gate by gate."},
    {"name": "knowledge", "description": "What the service knows: causes, findings, facts, checks and gates."},
    {"name": "pipeline", "description": "The training step, station by station."},
    {"name": "calculators", "description": "Arithmetic that needs no diagnosis."},
    {"name": "audit-log", "description": "Who did what, in rows that are bound to each other by hashes."},
    {"name": "health", "description": "For those who run the service."},
]
_KEEPS_NOTHING = frozenset({"diagnoses", "knowledge", "pipeline", "calculators", "health"})
# Headers that middleware, route classes and the choice of language read: described here once, not declared by each
# operation, because the framework's way of handing them over takes a tenth of a small request's time.
_ACCEPT_LANGUAGE = {
    "name": "Accept-Language",
    "in": "header",
    "description": "Language of the texts: en or zh; English if neither is named. The query parameter lang wins.",
    "schema": {"type": "string"},
    "example": "zh-CN,zh;q=0.9,en;q=0.5",
}
_IDEMPOTENCY_KEY = {
    "name": HEADER,
    "in": "header",
    "description": "A text of your choice, one for each new request, such as a UUID. If the request is sent again "
    "with the same key, the stored answer comes back, marked with Idempotent-Replayed: true.",
    "schema": {"type": "string", "pattern": PATTERN},
    "example": "0d6f1a52-6c5e-4a5e-9f0e-5f8f0f7e9a11",
}
_CONTENT_KEYS = ("observations", "log", "series", "files", "facts", "contrast")


def base_document(app: FastAPI) -> dict[str, Any]:
    """The document without examples of answers."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        summary="Ranked causes, their evidence and the next checks",
        description=_DESCRIPTION,
        routes=app.routes,
        tags=_TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    document["servers"] = [{"url": "/", "description": "This service"}]
    schemas: dict[str, Any] = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas |= _request_schemas()
    schemas |= models_json_schema([(ProblemDocument, "serialization")], ref_template=f"{COMPONENTS}{{model}}")[1][
        "$defs"
    ]
    schemas["Text"] = {"type": "string", "description": "A text in the language of the answer."}
    for schema in schemas.values():
        _in_one_language(schema)
    add_security(app, document)
    for path, operation in operations(document):
        _add_headers(path, operation)
        _drop_framework_errors(operation)
        _allow_slashes(path, operation)
    return document


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and description of every operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _request_schemas() -> dict[str, Any]:
    definitions: dict[str, Any] = models_json_schema(
        [(model, "validation") for model in _REQUESTS], ref_template=f"{COMPONENTS}{{model}}"
    )[1]["$defs"]
    case = definitions["Case"]
    properties = case["properties"]
    # What the validators of Case accept beyond its annotations, so that the document says no less than the code.
    properties["report"] = {"anyOf": [{**properties["report"], "default": ""}, {"type": "null"}]}
    properties["log"] = {"anyOf": [properties["log"], {"type": "string"}, {"type": "null"}]}
    properties["paradigm"]["anyOf"][0]["enum"] = sorted(
        {*properties["paradigm"]["anyOf"][0]["enum"], *PARADIGM_ALIASES}
    )
    definitions["CaseUpload"] = {
        "type": "object",
        "description": "A case in parts: the document, any files, or both.",
        "properties": {
            "case": {"$ref": f"{COMPONENTS}Case"},
            "files": {
                "type": "array",
                "items": {"type": "string", "format": "binary", "description": "A file, under its own name."},
                "description": "Logs, metrics, configuration: whatever the run left behind.",
            },
        },
        "additionalProperties": False,
        "anyOf": [{"required": ["case"]}, {"required": ["files"], "properties": {"files": {"minItems": 1}}}],
    }
    definitions["AuditUpload"] = _audit_upload()
    case["anyOf"] = [{"required": ["report"], "properties": {"report": {"type": "string", "pattern": r"\S"}}}]
    for key in _CONTENT_KEYS:
        filled = {"minProperties": 1} if key in {"files", "facts"} else {"minItems": 1, "minLength": 1}
        case["anyOf"].append({"required": [key], "properties": {key: {**filled, "not": {"type": "null"}}}})
    return definitions


def _audit_upload() -> dict[str, Any]:
    def files(description: str) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string", "format": "binary"}, "description": description}

    return {
        "type": "object",
        "description": "A checkpoint in parts. Every file is sent under its path in its folder, with slashes.",
        "properties": {
            "files": {**files("The files of the checkpoint."), "minItems": 1},
            "base": files("Files of the checkpoint it was trained from."),
            "evals": files("Results of its evaluations."),
            "baseline": files("The same of what it is compared with."),
            "evidence": files("Files that the intent names, relative to it."),
            "intent": {"type": "string", "description": "The declared intent, YAML or JSON."},
            "policy": {"type": "string", "description": "Id of a policy; else the one that fits best."},
        },
        "required": ["files"],
        "additionalProperties": False,
    }


def _in_one_language(schema: Any) -> None:
    """Objects keyed by language become the value in one language, as :func:`api.language.render` makes them."""
    if isinstance(schema, list):
        for item in schema:
            _in_one_language(item)
    elif isinstance(schema, dict):
        if sorted(schema.get("propertyNames", {}).get("enum", ())) == ["en", "zh"]:
            value = schema["additionalProperties"]
            kept = {key: schema[key] for key in ("title", "description") if key in schema}
            schema.clear()
            schema.update({**value, **kept})
        for item in schema.values():
            _in_one_language(item)


def _add_headers(name: str, operation: dict[str, Any]) -> None:
    parameters = operation.setdefault("parameters", [])
    if any(parameter["name"] == "lang" for parameter in parameters):
        parameters.append(dict(_ACCEPT_LANGUAGE))
    if name.startswith("POST ") and not name.startswith("POST /v1/webhooks/"):  # those know a repetition themselves
        parameters.append(dict(_IDEMPOTENCY_KEY))


def _drop_framework_errors(operation: dict[str, Any]) -> None:
    """FastAPI documents a 422 of its own form, which this service never sends."""
    for response in operation["responses"].values():
        content = response.get("content", {})
        if "application/problem+json" in content:
            content.pop("application/json", None)
            content.pop("text/plain", None)


def _allow_slashes(path: str, operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and f"{{{parameter['name']}}}" in path:
            parameter["schema"] |= {"minLength": 1}


async def add_examples(app: FastAPI, document: dict[str, Any]) -> None:
    """Put real answers of ``app`` into ``document``, and ids that exist into its parameters.

    The service asks itself, so that an example can never differ from what callers get. The requests stand in log
    and metrics under the request id ``openapi-example``. Operations that keep or change anything are never asked.
    """
    import httpx2

    async def as_the_service(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "state": {"caller": _EXAMPLES, "refusal": None}}, receive, send)

    transport = httpx2.ASGITransport(app=as_the_service)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for name, operation in operations(document):
            method, path = name.split(" ")
            if not _KEEPS_NOTHING.issuperset(operation["tags"]):
                continue
            await _add_parameter_examples(client, path, operation)
            response = await client.request(
                method,
                _filled(path, operation),
                headers={"X-Request-ID": "openapi-example", **_content_type(operation)},
                content=_body(operation),
            )
            if response.status_code == 200:
                for media_type, content in operation["responses"]["200"]["content"].items():
                    is_json = media_type == "application/json"
                    content["example"] = response.json() if is_json else response.text


async def _add_parameter_examples(client: Any, path: str, operation: dict[str, Any]) -> None:
    """An id that exists for the parameters that take one."""
    for parameter in operation.get("parameters", ()):
        plural = path.split("/")[2] if parameter["in"] == "path" else {"cause": "causes"}.get(parameter["name"])
        if plural is None:
            continue
        query = "?status=stable&limit=1" if plural == "causes" else "?limit=1"
        page = (await client.get(f"/v1/{plural}{query}", headers={"X-Request-ID": "openapi-example"})).json()
        if page.get("items"):  # audits have no list
            parameter["example"] = page["items"][0]["id"]


def _filled(path: str, operation: dict[str, Any]) -> str:
    query = {}
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter.get("example", "none"))
        elif parameter["in"] == "query" and (parameter.get("required") or parameter["name"] == "limit"):
            query[parameter["name"]] = parameter.get("example", 2)
    return f"{path}?{urlencode(query)}" if query else path


def _body(operation: dict[str, Any]) -> bytes | None:
    if "requestBody" not in operation:
        return None
    return json.dumps(operation["requestBody"]["content"]["application/json"]["example"]).encode()


def _content_type(operation: dict[str, Any]) -> dict[str, str]:
    return {"Content-Type": "application/json"} if "requestBody" in operation else {}
