"""Result files in the form of the tools, written here."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO

import pytest

from engine.evidence.readers.lines import Limits
from engine.evidence.readers.results import FORMATS
from engine.evidence.readers.results.scores import Evaluation
from engine.evidence.series import RunRecord


def read_result(content: object, label: str = "results.json") -> RunRecord:
    """Read by the first format that recognises; ``content`` is text, or an object to be written as JSON."""
    data = (content if isinstance(content, str) else json.dumps(content)).encode()
    reader = next(one for one in FORMATS if one.recognises(data[:65536]))
    return reader.read(BytesIO(data), label, Limits())


@pytest.fixture
def result() -> Callable[..., RunRecord]:
    return read_result


@pytest.fixture
def evaluation() -> Callable[..., Evaluation]:
    def get(content: object, label: str = "results.json") -> Evaluation:
        found = read_result(content, label).evaluation
        assert isinstance(found, Evaluation)
        return found

    return get


@pytest.fixture
def said() -> Callable[[RunRecord], dict[str, object]]:
    """Return facts with their values, findings with their states."""

    def get(record: RunRecord) -> dict[str, object]:
        return {
            getattr(one, "fact", None) or getattr(one, "finding", ""): getattr(one, "value", None)
            if hasattr(one, "fact")
            else getattr(one, "state", None)
            for one in record.readings
        }

    return get
