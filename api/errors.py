"""Errors answered as problem documents: one kind a slug, never an exception's text, never the rejected value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from api import language
from api.messages import say
from api.problem import Problem, invalid_input
from api.problems import KINDS
from api.store.errors import StoreError
from api.validation import explain

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

    from engine.model.base import Lang

MEDIA_TYPE = "application/problem+json"
_BY_STATUS = {404: "not-found", 405: "method-not-allowed", 413: "too-large", 415: "unsupported-media-type"}
_DETAILS = {"not-found": "no-path", "method-not-allowed": "no-method"}


def problem_response(problem: Problem, request: Request) -> Response:
    """The problem document as the answer to ``request``, in the language it asks for."""
    lang = language.asked(request)
    return Response(
        document(problem, lang, request_id=request.state.request_id),
        status_code=problem.kind.status,
        headers={"Content-Language": lang, "Vary": "Accept-Language", **problem.headers},
        media_type=MEDIA_TYPE,
    )


def document(problem: Problem, lang: Lang, **more: Any) -> bytes:
    """The problem document, as JSON, with ``more`` members."""
    told: dict[str, Any] = {
        "type": f"/problems/{problem.kind.slug}",
        "title": problem.kind.title.get(lang),
        "status": problem.kind.status,
        "detail": problem.detail.get(lang),
        **more,
    }
    if problem.errors:
        told["errors"] = [error.told(lang) for error in problem.errors]
    return json.dumps(told, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` as a problem document (uncaught exceptions: see :mod:`api.telemetry`)."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_validation_error)


async def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    if isinstance(error, StoreError):
        request.app.state.logger.error("store", request_id=request.state.request_id, reason=error.reason)
    return problem_response(error, request)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    """Errors of the framework itself: no such path, no such method."""
    assert isinstance(error, HTTPException)
    slug = _BY_STATUS.get(error.status_code, "bad-request" if error.status_code < 500 else "internal")
    detail = say(_DETAILS[slug]) if slug in _DETAILS else KINDS[slug].meaning
    headers = dict(error.headers or {})
    allowed = headers.get("Allow", "").split(", ")
    if "GET" in allowed and "HEAD" not in allowed:  # see HeadAsGet
        headers["Allow"] = ", ".join((*allowed, "HEAD"))
    return problem_response(Problem(slug, detail, headers=headers), request)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    """Query, path and header parameters; bodies are checked in :mod:`api.submission`."""
    assert isinstance(error, RequestValidationError)
    return problem_response(invalid_input(explain(error.errors())), request)
