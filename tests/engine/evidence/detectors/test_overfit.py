"""Evaluation against training, and losses too good to be true."""

from __future__ import annotations

import numpy as np
import pytest


def evaluations(one, values):
    return one("eval_loss", values, steps=np.arange(1, len(values) + 1) * 300.0)


@pytest.mark.parametrize(("train", "held_out", "wide"), [(2.0, 2.2, False), (0.34, 0.88, False), (0.05, 1.6, True)])
def test_gap(rng, falling, one, facts, train, held_out, wide):
    loss = one("loss", falling(rng, 240, 2.5, train, 0.01))
    evaluation = evaluations(one, [2.0, 1.9, *([held_out] * 6)])
    found = facts([loss, evaluation])
    assert found["eval_loss.gap_wide"] is wide
    assert found["eval_loss.gap"] == pytest.approx(held_out - train, abs=0.1)


@pytest.mark.parametrize(("per_epoch", "early"), [(2000.0, True), (50.0, False), (None, None)])
def test_solved_before_the_data_was_seen_once(rng, one, facts, per_epoch, early):
    loss = np.concatenate([np.geomspace(3, 0.01, 30), np.full(70, 0.008)]) * np.exp(rng.normal(0, 0.05, 100))
    run = [one("loss", loss)]
    if per_epoch is not None:
        run.append(one("epoch", np.arange(1, 101) * 10 / per_epoch))
    assert facts(run).get("loss.solved_early") is early


def test_epoch_beside_the_loss_counts_where_the_steps_say_nothing(one, facts):
    steps = np.full(40, 829.0)  # a progress bar that was drawn once
    run = [
        one("loss", np.geomspace(0.69, 0.02, 40), steps=steps),
        one("epoch", np.linspace(0.01, 0.4, 40), steps=steps),
    ]
    assert facts(run)["loss.solved_early"] is True


def test_both_losses_near_zero(one, facts):
    loss = one("loss", np.concatenate([np.geomspace(6, 0.002, 40), np.full(40, 0.0005)]))
    found = facts([loss, evaluations(one, [0.0012, 0.0006, 0.0004])])
    assert (found["loss.near_zero"], found["eval_loss.near_zero"]) == (True, True)
    found = facts([loss, evaluations(one, [1.2, 1.5, 1.9])])
    assert (found["loss.near_zero"], found["eval_loss.near_zero"]) == (True, False)


def test_constant_evaluation(rng, healthy, one, facts):
    assert facts(healthy(rng) | {"eval_loss": evaluations(one, [2.31] * 6)})["eval_loss.constant"] is True
    assert facts(healthy(rng))["eval_loss.constant"] is False


def test_best_evaluation_stands_where_it_was(one, facts):
    found = facts([evaluations(one, [2.0, 1.5, 1.2, 1.3, 1.5, 1.8])])
    assert (found["eval_loss.rising"], found["eval_loss.best_step"]) == (True, 900)
