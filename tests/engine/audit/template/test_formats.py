"""Templates of several families, as they are meant to be, fail no gate; how a rendering is limited."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.audit.decide import Auditor
from tests.engine.audit.build.chat import HEALTHY_TEMPLATES, close_at_next_role_lm, in_format
from tests.engine.audit.given import Given, audited

BUILDERS = [*map(in_format, HEALTHY_TEMPLATES), close_at_next_role_lm]


@pytest.mark.parametrize("build", BUILDERS, ids=lambda b: b.__name__)
def test_a_healthy_format_fails_no_gate(build: object, tmp_path: Path, auditor: Auditor) -> None:
    given: Given = build(tmp_path)  # type: ignore[operator]
    result = audited(auditor, given)
    assert [(g.id, g.observed, g.expected) for g in result.gates if g.status == "fail"] == []
    undecided = {g.id: g.because for g in result.gates if g.status == "not_enough_evidence"}
    assert [(id_, why) for id_, why in undecided.items() if id_.startswith("template/")] == []
