"""Small configurations in the syntax of the tools, written here."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import pytest

from engine.evidence.configuration import read_config
from engine.evidence.normalise import Readings
from engine.evidence.readers.configs import FORMATS
from engine.evidence.readers.lines import Limits
from engine.evidence.series import RunRecord
from engine.evidence.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def vocabulary(real_vocabulary: Vocabulary) -> Vocabulary:
    return real_vocabulary


def record_of(text: str) -> RunRecord:
    data = text.encode()
    reader = next(one for one in FORMATS if one.recognises(data[:65536]))
    return reader.read(BytesIO(data), "file", Limits())


@pytest.fixture
def record() -> Callable[[str], RunRecord]:
    return record_of


@pytest.fixture
def readings(vocabulary: Vocabulary) -> Callable[[str], Readings]:
    return lambda text: read_config("file", record_of(text).config, vocabulary)


@pytest.fixture
def facts(readings: Callable[[str], Readings]) -> Callable[[str], dict[str, object]]:
    """Return facts by id, those included that are held back until there is a symptom."""

    def get(text: str) -> dict[str, object]:
        read = readings(text)
        return {one.fact: one.value for one in [*read.facts, *read.held]}

    return get
