"""``/v1/calculators``: arithmetic that needs no diagnosis."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from api.access import Scope, needs
from api.described import POST_PROBLEMS, REPLAY_HEADER, json_or_yaml, problems
from api.exchange import LangParameters, answer_texts
from api.idempotency import IdempotentRoute
from api.submission import read_model
from engine.calculators.memory import MemoryRequest, MemoryResult, training_memory
from engine.calculators.tokens import TokensRequest, TokensResult, tokens_per_update

router = APIRouter(
    prefix="/v1/calculators",
    tags=["calculators"],
    route_class=IdempotentRoute,
    dependencies=[needs(Scope.KNOWLEDGE_READ)],
)
_RESPONSES = {200: {"headers": REPLAY_HEADER}, **problems(*POST_PROBLEMS)}
_TOKENS_EXAMPLE = {"world_size": 64, "tensor_parallel": 2, "microbatch": 4, "sequence_length": 4096, "accumulation": 8}
_MEMORY_EXAMPLE = {"parameters": "7B", "gpus": 8, "mode": "zero2", "card_memory_gb": 80}


@router.post(
    "/tokens-per-update",
    operation_id="calculate_tokens_per_update",
    summary="Tokens per optimizer update",
    response_model=TokensResult,
    responses=_RESPONSES,
    openapi_extra={"requestBody": json_or_yaml("TokensRequest", _TOKENS_EXAMPLE)},
)
async def calculate_tokens_per_update(
    request: Request,
    query: Annotated[LangParameters, Query()],
) -> Response:
    """Samples and tokens of one update, from the sizes of the run; asks back if "batch size" is ambiguous."""
    result = tokens_per_update(await read_model(request, TokensRequest))
    return answer_texts(result, query.chosen(request))


@router.post(
    "/training-memory",
    operation_id="calculate_training_memory",
    summary="Static training memory of a card",
    response_model=MemoryResult,
    responses=_RESPONSES,
    openapi_extra={"requestBody": json_or_yaml("MemoryRequest", _MEMORY_EXAMPLE)},
)
async def calculate_training_memory(
    request: Request,
    query: Annotated[LangParameters, Query()],
) -> Response:
    """Weights, gradients, master copy and optimizer state a card holds under DP, ZeRO or FSDP, and whether they fit."""
    result = training_memory(await read_model(request, MemoryRequest))
    return answer_texts(result, query.chosen(request))
