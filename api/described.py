"""Pieces of the OpenAPI document that routes put on themselves: bodies, problems and headers."""

from typing import Any

from pydantic import Field

from api.errors import MEDIA_TYPE
from api.problems import KINDS
from engine.model.base import Frozen

COMPONENTS = "#/components/schemas/"
_ANY_INPUT = ("bad-json", "bad-yaml", "too-large", "unsupported-media-type", "invalid-input", "too-deep")
POST_PROBLEMS = (*_ANY_INPUT, "body-timeout", "key-in-flight", "key-reused")
REPLAY_HEADER = {
    "Idempotent-Replayed": {
        "description": "Present, with the value true, if this is the stored answer to an earlier request.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}


class ErrorEntry(Frozen):
    """One thing wrong with the request."""

    part: str = Field(description="Where it stands: body, query, header or path.")
    pointer: str = Field(description="JSON pointer (RFC 6901) to the place inside that part; empty for all of it.")
    reason: str = Field(description="What is wrong there.")
    send: str = Field(description="What to send instead.")


class ProblemDocument(Frozen):
    """An error (RFC 9457)."""

    type: str = Field(description="Kind of problem, as a relative URL that leads to a page about it.")
    title: str = Field(description="The kind in words.")
    status: int = Field(description="HTTP status.")
    detail: str = Field(description="What went wrong this time, and what to do.")
    request_id: str = Field(description="Id of the request in the log of the service; also in X-Request-ID.")
    errors: list[ErrorEntry] = Field(default=[], description="Each wrong value, if single values are wrong.")


def problems(*slugs: str) -> dict[int | str, dict[str, Any]]:
    """OpenAPI responses for the kinds of problems an operation may answer with."""
    responses: dict[int | str, dict[str, Any]] = {}
    for slug in (*slugs, "unknown-host", "internal"):
        kind = KINDS[slug]
        response = responses.setdefault(
            kind.status,
            {
                "description": kind.title.en,
                "content": {MEDIA_TYPE: {"schema": {"$ref": f"{COMPONENTS}ProblemDocument"}, "examples": {}}},
            },
        )
        response["content"][MEDIA_TYPE]["examples"][slug] = {"summary": kind.title.en, "value": _example(slug)}
    return responses


def _example(slug: str) -> dict[str, Any]:
    kind = KINDS[slug]
    example = {
        "type": f"/problems/{slug}",
        "title": kind.title.en,
        "status": kind.status,
        "detail": kind.meaning.en,
        "request_id": "3f0c6f5e6f4e4c0f9a55a1a2f6f7c1de",
    }
    if slug != "invalid-input":
        return example
    entry = {
        "part": "body",
        "pointer": "/observations/0/name",
        "reason": "a required value is missing",
        "send": "Add it.",
    }
    return {
        **example,
        "detail": "body /observations/0/name: a required value is missing. Add it.",
        "errors": [entry],
    }


def json_or_yaml(model: str, example: Any) -> dict[str, Any]:
    """A request body that is a component schema as JSON or YAML."""
    content = {"schema": {"$ref": COMPONENTS + model}, "example": example}
    return {"required": True, "content": {"application/json": content, "application/yaml": content}}


def case_body(example: Any) -> dict[str, Any]:
    """The three forms of a case."""
    body = json_or_yaml("Case", example)
    body["description"] = "A case document, or a multipart body with the document and any files."
    body["content"]["multipart/form-data"] = {
        "schema": {"$ref": COMPONENTS + "CaseUpload"},
        "encoding": {"case": {"contentType": "application/json, application/yaml"}},
        "example": {"case": example, "files": ["iteration 6900 | lm loss: nan | loss scale: 1.0 |\n"]},
    }
    return body
