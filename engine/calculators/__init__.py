"""Arithmetic that needs no diagnosis: tokens per update and static training memory."""

from engine.calculators.memory import HEADROOM, MemoryRequest, MemoryResult, parse_parameters, training_memory
from engine.calculators.state import static_bytes_per_card
from engine.calculators.tokens import (
    TokensRequest,
    TokensResult,
    data_parallel,
    input_tokens_per_update,
    tokens_per_update,
)

__all__ = [
    "HEADROOM",
    "MemoryRequest",
    "MemoryResult",
    "TokensRequest",
    "TokensResult",
    "data_parallel",
    "input_tokens_per_update",
    "parse_parameters",
    "static_bytes_per_card",
    "tokens_per_update",
    "training_memory",
]
