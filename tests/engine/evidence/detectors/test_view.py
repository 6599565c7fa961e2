"""Series by name, joined over files, cut to the last run; medians in long series."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext, context_of
from engine.evidence.detectors.view import View, last_run, name_key
from engine.evidence.detectors.windows import medians_before, window_medians
from engine.evidence.series import ReadNote, RunEnd, RunRecord, Series, falls
from engine.model.evidence import Source


def slow_last_run(one):
    """The definition, one resume at a time."""
    keep = np.ones(len(one), dtype=np.bool_)
    for at, reason in falls(one.steps):
        if reason == "resumed":
            keep[:at] &= one.steps[:at] < one.steps[at]
        else:
            keep[:at] = False
    return one.take(keep)


@pytest.mark.parametrize("seed", range(30))
def test_last_run_is_what_its_definition_says(seed):
    rng = np.random.default_rng(seed)
    parts = [np.arange(start, start + rng.integers(3, 30)) for start in rng.integers(0, 60, rng.integers(1, 6))]
    steps = np.concatenate(parts) * 10.0
    one = Series("loss", steps, rng.normal(size=len(steps)))
    assert np.array_equal(last_run(one).values, slow_last_run(one).values)


@pytest.mark.parametrize("name", ["rewards/chosen", "train/rewards/chosen", "rewards_chosen", "Rewards/Chosen"])
def test_names_by_their_words(name):
    assert name_key(name) == "rewards_chosen"


def test_files_that_follow_one_another_are_one_run():
    first = Series("loss", np.arange(1, 51) * 10.0, np.linspace(5, 4, 50), origin="a")
    second = Series("loss", np.arange(46, 91) * 10.0, np.linspace(4, 3, 45), origin="b")
    joined = View([second, first], DetectContext()).finite("loss")
    assert (len(joined), joined.steps[-1], joined.source(0).where) == (90, 900.0, "a, b, step 10")
    other = Series("loss", np.arange(1, 41) * 10.0, np.full(40, 9.0), origin="rank 1")
    assert len(View([other, first], DetectContext()).finite("loss")) == 50


def test_a_file_out_of_order_is_sorted(rng):
    steps = rng.permutation(500).astype(float)
    one = View([Series("loss", steps, steps * 2)], DetectContext()).finite("loss")
    assert np.array_equal(one.values, np.arange(500.0) * 2)


def test_points_without_a_step_are_left_out():
    one = Series("loss", np.array([1.0, np.nan, 3.0, np.inf]), np.array([4.0, 3.0, 2.0, 1.0]))
    assert View([one], DetectContext()).finite("loss").values.tolist() == [4.0, 2.0]


def test_medians_in_front_of_a_point(rng):
    values = rng.normal(size=100)
    exact = medians_before(values, 20)
    assert np.isnan(exact[0])
    assert exact[50] == np.median(values[30:50])
    assert exact[5] == np.median(values[:5])
    long = rng.normal(size=5003)
    blocks = medians_before(long, 20)
    assert blocks[4999] == np.median(long[4960:4980])  # the last whole block in front of the point's own
    assert np.isfinite(blocks[1:]).all()


def test_medians_of_windows_leave_nothing_out():
    assert window_medians(np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), 3).tolist() == [2.0, 6.0]
    assert window_medians(np.array([1.0]), 5).tolist() == [1.0]


def test_context_from_the_record_and_from_what_is_known():
    steps = np.arange(1, 21) * 10.0
    series = (Series("loss", steps, steps), Series("eval_loss", steps[4::5], steps[4::5]))
    end = RunEnd("unknown", Source("measured", "run"))
    config = {"max_steps": 500, "save_steps": 100, "eval_steps": 7, "max_grad_norm": 1.0, "lr_scheduler_type": "Cosine"}
    record = RunRecord(ReadNote("run", "x", 20, 0), end, series, config=config)
    facts = {
        "model.vocab_size": 50257.0,
        "lr.warmup_steps": 20.0,
        "checkpoint.interval_steps": 30.0,
        "run.end": "unknown",
    }
    context = context_of(record, facts, paradigm="sft")
    assert (context.vocabulary, context.warmup_steps, context.total_steps, context.clip_norm) == (50257, 20, 500, 1)
    assert (context.paradigm, context.schedule) == ("sft", "cosine")
    assert context.intervals == {"checkpoint": 100, "evaluation": 50, "logging": 10}
    assert context_of(record, {"lr.warmup_steps": 0.0, "clip.max_norm": 0.0}).warmup_steps is None
    assert context_of(record, {"checkpoint.interval_steps": float("nan")}, vocabulary=5).vocabulary == 5
