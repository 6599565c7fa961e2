"""``/v1/cases/{id}/…``: what a case tells of its past: timeline, rankings, replay, post-mortem, live events."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.access import caller_of
from api.cases import history, live
from api.cases.out import Replay, Timeline
from api.cases.post_mortem import post_mortem
from api.described import problems
from api.exchange import VARY, LangParameters, answer_data, expert_of
from api.routes.case_parts import READ, CaseIdPath, answered, cases_of
from engine.model.diagnosis import Diagnosis, WhyNotOut
from engine.model.kb import CauseId

router = APIRouter(prefix="/v1/cases", tags=["cases"])


class CauseParameters(LangParameters):
    """The cause that is asked about."""

    cause: CauseId = Field(description="Id of the cause, as in /v1/causes.")


@router.get(
    "/{case_id}/explanation",
    operation_id="explain_case",
    summary="Ask why a cause leads, or does not",
    response_model=WhyNotOut,
    dependencies=READ,
    responses=answered("explanation", "unknown-case", "unknown-id", "not-ready", "invalid-input", posted=False),
)
async def explain_case(request: Request, case_id: CaseIdPath, query: Annotated[CauseParameters, Query()]) -> Response:
    """For the case as it stands: what speaks for the cause and against it, what is missing, what would bring it up."""
    lang = query.chosen(request)
    return answer_data(await cases_of(request).explain(caller_of(request), case_id, query.cause, lang), lang)


@router.get(
    "/{case_id}/timeline",
    operation_id="get_timeline",
    summary="Read what happened to a case",
    response_model=Timeline,
    dependencies=READ,
    responses=answered("timeline", "unknown-case", "not-ready", "invalid-input", posted=False),
)
async def get_timeline(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """Every event: who, when, what, and the first causes after it."""
    lang = query.chosen(request)
    knowledge = expert_of(request).knowledge
    return answer_data(await history.timeline(cases_of(request), caller_of(request), case_id, knowledge, lang), lang)


@router.get(
    "/{case_id}/rankings/{revision}",
    operation_id="get_ranking",
    summary="Read a diagnosis of the past",
    response_model=Diagnosis,
    dependencies=READ,
    responses=answered("ranking", "unknown-case", "unknown-event", "invalid-input", posted=False),
)
async def get_ranking(
    request: Request,
    case_id: CaseIdPath,
    revision: Annotated[int, Path(ge=1, description="Number of the event after which it was made.")],
    query: Annotated[LangParameters, Query()],
) -> Response:
    """The diagnosis after an event, byte for byte as it was answered then."""
    lang = query.chosen(request)
    kept = await cases_of(request).ranking(caller_of(request), case_id, revision)
    return Response(kept.texts[lang], headers={"Content-Language": lang, **VARY}, media_type="application/json")


@router.get(
    "/{case_id}/replay",
    operation_id="get_replay",
    summary="Work out every ranking again",
    response_model=Replay,
    dependencies=READ,
    responses=answered("replay", "unknown-case", "not-ready", "busy", "reading-timeout", "invalid-input", posted=False),
)
async def get_replay(request: Request, case_id: CaseIdPath) -> Response:
    """From the events alone, by the knowledge in use, compared byte for byte with what was answered.

    With the same knowledge and engine everything is the same; with a newer one it shows what would rank otherwise.
    """
    knowledge = expert_of(request).knowledge
    answer = await history.replay(cases_of(request), caller_of(request), case_id, knowledge)
    return Response(answer.model_dump_json(), media_type="application/json")


@router.get(
    "/{case_id}/post-mortem",
    operation_id="get_post_mortem",
    summary="Draft a post-mortem",
    dependencies=READ,
    response_class=Response,
    responses={
        200: {"content": {"text/markdown": {"schema": {"type": "string"}, "example": "# Loss became NaN\n"}}},
        **problems("unknown-case", "not-ready", "invalid-input"),
    },
)
async def get_post_mortem(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """A draft in Markdown: what happened when, the cause and what speaks for it, what was ruled out, what was done."""
    lang = query.chosen(request)
    knowledge = expert_of(request).knowledge
    text = await post_mortem(cases_of(request), caller_of(request), case_id, knowledge, lang)
    headers = {"Content-Language": lang, **VARY}
    return Response(text, headers=headers, media_type="text/markdown")


@router.get(
    "/{case_id}/events",
    operation_id="list_events",
    summary="Follow a case",
    dependencies=READ,
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}, "example": live.EXAMPLE}}},
        **problems("unknown-case", "not-ready", "busy", "invalid-input"),
    },
)
async def list_events(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """Server-sent events: everything so far, then each change as it comes, in the form of the timeline.

    `Last-Event-ID` asks for what came after an event, as browsers do when they connect again.
    """
    return await live.stream(request, cases_of(request), caller_of(request), case_id, query.chosen(request))
