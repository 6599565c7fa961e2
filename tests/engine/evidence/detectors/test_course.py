"""Resumes with the loss and the rate around them, and records that stop."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext
from engine.evidence.series import RunEnd, Times
from engine.model.evidence import Source

STEPS = np.concatenate([np.arange(1, 151), np.arange(141, 241)]) * 10.0


def resumed(one, falling, rng, after):
    """A run of 150 records that goes on from record 140; ``after`` scales the 100 that follow."""
    loss = falling(rng, 240, 10, 2.5, 0.01)
    return one("loss", np.concatenate([loss[:150], loss[140:240] * after]), steps=STEPS)


def test_moments_lost_at_the_resume_come_back(rng, falling, one, facts):
    after = 1 + 0.6 * np.exp(-np.arange(100) / 15)
    found = facts([resumed(one, falling, rng, after)])
    assert (found["run.loss_jumps"], found["run.loss_recovers_after_resume"]) == (True, True)
    assert found["run.loss_back_at_start"] is False
    assert found["run.steps_repeated"] == 90


def test_weights_lost_at_the_resume(rng, falling, one, facts):
    loss = falling(rng, 150, 10, 2.5, 0.01)
    values = np.concatenate([loss, 10 * np.exp(rng.normal(0, 0.01, 100))])
    found = facts([one("loss", values, steps=STEPS)])
    assert found["run.loss_back_at_start"] is True
    assert found["run.loss_recovers_after_resume"] is False


def test_calm_resume(rng, falling, one, facts, alarms):
    found = facts([resumed(one, falling, rng, 1.0)])
    assert alarms(found) == []
    assert "run.loss_recovers_after_resume" not in found


@pytest.mark.parametrize(("factor", "ratio"), [(1.0, 1.0), (8.0, 8.0)])
def test_rate_at_the_resume(one, facts, factor, ratio):
    schedule = np.linspace(1e-4, 1e-5, 240)
    rate = np.concatenate([schedule[:150], schedule[140:240] * factor])
    assert facts([one("learning_rate", rate, steps=STEPS)])["run.lr_jump_at_resume"] == pytest.approx(ratio)


@pytest.mark.parametrize(("after", "stalled"), [(300.0, False), (7200.0, True)])
def test_records_that_stop(one, facts, after, stalled):
    clock = one("wall_time", 1.7e9 + np.arange(50) * 60.0)
    unknown = RunEnd("unknown", Source("measured", "run"))
    found = facts([clock], DetectContext(end=unknown, as_of=1.7e9 + 49 * 60 + after))
    assert (found["run.silent_s"], found["run.stalled"]) == (after, stalled)


@pytest.mark.parametrize(
    ("latest", "end", "stalled"), [(900, "unknown", False), (7200, "unknown", True), (7200, "finished", None)]
)
def test_the_machine_lives_on_without_records(one, facts, latest, end, stalled):
    context = DetectContext(end=RunEnd(end, Source("measured", "run")), times=Times(5000.0, 60.0, 5000.0 + latest))
    assert facts([one("loss", np.linspace(5, 3, 50))], context).get("run.stalled") is stalled


def test_a_pause_as_long_as_one_before_is_no_silence(one, facts):
    context = DetectContext(times=Times(5000.0, 900.0, 12_000.0))  # evaluations take a quarter of an hour
    assert facts([one("loss", np.linspace(5, 3, 50))], context)["run.stalled"] is False


def test_a_run_that_ended_is_not_silent(one, facts):
    clock = one("wall_time", 1.7e9 + np.arange(50) * 60.0)
    finished = RunEnd("finished", Source("measured", "run"))
    assert "run.stalled" not in facts([clock], DetectContext(end=finished, as_of=1.8e9))
    assert "run.stalled" not in facts([clock], DetectContext(end=RunEnd("unknown", Source("measured", "run"))))


@pytest.mark.parametrize(
    ("context", "share"),
    [
        (DetectContext(total_steps=2000.0), 0.5),
        (DetectContext(total_steps=1000.0), 1.0),
        (DetectContext(total_steps=500.0), 1.0),  # went on beyond its plan
        (DetectContext(epochs=4.0), 0.25),
        (DetectContext(), None),
    ],
)
def test_how_much_of_the_plan_was_done(rng, falling, one, facts, context, share):
    loss = one("loss", falling(rng, 100, 10, 2.5, 0.01))
    epoch = one("epoch", np.linspace(0.01, 1.0, 100))
    assert facts([loss, epoch], context).get("run.share_done") == share
