"""The public way in: files to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.diagnose import Diagnoser, EvidenceFile
from engine.model.case import Case
from engine.model.diagnosis import Diagnosis


@pytest.fixture
def diagnose(diagnoser: Diagnoser) -> Callable[..., Diagnosis]:
    """Return a function from (name, content) of each file to the diagnosis."""

    def answer(*files: tuple[str, bytes]) -> Diagnosis:
        return diagnoser.diagnose(Case(), [EvidenceFile(name, data=content) for name, content in files])

    return answer
