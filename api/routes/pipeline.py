"""``/v1/pipeline``: the training step, station by station."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from api.access import Scope, needs
from api.described import problems
from api.exchange import LangParameters, answer_texts, expert_of
from api.messages import say
from api.problem import Problem
from api.routes.knowledge import ETAG_HEADER, NOT_MODIFIED, IfNoneMatch, cached
from engine.model.base import Frozen
from engine.model.kb import Paradigm, Pipeline

router = APIRouter(prefix="/v1", tags=["pipeline"], dependencies=[needs(Scope.KNOWLEDGE_READ)])


class Pipelines(Frozen):
    """Training steps of one or several paradigms."""

    items: list[Pipeline]


class PipelineParameters(LangParameters):
    """Query parameters of the pipeline."""

    paradigm: Paradigm | None = Field(None, description="Only this paradigm's training step.")


@router.get(
    "/pipeline",
    operation_id="get_pipeline",
    summary="Show the training step, station by station",
    response_model=Pipelines,
    responses={
        200: {"headers": ETAG_HEADER},
        **NOT_MODIFIED,
        **problems("unknown-id", "invalid-input", "not-ready"),
    },
)
async def get_pipeline(
    request: Request,
    query: Annotated[PipelineParameters, Query()],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """What goes in, happens, comes out and usually breaks at each of the eight stations, for each paradigm."""
    knowledge = expert_of(request).knowledge
    lang = query.chosen(request)
    if query.paradigm is not None and query.paradigm not in knowledge.pipelines:
        known = ", ".join(knowledge.pipelines)
        raise Problem("unknown-id", say("no-pipeline", known=known))
    headers, unchanged = cached(request, knowledge, lang, if_none_match)
    items = [pipeline for paradigm, pipeline in knowledge.pipelines.items() if query.paradigm in (None, paradigm)]
    return unchanged or answer_texts({"items": items}, lang, headers)
