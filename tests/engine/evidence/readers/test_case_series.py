from __future__ import annotations

import math

import pytest

from engine.evidence.readers import canonical, series_from_case


@pytest.mark.parametrize(
    ("name", "known", "scale"),
    [
        ("train_loss", "loss", 1),
        ("lm loss", "loss", 1),
        ("lm-loss", "loss", 1),
        ("lm_loss_second_attempt", "loss", 1),
        ("val_loss", "eval_loss", 1),
        ("lr", "learning_rate", 1),
        ("gnorm", "grad_norm", 1),
        ("Grad Norm", "grad_norm", 1),
        ("it/s", "steps_per_second", 1),
        ("seconds_per_iteration", "step_time", 1),
        ("s/it", "step_time", 1),
        ("elapsed time per iteration (ms)", "step_time", 1e-3),
        ("step_time_ms", "step_time", 1e-3),
        ("gpu_util", "gpu_utilisation", 1),
        ("mem (GiB)", "gpu_memory_used", 2**30),
        ("tokens/sec/GPU", "tokens_per_second", 1),
        ("throughput per GPU (TFLOP/s/GPU)", "tflops", 1),
        ("number of naniterations", "nan_steps", 1),
    ],
)
def test_names_of_the_tools(name, known, scale):
    found = canonical(name)
    assert (found.name, found.scale, found.known) == (known, scale, True)


@pytest.mark.parametrize(
    "name", ["initial_loss", "loss_step100", "loss_after_fix_20_steps", "num_tokens", "grad_accum"]
)
def test_other_quantities_keep_their_name(name):
    assert canonical(name).name == name
    assert not canonical(name).known


def test_values_as_people_write_them():
    series, remarks = series_from_case(
        [
            {"name": "train loss", "steps": [1, 2, 3, 4, 5], "values": [6.4, "nan", "inf", None, "3+"]},
            {"name": "step time", "unit": "ms", "values": "100, 200"},
            {"name": "eval_f1", "values": 0.5},
        ]
    )
    loss, time, score = series
    assert (loss.name, loss.steps.tolist()) == ("loss", [1, 2, 3, 5])  # null is a gap
    assert loss.values[0] == 6.4
    assert math.isnan(loss.values[1])
    assert math.isinf(loss.values[2])
    assert loss.values[3] == 3.0
    assert time.values.tolist() == [0.1, 0.2]
    assert time.unit == "s"
    assert (score.name, score.values.tolist()) == ("eval_f1", [0.5])
    assert remarks == []


def test_what_is_not_understood_is_said():
    series, remarks = series_from_case(
        [
            {"values": [1]},
            {"name": "x", "values": []},
            {"name": "loss", "values": [1, 2], "steps": [1]},
            {"name": "foo", "values": ["bar", 1]},
            "odd",
        ]  # type: ignore[list-item]
    )
    assert [one.name for one in series] == ["loss", "foo"]
    assert series[0].steps.tolist() == [1, 2]
    text = " ".join(remarks)
    for word in ("wants an object", "has no values", "steps do not match", "no metric known", "'bar' is no number"):
        assert word in text
