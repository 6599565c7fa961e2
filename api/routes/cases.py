"""``/v1/cases``: an incident that lives: evidence and answers come in, the ranking follows, the cause is confirmed."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from api.access import Scope, caller_of, needs
from api.cases.events import Answers, Doubted, Outcome
from api.cases.out import (
    CaseOut,
    CasePage,
    Feedback,
    Message,
    MessageOut,
    Retraction,
    Status,
    after,
    case_text,
    cursor,
    summary,
)
from api.cases.view import CaseView
from api.described import POST_PROBLEMS, case_body, problems
from api.exchange import VARY, LangParameters, answer_data
from api.idempotency import IdempotentRoute
from api.messages import say
from api.problem import invalid_input
from api.routes.case_parts import READ, WRITE, CaseIdPath, answered, cases_of, conversation_of, request_body
from api.routes.diagnoses import EXAMPLE_CASE
from api.store.cases import Asked
from api.submission import read_model, receive
from api.validation import FieldError
from engine.dialogue import Reply
from engine.model.base import Frozen, Lang
from engine.model.kb import CauseId

router = APIRouter(prefix="/v1/cases", tags=["cases"], route_class=IdempotentRoute)

_READING = ("bad-multipart", "not-ready", "busy", "reading-timeout", *POST_PROBLEMS)
_CHANGING = ("unknown-case", "case-resolved", "case-changed", *POST_PROBLEMS)


class OpenParameters(LangParameters):
    """Query parameters of a new case."""

    title: str = Field("", max_length=200, description="What to call it; default: the first line of the report.")


class ListParameters(Frozen):
    """Which cases are asked for."""

    status: Status | None = Field(None, description="Only open or only resolved ones.")
    cause: CauseId | None = Field(None, description="Only those with this cause confirmed or in the lead.")
    q: str = Field("", max_length=200, description="Only those with this in their title.")
    limit: int = Field(50, ge=1, le=100, description="Most cases to list.")
    cursor: str | None = Field(None, max_length=200, description="From the 'next' of the page before.")


@router.post(
    "",
    operation_id="create_case",
    summary="Open a case",
    status_code=201,
    response_model=CaseOut,
    dependencies=WRITE,
    responses=answered("case", "empty-case", *_READING, status=201),
    openapi_extra={"requestBody": case_body(dict(EXAMPLE_CASE))},
)
async def create_case(request: Request, query: Annotated[OpenParameters, Query()]) -> Response:
    """Keep what is known of an incident, and rank its causes. The body is that of POST /v1/diagnoses."""
    lang = query.chosen(request)
    async with receive(request) as submission:
        view = await cases_of(request).open(caller_of(request), submission, title=query.title, lang=lang)
    return _case(view, lang, 201)


@router.get(
    "",
    operation_id="list_cases",
    summary="List cases",
    response_model=CasePage,
    dependencies=READ,
    responses=answered("page", "invalid-input", posted=False),
)
async def list_cases(request: Request, query: Annotated[ListParameters, Query()]) -> Response:
    """The cases of the tenant, those changed last first."""
    start = None
    if query.cursor is not None and (start := after(query.cursor)) is None:
        raise invalid_input((FieldError("query", "/cursor", say("no-cursor"), say("take-next")),))
    heads = await cases_of(request).find(
        caller_of(request), Asked(query.status, query.cause, query.q, start, query.limit)
    )
    shown = heads[: query.limit]
    following = None
    if len(heads) > query.limit:
        asked = {**query.model_dump(exclude_defaults=True), "cursor": cursor(shown[-1])}
        following = f"{request.url.path}?{urlencode(asked)}"
    page = CasePage(items=[summary(head) for head in shown], next=following)
    return Response(page.model_dump_json(), media_type="application/json")


@router.get(
    "/{case_id}",
    operation_id="get_case",
    summary="Read a case",
    response_model=CaseOut,
    dependencies=READ,
    responses=answered("case", "unknown-case", "invalid-input", posted=False),
)
async def get_case(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """The case as it stands, with the diagnosis as it was answered after the last change."""
    lang = query.chosen(request)
    return _case(await cases_of(request).get(caller_of(request), case_id), lang)


@router.delete(
    "/{case_id}",
    operation_id="delete_case",
    summary="Delete a case",
    status_code=204,
    response_class=Response,
    dependencies=[needs(Scope.CASES_DELETE)],
    responses={204: {"description": "It is gone."}, **problems("unknown-case", "invalid-input")},
)
async def delete_case(request: Request, case_id: CaseIdPath) -> Response:
    """Delete a case with every file and word that was sent for it. The audit log keeps that it was there."""
    await cases_of(request).delete(caller_of(request), case_id)
    return Response(status_code=204)


@router.post(
    "/{case_id}/evidence",
    operation_id="add_evidence",
    summary="Add evidence",
    response_model=CaseOut,
    dependencies=WRITE,
    responses=answered("case", "empty-case", "unknown-case", "case-resolved", "case-changed", *_READING),
    openapi_extra={"requestBody": case_body({"log": ["step 4120 | loss nan | grad norm inf"]})},
)
async def add_evidence(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """More of what POST /v1/cases takes: words, numbers, log lines, series, files."""
    lang = query.chosen(request)
    async with receive(request) as submission:
        view = await cases_of(request).add_evidence(caller_of(request), case_id, submission)
    return _case(view, lang)


@router.post(
    "/{case_id}/answers",
    operation_id="answer_check",
    summary="Answer a check or a question",
    response_model=CaseOut,
    dependencies=WRITE,
    responses=answered("case", *_CHANGING),
    openapi_extra=request_body("Answers", {"asked": "loss.nan", "findings": {"loss.nan": "present"}}),
)
async def answer_check(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """What a proposed check or question came to, or anything else that is known by its canonical id.

    `findings` are present, absent or unknown; `facts` have values. An id in `asked` without either means that nobody
    can tell: it is not asked again.
    """
    lang = query.chosen(request)
    answers = await read_model(request, Answers)
    return _case(await cases_of(request).answer(caller_of(request), case_id, answers), lang)


@router.post(
    "/{case_id}/messages",
    operation_id="send_message",
    summary="Talk about a case",
    response_model=MessageOut,
    dependencies=WRITE,
    responses=answered("message", *_CHANGING),
    openapi_extra=request_body("Message", {"text": "yes, and the gradient norm was inf one step before"}),
)
async def send_message(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """A message of the dialogue: an answer to what was asked last, numbers, pasted lines, free text, or a wish.

    The reply says what was understood, how the ranking moved, and what to find out next, until a cause is decided or
    no question is left that would teach anything. It is in the language of the message.
    """
    message = await read_model(request, Message)
    view, reply = await conversation_of(request).say(caller_of(request), case_id, message.text, query.lang)
    return answer_data(MessageOut(revision=view.head.revision, reply=reply), reply.lang)


@router.get(
    "/{case_id}/question",
    operation_id="get_question",
    summary="Read what is asked next",
    response_model=Reply,
    dependencies=READ,
    responses=answered("question", "unknown-case", "not-ready", "invalid-input", posted=False),
)
async def get_question(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """The ranking so far and the most informative question in plain words, or the end of the dialogue."""
    lang = query.chosen(request)
    view = await cases_of(request).get(caller_of(request), case_id)
    return answer_data(conversation_of(request).first(view, lang), lang)


@router.post(
    "/{case_id}/retractions",
    operation_id="retract_event",
    summary="Take back an event",
    response_model=CaseOut,
    dependencies=WRITE,
    responses=answered("case", "unknown-event", *_CHANGING),
    openapi_extra=request_body("Retraction", {"seq": 2, "reason": "the log was of another run"}),
)
async def retract_event(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """What an earlier event said does not hold; the event stays in the timeline, and a retraction can be retracted."""
    lang = query.chosen(request)
    retraction = await read_model(request, Retraction)
    view = await cases_of(request).retract(caller_of(request), case_id, retraction.seq, retraction.reason)
    return _case(view, lang)


@router.post(
    "/{case_id}/resolution",
    operation_id="resolve_case",
    summary="Resolve a case",
    response_model=CaseOut,
    dependencies=[needs(Scope.CASES_RESOLVE)],
    responses=answered("resolved", "unknown-case", "case-changed", *POST_PROBLEMS),
    openapi_extra=request_body(
        "Outcome",
        {
            "cause": "numerics/fp16-activation-overflow",
            "confirmed_by": "the same batch is finite in bf16",
            "remedy": "trained on in bf16 from step 4000",
        },
    ),
)
async def resolve_case(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """Say what it was in the end: a cause of the knowledge base, or in words what it does not know.

    A resolved case is a labelled one: `traintriage kb suggest` makes case files of them, for review.
    """
    lang = query.chosen(request)
    outcome = await read_model(request, Outcome)
    return _case(await cases_of(request).resolve(caller_of(request), case_id, outcome), lang)


@router.delete(
    "/{case_id}/resolution",
    operation_id="reopen_case",
    summary="Open a resolved case again",
    response_model=CaseOut,
    dependencies=[needs(Scope.CASES_RESOLVE)],
    responses=answered("case", "unknown-case", "case-open", "case-changed", "invalid-input", posted=False),
)
async def reopen_case(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """The resolution does not hold after all."""
    lang = query.chosen(request)
    return _case(await cases_of(request).reopen(caller_of(request), case_id), lang)


@router.post(
    "/{case_id}/feedback",
    operation_id="create_feedback",
    summary="Say that a ranked cause is wrong, or right",
    response_model=CaseOut,
    dependencies=WRITE,
    responses=answered("case", "unknown-case", "case-changed", *POST_PROBLEMS),
    openapi_extra=request_body("Feedback", {"cause": "numerics/fp16-activation-overflow", "verdict": "wrong"}),
)
async def create_feedback(request: Request, case_id: CaseIdPath, query: Annotated[LangParameters, Query()]) -> Response:
    """Kept for those who review the knowledge. It moves no ranking, an opinion being no evidence."""
    lang = query.chosen(request)
    given = await read_model(request, Feedback)
    doubt = Doubted.model_validate(given.model_dump())
    return _case(await cases_of(request).feedback(caller_of(request), case_id, doubt), lang)


def _case(view: CaseView, lang: Lang, status: int = 200) -> Response:
    headers = {"Content-Language": lang, "ETag": f'"{view.head.revision}"', **VARY}
    if status == 201:
        headers["Location"] = f"/v1/cases/{view.id}"
    return Response(case_text(view, lang), status, headers, "application/json")
