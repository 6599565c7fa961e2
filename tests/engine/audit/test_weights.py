"""Numbers of the weights just on the right side of every threshold, and what is no defect at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.audit.decide import Auditor
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.build.weights import Raw, edit_weights, f16
from tests.engine.audit.defects.weights import MATRIX, NORM, WEIGHTS, changed, deep_lm, half_lm, put
from tests.engine.audit.given import Given, audited


def fifth_of_rows(numbers: np.ndarray) -> np.ndarray:
    numbers[: len(numbers) // 5] = 0
    return numbers


@pytest.mark.parametrize(
    ("gate", "build", "spoil"),
    [
        ("f16-saturation", half_lm, changed(MATRIX, put(58_000, 0, 0), f16)),
        ("all-zero", causal_lm, changed(MATRIX, fifth_of_rows)),
        ("norm-degenerate", causal_lm, changed(NORM, put(0.002))),
        ("layer-profile", deep_lm, changed(MATRIX.replace(".1.", ".6."), lambda numbers: numbers * 3)),
        ("layer-profile", deep_lm, changed(MATRIX.replace(".1.", ".0."), lambda numbers: numbers * 9)),
    ],
)
def test_the_right_side_of_a_threshold_passes(
    gate: str, build: Callable[[Path], Given], spoil: Callable[[Given], None], tmp_path: Path, auditor: Auditor
) -> None:
    given = build(tmp_path)
    spoil(given)
    assert status(auditor, given, gate) == "pass"


def test_a_mask_buffer_may_hold_minus_infinity(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)

    def edit(tensors: dict[str, Raw]) -> None:
        tensors["model.causal_mask"] = Raw("F32", (2, 2), np.full(4, -np.inf, "<f4").tobytes())

    edit_weights(given.root / WEIGHTS, edit)
    assert status(auditor, given, "nonfinite") == "pass"


def test_norms_that_are_offsets_from_one_may_be_zero(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    changed(NORM, put(0.0))(given)
    given.edit_json("config.json", architectures=["Gemma2ForCausalLM"], model_type="gemma2")
    assert status(auditor, given, "norm-degenerate") == "pass"


def test_without_the_base_nothing_is_said_of_what_changed(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    alone = Given(given.root, {k: v for k, v in given.intent.items() if k != "base_reference"})
    assert status(auditor, alone, "unchanged-from-base") == "not_enough_evidence"


def test_a_cut_file_is_no_evidence_about_its_numbers(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    file = given.root / WEIGHTS
    file.write_bytes(file.read_bytes()[:200])
    assert status(auditor, given, "nonfinite") in ("not_enough_evidence", "not_applicable")


def status(auditor: Auditor, given: Given, gate: str) -> str:
    return next(g.status for g in audited(auditor, given).gates if g.id == f"weights/{gate}")
