"""``/v1/diagnoses``: a case in, ranked causes and next checks out."""

from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from api.access import Scope, needs
from api.described import POST_PROBLEMS, REPLAY_HEADER, case_body, problems
from api.exchange import LangParameters, answer_data, expert_of
from api.idempotency import IdempotentRoute
from api.submission import receive
from engine.model.diagnosis import Diagnosis, WhyNotOut
from engine.model.kb import CauseId

router = APIRouter(
    prefix="/v1/diagnoses", tags=["diagnoses"], route_class=IdempotentRoute, dependencies=[needs(Scope.DIAGNOSE)]
)

EXAMPLE_CASE = MappingProxyType(
    {
        "paradigm": "pretrain",
        "report": "The loss became NaN at step 4120, some steps after the loss scale had fallen to 1. "
        "The same data trains without trouble in bf16.",
        "observations": [{"name": "precision", "value": "fp16"}, {"name": "grad_norm", "value": "inf"}],
        "series": [{"name": "loss_scale", "steps": [4090, 4100, 4110, 4120], "values": [64, 8, 2, 1]}],
        "log": ["step 4110 | loss 2.31 | grad norm 41.7", "step 4120 | loss nan | grad norm inf"],
    }
)
_CASE_PROBLEMS = ("empty-case", "bad-multipart", "not-ready", "busy", "reading-timeout", *POST_PROBLEMS)
_BODY: dict[str, Any] = {"requestBody": case_body(dict(EXAMPLE_CASE))}


class DiagnosisParameters(LangParameters):
    """Query parameters of a diagnosis."""

    limit: int = Field(10, ge=1, le=50, description="Most causes to name.")


class WhyNotParameters(LangParameters):
    """Query parameters of the question why a cause does not lead."""

    cause: CauseId = Field(description="Id of the cause asked about, as in /v1/causes.")


@router.post(
    "",
    operation_id="create_diagnosis",
    summary="Diagnose a case",
    response_model=Diagnosis,
    responses={200: {"headers": REPLAY_HEADER}, **problems(*_CASE_PROBLEMS)},
    openapi_extra=_BODY,
)
async def create_diagnosis(
    request: Request,
    query: Annotated[DiagnosisParameters, Query()],
) -> Response:
    """Rank the causes that explain what was sent, with the evidence for and against each and the next checks.

    Everything is optional, but something must be there: a report in your own words, numbers, log lines, series,
    file fragments. Send large logs and metrics as `files` of a multipart body. Nothing is kept, unless the request
    carries an Idempotency-Key: then its answer is.
    """
    lang = query.chosen(request)
    async with receive(request) as submission:
        return answer_data(await expert_of(request).diagnose(submission, lang, query.limit), lang)


@router.post(
    "/why-not",
    operation_id="explain_why_not",
    summary="Ask why a cause does not lead",
    response_model=WhyNotOut,
    responses={200: {"headers": REPLAY_HEADER}, **problems("unknown-id", *_CASE_PROBLEMS)},
    openapi_extra=_BODY,
)
async def explain_why_not(
    request: Request,
    query: Annotated[WhyNotParameters, Query()],
) -> Response:
    """For the same case and one cause: what is missing for it, what speaks against it, and what would bring it up."""
    lang = query.chosen(request)
    async with receive(request) as submission:
        return answer_data(await expert_of(request).why_not(submission, query.cause, lang), lang)
