from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.audit.decide import Auditor
from engine.knowledge.load import load_knowledge


@pytest.fixture(scope="session")
def auditor() -> Iterator[Auditor]:
    auditor = Auditor(load_knowledge())
    yield auditor
    auditor.close()
