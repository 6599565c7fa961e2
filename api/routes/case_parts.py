"""What the operations on cases share: who answers, and what the OpenAPI document says of them."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any

from fastapi import Path
from starlette.requests import Request

from api.access import Scope, needs
from api.cases.conversation import Conversation
from api.cases.service import Cases
from api.described import REPLAY_HEADER, json_or_yaml, problems

CaseIdPath = Annotated[str, Path(description="Id of the case, from the answer to POST /v1/cases.")]
READ, WRITE = [needs(Scope.CASES_READ)], [needs(Scope.CASES_WRITE)]


def _shown(name: str) -> Any:
    """A real answer, shortened."""
    return json.loads((files("api") / "static" / "cases" / f"{name}.json").read_text("utf-8"))


def answered(name: str, *slugs: str, status: int = 200, posted: bool = True) -> dict[int | str, dict[str, Any]]:
    """The responses of an operation: the kept example ``name``, and the problems ``slugs``."""
    good: dict[str, Any] = {"content": {"application/json": {"example": _shown(name)}}}
    if posted:
        good["headers"] = REPLAY_HEADER
    return {status: good, **problems(*slugs)}


def request_body(model: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """A request body of the component ``model``."""
    return {"requestBody": json_or_yaml(model, dict(example))}


def cases_of(request: Request) -> Cases:
    """The cases of the app that serves ``request``."""
    cases: Cases = request.app.state.cases
    return cases


def conversation_of(request: Request) -> Conversation:
    """The dialogue about them."""
    conversation: Conversation = request.app.state.conversation
    return conversation
