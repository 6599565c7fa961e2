"""``/v1/causes``, ``findings``, ``facts``, ``checks``, ``gates`` and ``families``: what the service knows."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from api import language
from api.access import Scope, needs
from api.described import problems
from api.exchange import VARY, LangParameters, answer_texts, expert_of
from api.messages import say
from api.problem import Problem
from engine import __version__
from engine.knowledge.knowledge import Family, Knowledge
from engine.model.base import Frozen, Lang
from engine.model.kb import Cause, Check, Fact, Finding, Gate, Status

T = TypeVar("T")
KINDS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("causes", "cause", Cause),
    ("findings", "finding", Finding),
    ("facts", "fact", Fact),
    ("checks", "check", Check),
    ("gates", "gate", Gate),
)
IfNoneMatch = Annotated[
    str | None,
    Header(description="An ETag from an earlier answer; 304 if it is still right.", examples=['"0123abcd"']),
]
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "Unchanged since the answer with this ETag"}}
ETAG_HEADER = {"ETag": {"description": "Strong validator of this answer.", "schema": {"type": "string"}}}


class Page(Frozen, Generic[T]):
    """A part of a list."""

    items: list[T]
    total: int = Field(description="Objects that fit the filters, on all pages.")
    limit: int
    offset: int
    next: str | None = Field(description="Relative URL of the next page; null on the last.")
    lang: Lang
    kb_version: str
    kb_digest: str


class FamilyEntry(Family):
    """A family of causes with its name."""

    name: str


class Families(Frozen):
    """All families of causes."""

    items: list[FamilyEntry]


class ListParameters(LangParameters):
    """Query parameters of every list."""

    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Words that id, title or any other text must contain, in any order.",
    )
    limit: int = Field(50, ge=1, le=200, description="Most objects on the page.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Objects to skip.")

    def keeps(self, _: Any) -> bool:
        """Whether an object passes the filters of its own kind."""
        return True


class CauseParameters(ListParameters):
    """Query parameters of the list of causes."""

    family: str | None = Field(None, max_length=60, description="Only causes of this family, as in /v1/families.")
    status: Status | None = Field(None, description="Only causes of this maturity.")

    def keeps(self, cause: Any) -> bool:
        """Whether the cause has the family and the status asked for."""
        return self.family in (None, cause.family) and self.status in (None, cause.status)


def etag_of(request: Request, knowledge: Knowledge, lang: Lang) -> str:
    """A strong validator: the answer is a function of knowledge, code, language and URL."""
    parts = (knowledge.digest, __version__, lang, request.url.path, request.url.query)
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f'"{digest[:32]}"'


def cached(
    request: Request, knowledge: Knowledge, lang: Lang, if_none_match: str | None
) -> tuple[Mapping[str, str], Response | None]:
    """The caching headers of an answer, and a 304 if the caller has it already (RFC 9110, 13.1.2)."""
    etag = etag_of(request, knowledge, lang)
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    known = {tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")}
    if etag in known or "*" in known:
        return headers, Response(status_code=304, headers={**headers, **VARY})
    return headers, None


def _list(kind: str, request: Request, query: ListParameters, lang: Lang, if_none_match: str | None) -> Response:
    knowledge = expert_of(request).knowledge
    headers, unchanged = cached(request, knowledge, lang, if_none_match)
    if unchanged:
        return unchanged
    kept = [value for value in getattr(knowledge, kind).values() if query.keeps(value)]
    if query.q:
        words = query.q.casefold().split()
        kept = [value for value in kept if _contains(language.render(value, lang), words)]
    end = query.offset + query.limit
    following = {**query.model_dump(exclude_none=True), "offset": end}
    page = {
        "items": kept[query.offset : end],
        "total": len(kept),
        "limit": query.limit,
        "offset": query.offset,
        "next": f"{request.url.path}?{urlencode(following)}" if end < len(kept) else None,
        "lang": lang,
        "kb_version": knowledge.version,
        "kb_digest": knowledge.digest,
    }
    return answer_texts(page, lang, headers)


def _contains(rendered: Any, words: list[str]) -> bool:
    text = "\n".join(_texts(rendered)).casefold()
    return all(word in text for word in words)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _add_kind(router: APIRouter, plural: str, singular: str, model: type[BaseModel]) -> None:
    """The two operations of a kind: its list and its objects."""
    parameters = CauseParameters if plural == "causes" else ListParameters

    @router.get(
        f"/{plural}",
        operation_id=f"list_{plural}",
        summary=f"List the {plural}",
        response_model=Page[model],  # type: ignore[valid-type]
        responses={200: {"headers": ETAG_HEADER}, **NOT_MODIFIED, **problems("invalid-input", "not-ready")},
    )
    async def list_kind(
        request: Request,
        query: Annotated[parameters, Query()],  # type: ignore[valid-type]
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        lang = query.chosen(request)  # type: ignore[attr-defined]
        return _list(plural, request, query, lang, if_none_match)

    @router.get(
        f"/{plural}/{{{singular}_id:path}}",
        operation_id=f"get_{singular}",
        summary=f"Show a {singular}",
        response_model=model,
        responses={
            200: {"headers": ETAG_HEADER},
            **NOT_MODIFIED,
            **problems("unknown-id", "invalid-input", "not-ready"),
        },
    )
    async def get_one(
        request: Request,
        object_id: Annotated[str, Path(alias=f"{singular}_id", description=f"Id of the {singular}, slashes included.")],
        query: Annotated[LangParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        knowledge = expert_of(request).knowledge
        lang = query.chosen(request)
        value = getattr(knowledge, plural).get(object_id)
        if value is None:
            raise Problem("unknown-id", say("no-object", kind=singular, plural=plural))
        headers, unchanged = cached(request, knowledge, lang, if_none_match)
        return unchanged or answer_texts(value, lang, headers)


def make_router() -> APIRouter:
    """The routes of all kinds."""
    router = APIRouter(prefix="/v1", tags=["knowledge"], dependencies=[needs(Scope.KNOWLEDGE_READ)])
    for plural, singular, model in KINDS:
        _add_kind(router, plural, singular, model)
    router.add_api_route(
        "/families",
        list_families,
        operation_id="list_families",
        summary="List the families of causes",
        response_model=Families,
        responses={200: {"headers": ETAG_HEADER}, **NOT_MODIFIED, **problems("invalid-input", "not-ready")},
    )
    return router


async def list_families(
    request: Request,
    query: Annotated[LangParameters, Query()],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The closed list of families, by which causes are grouped and diagnoses are scored; in English only."""
    knowledge = expert_of(request).knowledge
    lang = query.chosen(request)
    headers, unchanged = cached(request, knowledge, lang, if_none_match)
    entries = [{"name": name, **family.model_dump()} for name, family in knowledge.families.items()]
    return unchanged or answer_texts({"items": entries}, lang, headers)
