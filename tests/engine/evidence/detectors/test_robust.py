"""Whatever the numbers are, detecting neither raises nor depends on the order of the series."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.detectors import DetectContext, detect
from engine.evidence.series import Series

NAMES = (
    "loss", "eval_loss", "grad_norm", "learning_rate", "loss_scale", "skipped_steps", "nan_steps", "step_time", "epoch",
    "gpu_memory_used", "host_memory_used", "gpu_utilisation", "sequence_length", "tokens_per_second", "dataloader_time",
    "global_batch", "wall_time", "eval_runtime", "eval_accuracy", "eval_ndcg@10", "rewards/chosen", "rewards/rejected",
    "rewards/margins", "rewards/accuracies", "logps/chosen", "reward", "kl", "entropy", "completions/mean_length",
    "completions/clipped_ratio", "frac_reward_zero_std", "clip_ratio", "logit_scale", "pos_sim", "neg_sim",
    "uniformity", "step_time/rank0", "step_time/rank1", "step_time/rank2",
)  # fmt: skip
SPECIAL = [0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-300, 1e308, -1e308, 65536.0]
CONTEXT = DetectContext(
    vocabulary=32000, batch=16, total_steps=100.0, clip_norm=1.0, run_seconds=50.0, as_of=1e6,
    intervals={"epoch": 10.0},
)  # fmt: skip
numbers = st.floats(width=32) | st.sampled_from(SPECIAL)


@st.composite
def any_series(draw: st.DrawFn) -> Series:
    values = draw(st.lists(numbers, max_size=40))
    steps = draw(
        st.lists(st.floats(-10, 1e6) | st.sampled_from(SPECIAL), min_size=len(values), max_size=len(values))
        | st.just(list(range(len(values))))
    )
    return Series(draw(st.sampled_from(NAMES)), np.array(steps, dtype=float), np.array(values, dtype=float))


@settings(max_examples=150, deadline=None)
@given(st.lists(any_series(), max_size=10))
def test_never_raises_and_is_deterministic(given_series):
    found = detect(given_series, CONTEXT)
    again = detect(given_series[::-1], CONTEXT)
    assert repr(found.facts) == repr(again.facts)
    assert all(np.isfinite(fact.value) for fact in found.facts if isinstance(fact.value, float))
    assert len({fact.fact for fact in found.facts}) == len(found.facts)


@pytest.mark.parametrize("seed", range(8))
def test_all_series_at_once(seed):
    """Every detector meets every series, full of what does not belong there."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 120))
    steps = np.sort(rng.integers(0, 500, count)).astype(float)
    run = []
    for name in NAMES:
        values = rng.standard_cauchy(count) if seed % 2 else np.abs(rng.normal(size=count))
        values[rng.random(count) < 0.2] = rng.choice(SPECIAL)
        run.append(Series(name, steps, values, origin="run"))
    found = detect(run, CONTEXT)
    assert {fact.fact for fact in found.facts}
    assert all(np.isfinite(fact.value) for fact in found.facts if isinstance(fact.value, float))


@pytest.mark.parametrize("level", [0.0, 1.0, -3.0, 1e308, 1e-308])
@pytest.mark.parametrize("count", [1, 2, 3, 30, 3000])
def test_constant_series(level, count):
    run = [Series(name, np.arange(count, dtype=float), np.full(count, level), origin="run") for name in NAMES]
    assert repr(detect(run, CONTEXT).facts) == repr(detect(run[::-1], CONTEXT).facts)


def test_an_absurd_epoch_does_not_hang():
    steps = np.arange(1.0, 41.0) * 1e4
    epoch = Series("epoch", steps, np.linspace(0, 1e30, 40))
    assert detect([Series("loss", steps, np.linspace(3, 2, 40)), epoch]).value("loss.drop_at_epoch") is None


def test_an_epoch_of_ever_so_many_steps(one):
    """Steps may be any number: an epoch divided by their distance can be beyond the floats."""
    loss = Series("loss", np.arange(1, 41) * 1e-300, np.linspace(3, 2, 40))
    epoch = Series("epoch", np.array([0.0, 1e300]), np.array([0.0, 1e-5]))
    detect([loss, epoch])
    detect([one("loss", np.linspace(3, 2, 40))], DetectContext(intervals={"epoch": 1e308}))
