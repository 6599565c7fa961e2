"""The models become the API's documentation, so every field explains itself."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from engine.calculators.memory import ComponentMemory, MemoryRequest, MemoryResult, ModeMemory
from engine.calculators.tokens import Reading, TokenFigures, TokensRequest, TokensResult

MODELS = [
    MemoryRequest,
    MemoryResult,
    ModeMemory,
    ComponentMemory,
    TokensRequest,
    TokensResult,
    TokenFigures,
    Reading,
]


@pytest.mark.parametrize("model", MODELS)
def test_every_field_is_described(model: type[BaseModel]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []
    properties = model.model_json_schema()["properties"]
    assert [name for name, schema in properties.items() if not schema.get("description")] == []


def test_requests_are_frozen() -> None:
    request = MemoryRequest.model_validate({"parameters": "7B", "gpus": 8})
    with pytest.raises(ValidationError, match="frozen"):
        request.gpus = 4  # type: ignore[misc]
