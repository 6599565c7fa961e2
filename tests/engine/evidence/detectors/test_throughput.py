"""Single stalls, the share of evaluations, regular pauses that cost something, and the clock as a last resort."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext


def test_one_long_stall(rng, healthy, one, facts):
    run = healthy(rng)
    time = run["step_time"].values.copy()
    time[150] += 200
    assert facts(run | {"step_time": one("step_time", time)})["step_time.stall_s"] == pytest.approx(200, abs=1)
    assert "step_time.stall_s" not in facts(run)
    time[20:200:10] += 200  # many are no single stall
    assert "step_time.stall_s" not in facts(run | {"step_time": one("step_time", time)})


@pytest.mark.parametrize(("seconds", "share"), [(10.0, 0.02), (300.0, 0.6)])
def test_share_of_evaluations(healthy, one, facts, seconds, share):
    runtime = one("eval_runtime", [seconds] * 8, steps=np.arange(1, 9) * 370.0)
    told = facts([runtime], DetectContext(run_seconds=4000.0))
    assert told["eval.time_share"] == pytest.approx(share)
    rng = np.random.default_rng(0)
    worked_out = facts(healthy(rng) | {"eval_runtime": runtime})
    assert worked_out["eval.time_share"] == pytest.approx(8 * seconds / (8 * seconds + 1.5 * 2990), rel=0.02)
    assert "eval.time_share" not in facts([runtime])


def test_pauses_that_cost_nothing_are_no_pauses(rng, healthy, one, facts):
    run = healthy(rng)
    time = np.abs(0.030 + rng.normal(0, 0.0003, 300))
    time[24::25] = 0.045
    assert facts(run | {"step_time": one("step_time", time)})["step_time.periodic"] is False


def test_the_clock_of_the_records_gives_the_step_time(rng, one, facts):
    steps = np.arange(1, 101) * 100.0
    seconds = np.concatenate([np.full(50, 13.0), [184.0], np.full(48, 27.0)])
    clock = 1.7e9 + np.concatenate([[0.0], np.cumsum(seconds + rng.normal(0, 0.05, 99))])
    found = facts([one("loss", np.linspace(10, 4, 100), steps=steps), one("wall_time", clock, steps=steps)])
    assert found["throughput.cliff"] is True
    assert found["throughput.drop_ratio"] == pytest.approx(0.52, abs=0.03)
    assert found["step_time.stall_s"] == pytest.approx(184 - 13, abs=1)
    milliseconds = facts([one("timestamp", clock * 1000, steps=steps)])
    assert milliseconds["step_time.mean"] == pytest.approx(found["step_time.mean"])


def test_utilisation_in_percent_or_as_a_share(rng, healthy, one, facts):
    run = healthy(rng)
    percent = facts(run)["gpu.util_mean"]
    share = facts(run | {"gpu_utilisation": one("gpu_utilisation", run["gpu_utilisation"].values / 100)})
    assert share["gpu.util_mean"] == pytest.approx(percent)
    assert 0.9 < percent < 1
