"""Healthy runs that look ill in one respect: nothing abnormal may be stated."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext
from engine.evidence.series import Series


@pytest.mark.parametrize(
    ("sigma", "first", "count"), [(0.02, 10.8, 300), (0.06, 2.2, 200), (0.02, 11.0, 40), (0.02, 3.0, 3000)]
)
def test_ordinary_run(rng, healthy, facts, alarms, sigma, first, count):
    found = facts(healthy(rng, count, sigma, first))
    assert alarms(found) == []
    assert found["loss.falling"] is True
    for fact in ("loss.nan", "loss.spike", "loss.diverging", "grad_norm.nan", "lr.zero"):
        assert found[fact] is False


def test_noise_of_batch_two(rng, one, facts, alarms):
    # improves by a quarter under noise of 40 %
    trend = np.linspace(2.0, 1.5, 600)
    found = facts(
        [one("loss", trend * np.exp(rng.normal(0, 0.4, 600))), one("grad_norm", np.exp(rng.normal(0, 0.6, 600)))]
    )
    assert alarms(found) == []


def test_warmup_stable_decay(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    rate = np.concatenate([np.linspace(0, 3e-4, 20), np.full(220, 3e-4), np.linspace(3e-4, 0, 60)])
    # the loss is nearly flat on the stable stretch and falls in the decay
    level = np.concatenate([np.linspace(10, 3.2, 40), np.linspace(3.2, 2.9, 200), np.linspace(2.9, 2.5, 60)])
    run["learning_rate"] = one("learning_rate", rate)
    run["loss"] = one("loss", level * np.exp(rng.normal(0, 0.01, 300)))
    assert alarms(facts(run)) == []


def test_resumed_run_repeats_100_steps(rng, healthy, facts, alarms):
    run = healthy(rng)
    again = {}
    for name, full in run.items():
        first, second = full.steps <= 1500, full.steps > 1400
        again[name] = Series(
            name,
            np.concatenate([full.steps[first], full.steps[second]]),
            np.concatenate([full.values[first], full.values[second]]),
            origin="run",
        )
    found = facts(again)
    assert alarms(found) == []
    assert found["run.resumed"] is True
    assert found["run.loss_jumps"] is False


def test_scale_search_at_the_start_of_fp16(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    halvings = 2.0 ** np.arange(32, 15, -1)
    scale = np.concatenate([halvings, np.full(283, 2.0**16)])
    skipped = np.concatenate([np.ones(17), np.zeros(283)])
    rate = np.concatenate([np.zeros(17), np.linspace(1e-5, 3e-4, 30), np.full(253, 3e-4)])
    run |= {"loss_scale": one("loss_scale", scale, 1.0), "skipped_steps": one("skipped_steps", skipped, 1.0)}
    run["learning_rate"] = one("learning_rate", rate, 1.0)
    run["grad_norm"] = one("grad_norm", np.where(np.isin(np.arange(300), [60, 150, 250]), np.inf, 0.5), 1.0)
    found = facts(run)
    assert alarms(found) == []
    assert found["amp.startup_search"] is True
    assert found["amp.skipped_share"] == 0.0


def test_evaluation_inside_the_step_time(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    time = run["step_time"].values.copy()
    time[29::30] *= 9  # nanoGPT counts the evaluation into the step
    run["step_time"] = one("step_time", time)
    run["eval_loss"] = one("eval_loss", np.linspace(9, 3.2, 10), steps=np.arange(300, 3001, 300))
    found = facts(run)
    assert alarms(found) == []
    assert found["step_time.outlier_ratio"] < 1.3


def test_stairs_at_epochs(rng, one, facts, alarms):
    level = np.repeat([1.4, 0.9, 0.55, 0.4], 40)
    loss = one("loss", level * np.exp(rng.normal(0, 0.03, 160)))
    found = facts([loss, one("epoch", np.arange(1, 161) / 40)])
    assert alarms(found) == []
    assert found["loss.drop_at_epoch"] is True


def test_last_learning_rate_is_zero(rng, healthy, facts, alarms):
    run = healthy(rng)
    assert run["learning_rate"].values[-1] == 0.0
    found = facts(run)
    assert alarms(found) == []
    assert found["lr.last"] == 0.0


def test_constant_learning_rate_is_a_schedule(rng, healthy, one, facts):
    run = healthy(rng)
    run["learning_rate"] = one("learning_rate", np.full(300, 1e-5))
    assert "lr.frozen" not in facts(run)


def test_single_gradient_spikes_without_effect(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    norm = run["grad_norm"].values.copy()
    norm[[90, 170, 240]] *= 40
    run["grad_norm"] = one("grad_norm", norm)
    found = facts(run)
    assert alarms(found) == []
    assert found["grad_norm.ratio"] > 10


def test_startup_bump_of_the_loss_recovers(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    loss = run["loss"].values.copy()
    loss[4:10] *= [1.5, 3, 6, 4, 2, 1.2]
    run["loss"] = one("loss", loss)
    assert alarms(facts(run)) == []


def test_kto_starts_at_one_half_and_policy_loss_is_near_zero(rng, one, facts, alarms):
    assert alarms(facts([one("loss", [0.5, 0.5006, 0.4995, 0.4989, 0.4944, 0.48, 0.46, 0.44])])) == []
    policy = [one("loss", np.abs(rng.normal(0, 0.001, 50))), one("reward", rng.normal(1, 0.1, 50))]
    assert alarms(facts(policy)) == []
    assert alarms(facts(policy[:1], DetectContext(paradigm="rlhf"))) == []


def test_mature_excerpt_of_five_records(one, facts, alarms):
    found = facts(
        [
            one("loss", [2.117, 2.116, 2.110, 2.124, 2.119], 1.0),
            one("step_time", [105.2, 105.1, 106.2, 105.3, 105.2], 1.0),
        ]
    )
    assert alarms(found) == []


@pytest.mark.parametrize("count", [8, 15, 40])
def test_flat_excerpt_of_a_late_stretch(rng, one, facts, alarms, count):
    steps = 50_000 + np.arange(count) * 10
    found = facts([one("loss", 2.1 * np.exp(rng.normal(0, 0.003, count)), steps=steps)])
    assert alarms(found) == []
    assert "loss.falling" not in found
    # the same numbers from the beginning of a run are a loss that is stuck
    stuck = facts([one("loss", 2.1 * np.exp(rng.normal(0, 0.003, 40)), steps=np.arange(1, 41) * 10)])
    assert (stuck["loss.plateau"], stuck["loss.falling"]) == (True, False)


def test_batch_ramp_is_no_slowdown(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    batch = np.repeat([256.0, 512.0, 1024.0], 100)
    run["step_time"] = one("step_time", batch / 256 * 1.5 * np.exp(rng.normal(0, 0.01, 300)))
    run["global_batch"] = one("global_batch", batch)
    run["samples_per_second"] = one("samples_per_second", 170 * np.exp(rng.normal(0, 0.01, 300)))
    assert "throughput.cliff" not in alarms(facts(run))


def test_allocator_cache_fills_once(rng, healthy, one, facts, alarms):
    run = healthy(rng)
    run["gpu_memory_used"] = one("gpu_memory_used", 6e10 * (1 - 0.3 * np.exp(-np.arange(300) / 15)))
    assert alarms(facts(run)) == []


def test_nothing_is_said_of_nothing(facts, one):
    assert facts([]) == {}
    assert facts([one("loss", [])]) == {}
    assert facts([one("loss", [2.0])]) == {"loss.first": 2.0, "loss.last": 2.0, "loss.min": 2.0}
