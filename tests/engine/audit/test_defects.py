"""Every gate fails on its defect and on nothing else; a healthy checkpoint fails none."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tests.engine.audit.defects as package
from engine.audit.decide import Auditor
from tests.engine.audit.given import Defect, Given, audited

MODULES = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
DEFECTS: list[Defect] = [defect for module in MODULES for defect in module.DEFECTS]
BUILDERS: list[Callable[[Path], Given]] = list(dict.fromkeys(defect.build for defect in DEFECTS))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: f"{d.gate}-{d.name or d.spoil.__name__}")
def test_a_defect_fails_its_gate_and_no_other(defect: Defect, tmp_path: Path, auditor: Auditor) -> None:
    given = defect.build(tmp_path)
    given = defect.spoil(given) or given
    gates = {gate.id: gate for gate in audited(auditor, given).gates}
    failing = {id_: gate for id_, gate in gates.items() if gate.status == "fail"}
    assert defect.gate in failing, f"{gates[defect.gate].status}: {gates[defect.gate].because}"
    assert {id_ for id_, gate in failing.items() if gate.root} == {defect.gate}
    assert set(failing) - {defect.gate} <= defect.also


@pytest.mark.parametrize("build", BUILDERS, ids=lambda b: b.__name__)
def test_a_healthy_checkpoint_fails_no_gate(build: Callable[[Path], Given], tmp_path: Path, auditor: Auditor) -> None:
    result = audited(auditor, build(tmp_path))
    assert [(g.id, g.observed, g.expected) for g in result.gates if g.status == "fail"] == []


def test_every_gate_has_a_defect(auditor: Auditor) -> None:
    assert {gate.id for gate in auditor.gates} - {defect.gate for defect in DEFECTS} == set()
