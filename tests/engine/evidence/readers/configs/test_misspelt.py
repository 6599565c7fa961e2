from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.evidence.normalise import Readings
from engine.evidence.readers.configs.misspelt import meant_by

KNOWN = ("gradient_accumulation_steps", "adam_beta2_decay", "per_device_train_batch_size", "warmup_steps")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gradient_acumulation_steps", "gradient_accumulation_steps"),
        ("gradient_accummulation_steps", "gradient_accumulation_steps"),
        ("per_devcie_train_batch_size", "per_device_train_batch_size"),
        ("per_device_trein_batch_size", "per_device_train_batch_size"),
        ("gradient_accumulation_step", None),
        ("adam_beta1_decay", None),
        ("per_device_eval_batch_size", None),
        ("gradient_accumulation_steps", None),
        ("warmpu_step", None),
        ("", None),
    ],
)
def test_one_slip(name: str, known: str | None) -> None:
    assert meant_by(name, KNOWN) == known


def test_a_slip_in_a_configuration_is_told(readings: Callable[[str], Readings]) -> None:
    text = "output_dir: o\nlearning_rate: 1e-4\ngradient_acumulation_steps: 8\nsome_other_option: 3\n"
    notes = readings(text).not_understood
    assert [one.where for one in notes] == ["file: gradient_acumulation_steps"]
    assert "gradient_accumulation_steps" in notes[0].why
