"""What blocks comes first, a failure stands with what it explains, and no gate is lost or told twice."""

from __future__ import annotations

from api.reports.outline import outline
from tests.api.reports.results import GATES, gate, result


def test_order() -> None:
    lines = outline(result())
    assert [failure.gate.id for failure in lines.failures] == ["container/st-file-length", "template/tmpl-renders"]
    assert [other.id for other in lines.failures[0].consequences] == ["names/tensors-present"]
    assert [g.id for g in lines.lacking] == ["evaluation/eval-target"]
    assert [g.id for g in lines.open] == ["evaluation/contamination"]


def test_every_gate_stands_once() -> None:
    lines = outline(result())
    told = [g for f in lines.failures for g in (f.gate, *f.consequences)]
    told += [*lines.lacking, *lines.waived, *lines.open, *lines.passed, *lines.outside]
    assert sorted(g.id for g in told) == sorted(g.id for g in GATES)


def test_gates_of_one_severity_keep_their_order() -> None:
    gates = tuple(gate(f"config/{name}", "fail") for name in ("b", "a", "c"))
    assert [failure.gate.id for failure in outline(result(gates)).failures] == ["config/b", "config/a", "config/c"]
