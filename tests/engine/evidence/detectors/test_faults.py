"""Faults as the series show them; each threshold is held from both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext


def test_nan_at_a_step(rng, healthy, one, facts):
    run = healthy(rng)
    loss = run["loss"].values.copy()
    loss[120:] = np.nan
    found = facts(run | {"loss": one("loss", loss)})
    assert found["loss.nan"] is True
    assert found["loss.nan_step"] == 1210
    assert found["loss.recovered_after_nan"] is False
    assert found["loss.zero_filtered"] is False


def test_nan_that_recovers_and_infinity(rng, healthy, one, facts):
    run = healthy(rng)
    loss = run["loss"].values.copy()
    loss[120:123] = np.inf
    found = facts(run | {"loss": one("loss", loss)})
    assert (found["loss.nan"], found["loss.recovered_after_nan"]) == (True, True)


def test_zeros_hide_nan_where_the_gradient_norm_says_so(one, facts):
    found = facts(
        [
            one("loss", [1.2, 0.0, 0.0, 0.0]),
            one("grad_norm", [1.0, np.nan, np.nan, np.nan]),
            one("learning_rate", [1e-5] * 4),
        ]
    )
    assert found["loss.nan"] is True
    assert found["loss.zero_filtered"] is True
    assert found["loss.nan_step"] == 20
    assert found["lr.frozen"] is True
    assert found.get("loss.near_zero") is not True
    zeros = facts([one("loss", [0.0, 0.0])])
    assert zeros["loss.near_zero"] is True
    assert "loss.zero_filtered" not in zeros


def test_counter_of_nan_iterations(one, facts):
    found = facts([one("loss", [3.0, 2.9, 2.8, 2.7]), one("nan_steps", [0, 0, 2, 0])])
    assert (found["loss.nan"], found["loss.nan_step"]) == (True, 30)


def test_evaluation_loss_alone_is_nan(rng, healthy, one, facts):
    run = healthy(rng)
    run["eval_loss"] = one("eval_loss", [np.nan] * 4, steps=[100, 200, 300, 400])
    found = facts(run)
    assert (found["eval_loss.nan"], found["eval_loss.nan_only"]) == (True, True)
    both = facts([one("loss", [np.nan] * 4), run["eval_loss"]])
    assert (both["eval_loss.nan"], both["eval_loss.nan_only"]) == (True, False)


@pytest.mark.parametrize(("factor", "spike"), [(1.15, False), (1.4, True), (3.0, True)])
def test_spike_that_recovers(rng, healthy, one, facts, factor, spike):
    run = healthy(rng, sigma=0.01)
    loss = run["loss"].values.copy()
    loss[200:203] *= factor
    found = facts(run | {"loss": one("loss", loss)})
    assert found["loss.spike"] is spike
    if spike:
        assert found["loss.spike_step"] == 2010
        assert found["loss.spike_recovered"] is True
        assert found["loss.spike_count"] == 1
        assert found["loss.spike_ratio"] == pytest.approx(factor, rel=0.1)
    assert found["loss.diverging"] is False


def test_spike_that_does_not_recover(rng, healthy, one, facts):
    run = healthy(rng)
    loss = run["loss"].values.copy()
    loss[200:] = 7.5 * np.exp(rng.normal(0, 0.02, 100))
    norm = run["grad_norm"].values.copy()
    norm[197:] *= 30
    evals = [9, 6, 4.5, 3.8, 3.5, 7.6, 7.5, 7.6]
    run |= {"loss": one("loss", loss), "grad_norm": one("grad_norm", norm)}
    run["eval_loss"] = one("eval_loss", evals, steps=np.arange(1, 9) * 375)
    found = facts(run)
    assert (found["loss.spike"], found["loss.spike_recovered"], found["loss.diverging"]) == (True, False, True)
    assert (found["grad_norm.exploding"], found["grad_norm.leads_loss"]) == (True, True)
    assert "eval_loss.rising" not in found  # the training loss rose as well: no overfitting


def test_gradient_norm_that_follows(rng, healthy, one, facts):
    run = healthy(rng)
    loss, norm = run["loss"].values.copy(), run["grad_norm"].values.copy()
    loss[200:206] *= 2.5
    norm[202:206] *= 30
    found = facts(run | {"loss": one("loss", loss), "grad_norm": one("grad_norm", norm)})
    assert found["grad_norm.leads_loss"] is False


@pytest.mark.parametrize(
    ("values", "diverging"), [([6.4, 6.6, 7.3, 9.1, 10.2], True), ([6.4, 6.5, 6.6, 6.8, 7.0], False)]
)
def test_divergence_in_an_excerpt(one, facts, values, diverging):
    assert facts([one("loss", values)])["loss.diverging"] is diverging


def test_slow_divergence_without_a_jump(rng, one, facts):
    loss = np.concatenate([np.linspace(10, 3, 100), np.linspace(3, 7.5, 100)]) * np.exp(rng.normal(0, 0.02, 200))
    found = facts([one("loss", loss)])
    assert (found["loss.diverging"], found["loss.spike"]) == (True, False)


def test_spike_at_the_end_of_the_warmup(one, facts):
    loss = [7.0, 6.9, 6.8, 6.7, 6.6, 6.5, 6.5, 11.4, 11.2, 11.0, 10.8]
    rate = [1e-5, 2e-5, 3e-5, 4e-5, 5e-5, 6e-5, 6e-5, 6e-5, 6e-5, 6e-5, 6e-5]
    found = facts([one("loss", loss), one("learning_rate", rate)])
    assert found["lr.spike_at_peak"] is True
    late = facts([one("loss", loss), one("learning_rate", rate)], DetectContext(warmup_steps=20))
    assert late["lr.spike_at_peak"] is False
    pair = facts([one("loss", [6.44, 11.42, 7.16]), one("grad_norm", [98e3, 219e3, 17e3])])
    assert pair["loss.spike"] is True
    assert "loss.spike" not in facts([one("loss", [6.44, 11.42, 7.16]), one("grad_norm", [98e3, 99e3, 17e3])])


def test_never_learns(rng, one, facts):
    loss = one("loss", math.log(50257) * np.exp(rng.normal(0, 0.003, 200)))
    found = facts([loss], DetectContext(vocabulary=50257))
    assert found["loss.plateau"] is True
    assert found["loss.plateau_ln_of"] == 50257
    assert found["loss.falling"] is False
    assert "loss.plateau_ln_of" not in facts([loss], DetectContext(vocabulary=32000))


def test_stuck_after_a_start(rng, one, facts):
    level = np.concatenate([np.linspace(10.8, 7.6, 40), np.full(160, 7.6)])
    found = facts([one("loss", level * np.exp(rng.normal(0, 0.004, 200)))])
    assert found["loss.plateau"] is True
    assert found["loss.plateau_value"] == pytest.approx(7.6, rel=0.01)


def test_evaluation_loss_at_ln_batch(one, facts):
    found = facts([one("eval_loss", [2.7725] * 4)], DetectContext(batch=16))
    assert (found["loss.plateau"], found["loss.plateau_ln_of"]) == (True, 16)
    assert facts([one("loss", [0.6931, 0.6935, 0.6928, 0.6932])])["loss.plateau_ln_of"] == 2


@pytest.mark.parametrize(("end", "near"), [(0.02, False), (0.0008, True)])
def test_loss_near_zero(rng, one, facts, end, near):
    loss = np.geomspace(3.0, end, 60) * np.exp(rng.normal(0, 0.05, 60))
    assert facts([one("loss", loss)])["loss.near_zero"] is near


@pytest.mark.parametrize(("rise", "overfit"), [(1.01, False), (1.3, True)])
def test_overfitting(rng, healthy, one, facts, rise, overfit):
    run = healthy(rng)
    run["eval_loss"] = one(
        "eval_loss", [3.0, 2.0, 1.6, 1.5, *np.linspace(1.5, 1.5 * rise, 5)], steps=np.arange(1, 10) * 300
    )
    assert facts(run)["eval_loss.rising"] is overfit


def test_gradient_norm_grows_until_nan(rng, healthy, one, facts):
    run = healthy(rng)
    loss, norm = run["loss"].values.copy(), run["grad_norm"].values.copy()
    norm[245:250] *= [5, 20, 80, 400, 2000]
    norm[250:], loss[250:] = np.nan, np.nan
    found = facts(run | {"loss": one("loss", loss), "grad_norm": one("grad_norm", norm)})
    assert (found["grad_norm.nan"], found["grad_norm.exploding"], found["grad_norm.leads_loss"]) == (True, True, True)
    assert found["loss.nan_step"] == 2510


@pytest.mark.parametrize(("level", "vanishing"), [(1e-9, True), (1e-4, False)])
def test_vanishing_gradient_norm(one, facts, level, vanishing):
    found = facts([one("grad_norm", [0.5] * 10 + [level] * 10)])
    assert found["grad_norm.vanishing"] is vanishing


def test_scale_collapses_to_its_floor(one, facts):
    scale = [65536.0] * 20 + list(2.0 ** np.arange(15, -1, -1)) + [1.0] * 4
    found = facts(
        [
            one("loss_scale", scale, 10.0, np.arange(5000, 5400, 10)),
            one("skipped_steps", [0] * 20 + [10] * 20, steps=np.arange(5000, 5400, 10)),
        ]
    )
    assert found["amp.scale_collapsed"] is True
    assert found["amp.loss_scale"] == 1.0
    assert found["amp.skipped_share"] == pytest.approx(0.5)


@pytest.mark.parametrize(("last", "collapsed"), [(16384, False), (4096, True)])
def test_scale_falls_within_a_few_records(one, facts, last, collapsed):
    scale = [32768, 32768, 65536, 32768, last, last, last]
    found = facts([one("loss_scale", scale, steps=np.arange(29020, 29090, 10))])
    assert found["amp.scale_collapsed"] is collapsed


def test_search_that_runs_to_the_floor_is_a_collapse(one, facts):
    found = facts([one("loss_scale", [*(2.0 ** np.arange(16, -1, -1)), 1, 1, 1], 1.0)])
    assert (found["amp.startup_search"], found["amp.scale_collapsed"]) == (True, True)


def test_learning_rate_zero_throughout_or_from_half_time(rng, healthy, one, facts):
    run = healthy(rng)
    rate = run["learning_rate"].values.copy()
    rate[150:] = 0.0
    assert facts(run | {"learning_rate": one("learning_rate", rate)})["lr.zero"] is True
    assert facts([one("learning_rate", [0.0, 0.0, 0.0])])["lr.zero"] is True
    assert facts([one("learning_rate", [0.0, 1e-5, 2e-5])])["lr.zero"] is False


def test_restart_of_the_schedule(one, facts):
    once = np.linspace(3e-4, 0, 20)
    assert facts([one("learning_rate", np.concatenate([once, once]))])["lr.restarted"] is True
    assert facts([one("learning_rate", np.concatenate([np.linspace(0, 3e-4, 5), once]))])["lr.restarted"] is False


@pytest.mark.parametrize(("factor", "cliff"), [(1.05, False), (1.25, True), (3.0, True)])
def test_speed_falls_and_stays(rng, healthy, one, facts, factor, cliff):
    run = healthy(rng)
    time = run["step_time"].values.copy()
    time[180:] *= factor
    found = facts(run | {"step_time": one("step_time", time)})
    assert found["throughput.cliff"] is cliff
    if cliff:
        assert found["throughput.drop_ratio"] == pytest.approx(1 - 1 / factor, abs=0.03)
        assert found["throughput.drift"] is False


def test_slow_node_in_an_excerpt(one, facts):
    assert facts([one("step_time", [105.16, 105.17, 106.25, 110.17, 111.14], 1.0)])["throughput.cliff"] is True
    assert facts([one("step_time", [105.16, 105.17, 106.25, 107.1, 106.9], 1.0)]).get("throughput.cliff") is not True


def test_speed_drifts(rng, healthy, one, facts):
    run = healthy(rng)
    run["step_time"] = one("step_time", np.linspace(1.5, 2.4, 300) * np.exp(rng.normal(0, 0.02, 300)))
    found = facts(run)
    assert (found["throughput.drift"], found["throughput.cliff"]) == (True, False)


@pytest.mark.parametrize(("shard", "match"), [(250.0, "shard"), (400.0, None)])
def test_regular_pauses(rng, healthy, one, facts, shard, match):
    run = healthy(rng)
    time = run["step_time"].values.copy()
    time[24::25] *= 4
    context = DetectContext(intervals={"shard": shard, "checkpoint": 1000.0, "logging": 10.0})
    found = facts(run | {"step_time": one("step_time", time)}, context)
    assert (found["step_time.periodic"], found["step_time.period"]) == (True, 250)
    assert found.get("step_time.dip_matches") == match
    assert found["step_time.outlier_ratio"] > 3


def test_random_pauses_have_no_period(healthy, one, facts):
    rng = np.random.default_rng(5)
    run = healthy(rng)
    time = run["step_time"].values.copy()
    time[[20, 33, 70, 150, 162, 240]] *= 4
    assert facts(run | {"step_time": one("step_time", time)})["step_time.periodic"] is False


def test_regular_dips_of_the_utilisation(rng, healthy, one, facts):
    run = healthy(rng)
    use = run["gpu_utilisation"].values.copy()
    for at in range(40, 300, 50):
        use[at : at + 3] = 15.0
    found = facts(run | {"gpu_utilisation": one("gpu_utilisation", use)})
    assert found["gpu.util_periodic_drop"] is True
    assert found["gpu.util_drop_period"] == pytest.approx(500 * 1.5, rel=0.01)  # 500 steps of 1.5 s
    assert found["gpu.util_min"] == 0.15
    assert 0.8 < found["gpu.util_mean"] < 0.95


def test_share_of_the_data_loader(one, facts):
    assert facts([one("dataloader_time", [0.6] * 5), one("step_time", [1.0] * 5)])["dataloader.share"] == pytest.approx(
        0.6
    )
    assert facts([one("batch_loading_share", [35.0, 36, 34])])["dataloader.share"] == pytest.approx(0.35)


@pytest.mark.parametrize(("growth", "rising"), [(1.04, False), (1.4, True)])
def test_memory_creeps(rng, healthy, one, facts, growth, rising):
    run = healthy(rng)
    run["gpu_memory_used"] = one("gpu_memory_used", np.linspace(5e10, 5e10 * growth, 300) + rng.normal(0, 1e8, 300))
    found = facts(run)
    assert found["memory.rising"] is rising
    assert found["memory.peak_bytes"] == run["gpu_memory_used"].values.max()


def test_host_memory_creeps_while_the_device_is_quiet(rng, healthy, one, facts):
    run = healthy(rng)
    run["host_memory_used"] = one("host_memory_used", np.linspace(1e11, 3e11, 300))
    found = facts(run)
    assert (found["host.ram_rising"], found["memory.rising"]) == (True, False)


def test_memory_follows_the_sequence_length(rng, one, facts):
    lengths = rng.integers(512, 8192, 50).astype(float)
    found = facts([one("sequence_length", lengths), one("gpu_memory_used", 2e10 + 4e6 * lengths)])
    assert found["memory.peak_grows_with_length"] is True
    found = facts([one("sequence_length", lengths), one("gpu_memory_used", 2e10 + rng.normal(0, 1e8, 50))])
    assert found["memory.peak_grows_with_length"] is False


def test_loss_jumps_at_the_resume(rng, falling, one, facts):
    loss = falling(rng, 200, 10, 2.5, 0.01)
    steps = np.concatenate([np.arange(1, 151), np.arange(141, 191)]) * 10.0
    values = np.concatenate([loss[:150], loss[140:190] * 1.6])
    found = facts([one("loss", values, steps=steps)])
    assert (found["run.resumed"], found["run.loss_jumps"], found["run.steps_repeated"]) == (True, True, 90)
    assert found["run.loss_jump_at_resume"] == pytest.approx(1.6, rel=0.1)
    calm = facts([one("loss", np.concatenate([loss[:150], loss[140:190]]), steps=steps)])
    assert calm["run.loss_jumps"] is False
    assert calm["run.loss_jump_at_resume"] == pytest.approx(1.0, abs=0.05)


def test_a_new_start_in_the_same_file_is_no_resume(rng, falling, one, facts):
    loss = np.concatenate([falling(rng, 50, 10, 2.5, 0.01), falling(rng, 50, 10, 2.5, 0.01)])
    steps = np.concatenate([np.arange(1, 51), np.arange(1, 51)]) * 10.0
    found = facts([one("loss", loss, steps=steps)])
    assert found.get("run.resumed") is not True
    assert (found["loss.spike"], found["loss.diverging"]) == (False, False)
