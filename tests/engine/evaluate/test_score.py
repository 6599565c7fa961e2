"""Scores on hand-made results, where the right figures can be worked out on paper."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from engine.evaluate.fit import FOLDS, GRID, Example, Outcome, fit, summary
from engine.evaluate.score import Graded, Incident, by, expected_calibration_error, figures, load_incidents
from engine.evidence.case_file import CaseError
from engine.inference.rank import Known
from engine.knowledge.knowledge import Knowledge
from engine.model.case import Case


def graded(rank: int, top: float, family: str = "a", abstained: bool = False) -> Graded:
    incident = Incident("x", Case(report="x"), family, "easy")
    return Graded(incident, rank, top, top if rank == 1 else 0.0, abstained, rank > 0, family)


def test_figures_by_hand() -> None:
    result = figures([graded(1, 0.9), graded(2, 0.6), graded(0, 0.5, abstained=True), graded(4, 0.3)])
    assert (result.count, result.top1, result.top3, result.abstained, result.silent) == (4, 0.25, 0.5, 0.25, 0.25)
    assert result.mrr == pytest.approx((1 + 1 / 2 + 0 + 1 / 4) / 4)
    assert result.brier == pytest.approx((0.1**2 + 0.6**2 + 0.5**2 + 0.3**2) / 4)


def test_calibration_error_by_hand() -> None:
    top = np.array([0.95, 0.95, 0.15, 0.15])
    right = np.array([1.0, 0.0, 0.0, 0.0])
    assert expected_calibration_error(top, right) == pytest.approx(0.45 / 2 + 0.15 / 2)
    assert expected_calibration_error(np.array([1.0]), np.array([1.0])) == 0.0


def test_groups_are_scored_apart() -> None:
    rows = by([graded(1, 0.9, "b"), graded(0, 0.9, "a")], lambda g: g.incident.family)
    assert list(rows) == ["a", "b"]
    assert (rows["a"].top1, rows["b"].top1) == (0.0, 1.0)


@pytest.mark.parametrize("text", ["case: {report: x}", "truth: 3\ncase: {report: x}", "- 1"])
def test_an_incident_without_truth_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(CaseError, match=r"bad\.yaml"):
        load_incidents(tmp_path)


def test_summary_by_hand() -> None:
    result = summary([Outcome(0.5, 0.5, True), Outcome(0.0, 0.8, False)])
    assert result["top1"] == 0.5
    assert result["brier"] == pytest.approx((0.25 + 0.64) / 2)
    assert result["log_loss"] == pytest.approx((-math.log(0.5) - math.log(1e-3)) / 2)


def test_fit_needs_enough_and_keeps_families_in_one_fold(knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.evaluate.fit.GRID", {name: values[:2] for name, values in GRID.items()})
    with pytest.raises(ValueError, match=r"at least 20"):
        fit([], knowledge)
    families = sorted({cause.family for cause in knowledge.active_causes.values()})[:24]
    examples = [Example(family, family, (Known("loss.nan", True, "measured"),), None) for family in families]
    assert len({example.fold for example in examples}) == FOLDS
    result = fit(examples, knowledge)
    assert result.count == len(families)
    assert result.held_out["log_loss"] >= 0
    assert set(result.chosen) == {"damping", "temperature", "known_share"}
