"""Errors answered as problem documents: one kind a slug, never an exception's text, never the rejected value."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from api.problem import KINDS, Problem, invalid_input
from api.validation import explain

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

MEDIA_TYPE = "application/problem+json"
_BY_STATUS = {404: "not-found", 405: "method-not-allowed", 413: "too-large", 415: "unsupported-media-type"}


def problem_response(problem: Problem, request_id: str) -> Response:
    """The problem document as an HTTP response."""
    document: dict[str, Any] = {
        "type": f"/problems/{problem.kind.slug}",
        "title": problem.kind.title,
        "status": problem.kind.status,
        "detail": problem.detail,
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = [asdict(error) for error in problem.errors]
    return Response(
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"),
        status_code=problem.kind.status,
        headers=problem.headers,
        media_type=MEDIA_TYPE,
    )


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` as a problem document (uncaught exceptions: see :mod:`api.telemetry`)."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_validation_error)


def request_id_of(request: Request) -> str:
    """The id under which the log knows the request."""
    return str(request.state.request_id)


async def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error, request_id_of(request))


async def _on_http_exception(request: Request, error: Exception) -> Response:
    """Errors of the framework itself: no such path, no such method."""
    assert isinstance(error, HTTPException)
    slug = _BY_STATUS.get(error.status_code, "bad-request" if error.status_code < 500 else "internal")
    details = {
        "not-found": "No operation has this path; see /docs for those there are.",
        "method-not-allowed": "This path does not have this method; see the Allow header.",
    }
    detail = details.get(slug, KINDS[slug].meaning)
    return problem_response(Problem(slug, detail, headers=error.headers), request_id_of(request))


async def _on_validation_error(request: Request, error: Exception) -> Response:
    """Query, path and header parameters; bodies are checked in :mod:`api.submission`."""
    assert isinstance(error, RequestValidationError)
    return problem_response(invalid_input(explain(error.errors())), request_id_of(request))
