"""What the machine readers say, as plain values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.evidence.series import RunRecord
from engine.model.evidence import FactReading, FindingReading


@pytest.fixture
def facts() -> Callable[[RunRecord], dict[str, object]]:
    def get(record: RunRecord) -> dict[str, object]:
        return {one.fact: one.value for one in record.readings if isinstance(one, FactReading)}

    return get


@pytest.fixture
def findings() -> Callable[[RunRecord], list[str]]:
    def get(record: RunRecord) -> list[str]:
        return [one.finding for one in record.readings if isinstance(one, FindingReading)]

    return get


@pytest.fixture
def place() -> Callable[[RunRecord, str], str]:
    def get(record: RunRecord, name: str) -> str:
        return next(
            one.source.where
            for one in record.readings
            if (one.fact if isinstance(one, FactReading) else one.finding) == name
        )

    return get
