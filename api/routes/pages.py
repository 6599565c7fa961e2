"""Pages for people: ``/``, ``/docs`` and ``/problems/...``, and the document ``/openapi.json`` behind them."""

import json
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api import language, openapi, pages
from api.access import Scope, needs, public
from api.exchange import VARY, expert_of
from api.messages import say
from api.problem import Problem
from api.problems import KINDS

router = APIRouter(include_in_schema=False)
# No script at all, and nothing from anywhere else: a page of this service can neither call out nor be framed.
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
}


@router.get("/openapi.json", dependencies=[needs(Scope.KNOWLEDGE_READ)])
async def get_openapi_document(request: Request) -> Response:
    """The OpenAPI 3.1 document."""
    text = json.dumps(await _document(request), ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), media_type="application/json")


@router.get("/docs", dependencies=[needs(Scope.KNOWLEDGE_READ)])
async def get_docs(request: Request) -> HTMLResponse:
    """The same for reading."""
    return HTMLResponse(pages.docs(await _document(request)), headers=PAGE_HEADERS)


@router.get("/", dependencies=[public()])
async def get_start_page() -> HTMLResponse:
    """Where to go from here."""
    return HTMLResponse(pages.start(), headers=PAGE_HEADERS)


@router.get("/problems/{slug}", dependencies=[public()])
async def get_problem_page(request: Request, slug: str) -> HTMLResponse:
    """What a kind of problem means and what to do."""
    kind = KINDS.get(slug)
    if kind is None:
        raise Problem("not-found", say("no-kind"))
    lang = language.asked(request)
    return HTMLResponse(pages.problem(kind, lang), headers={**PAGE_HEADERS, **VARY, "Content-Language": lang})


async def _document(request: Request) -> dict[str, Any]:
    """The document with examples, made once for each knowledge base."""
    state = request.app.state
    digest = expert_of(request).knowledge.digest
    made_for, document = getattr(state, "openapi_document", (None, {}))
    if made_for != digest:
        document = await run_in_threadpool(openapi.base_document, request.app)
        await openapi.add_examples(request.app, document)
        state.openapi_document = (digest, document)
    return document
