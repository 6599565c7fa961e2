"""``/v1/audits``: a checkpoint in, pass, fail or not enough evidence out, gate by gate; kept under an id."""

import json
import uuid
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.access import Scope, caller_of, needs
from api.audits import Audit, AuditRequest, job_for, uploaded
from api.described import COMPONENTS, POST_PROBLEMS, REPLAY_HEADER, json_or_yaml, problems
from api.exchange import LangParameters, expert_of
from api.idempotency import IdempotentRoute
from api.media import MULTIPART, media_type, preferred
from api.messages import say
from api.multipart import read_form
from api.problem import Problem
from api.routes.pages import PAGE_HEADERS
from api.store import AuditStore
from api.submission import read_model
from engine.model.base import Lang

router = APIRouter(tags=["audits"])
_posting = APIRouter(route_class=IdempotentRoute, dependencies=[needs(Scope.AUDITS_WRITE)])

_VARY = {"Vary": "Accept, Accept-Language"}
_EXAMPLE_REQUEST = {
    "path": "releases/tiny-chat",
    "intent": {"paradigm": "sft", "release_kind": "downstream", "dtype": "bfloat16"},
    "base": "bases/tiny",
}
_EXAMPLE_UPLOAD = {"files": ['{"architectures": ["LlamaForCausalLM"], "vocab_size": 288}'], "intent": "paradigm: sft"}
_PROBLEMS = ("outside-roots", "bad-multipart", "not-ready", "busy", "audit-timeout", *POST_PROBLEMS)


def _body() -> dict[str, Any]:
    body = json_or_yaml("AuditRequest", _EXAMPLE_REQUEST)
    body["description"] = "A checkpoint on the disk of the service, or a multipart body with its files."
    body["content"][MULTIPART] = {"schema": {"$ref": f"{COMPONENTS}AuditUpload"}, "example": _EXAMPLE_UPLOAD}
    return body


def _example() -> Any:
    """An audit of a small checkpoint with one defect, shortened."""
    return json.loads((files("api") / "static" / "audit" / "example.json").read_text("utf-8"))


@_posting.post(
    "/v1/audits",
    operation_id="create_audit",
    summary="Audit a checkpoint",
    status_code=201,
    response_model=Audit,
    responses={
        201: {
            "headers": {
                **REPLAY_HEADER,
                "Location": {"description": "Where the audit can be read again.", "schema": {"type": "string"}},
            },
            "content": {"application/json": {"example": _example()}},
        },
        **problems(*_PROBLEMS),
    },
    openapi_extra={"requestBody": _body()},
)
async def create_audit(request: Request, query: Annotated[LangParameters, Query()]) -> Response:
    """Look at every file of a checkpoint and decide each gate: pass, fail, not enough evidence, not applicable, waived.

    The checkpoint lies on the disk of the service, below a folder in TRAINTRIAGE_AUDIT_ROOTS, or is sent as `files`
    of a multipart body under relative names. Nothing in it is executed or imported. The answer comes when the audit
    is done.
    """
    lang = query.chosen(request)
    audit_id = uuid.uuid4().hex
    if media_type(request.headers.get("content-type", "")) == MULTIPART:
        async with uploaded(await read_form(request), audit_id) as job:
            texts = await expert_of(request).audit(job)
    else:
        job = job_for(await read_model(request, AuditRequest), audit_id, request.app.state.settings.audit_roots)
        texts = await expert_of(request).audit(job)
    await _kept(request).keep(caller_of(request).tenant, audit_id, texts)
    headers = {"Location": f"/v1/audits/{audit_id}", "Content-Language": lang, **_VARY}
    return Response(texts[lang], 201, headers, "application/json")


router.include_router(_posting)


@router.get(
    "/v1/audits/{audit_id}",
    operation_id="get_audit",
    summary="Read an audit again",
    dependencies=[needs(Scope.AUDITS_READ)],
    response_model=Audit,
    responses={
        200: {
            "content": {
                "application/json": {"example": _example()},
                "text/html": {"schema": {"type": "string"}, "example": "<!doctype html>"},
            }
        },
        **problems("unknown-audit", "invalid-input"),
    },
)
async def get_audit(
    request: Request,
    audit_id: Annotated[str, Path(description="Id from the answer to POST /v1/audits.")],
    query: Annotated[LangParameters, Query()],
) -> Response:
    """The same audit as JSON, or as a page with the failed gates first if Accept prefers text/html."""
    lang = query.chosen(request)
    text = await _kept(request).get(caller_of(request).tenant, audit_id, lang)
    if text is None:
        raise Problem("unknown-audit", say("no-audit"))
    headers = {"Content-Language": lang, **_VARY}
    if preferred(request.headers.get("accept"), ("application/json", "text/html")) == "text/html":
        page = await run_in_threadpool(_page, text, lang)
        return HTMLResponse(page, headers={**PAGE_HEADERS, **headers})
    return Response(text, headers=headers, media_type="application/json")


def _page(text: bytes, lang: Lang) -> str:
    from api.reports.page import page

    return page(Audit.model_validate_json(text), lang)


def _kept(request: Request) -> AuditStore:
    kept: AuditStore = request.app.state.audits
    return kept
