"""Where the loss goes: gradually up, blown up at once, restless; and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest


def test_gradual_rise_after_a_good_start(rng, one, facts):
    loss = np.concatenate([np.linspace(10, 3, 100), np.linspace(3, 6.5, 100)]) * np.exp(rng.normal(0, 0.01, 200))
    found = facts([one("loss", loss)])
    assert (found["loss.rises_gradually"], found["loss.diverging"]) == (True, True)
    assert found["loss.diverging_step"] == pytest.approx(1200, abs=120)  # a fifth of the rise from step 1000


def test_a_jump_is_no_gradual_rise(rng, falling, one, facts):
    loss = falling(rng, 200, 10, 3, 0.01)
    loss[120:] = 8.0 * np.exp(rng.normal(0, 0.01, 80))
    found = facts([one("loss", loss)])
    assert (found["loss.rises_gradually"], found["loss.diverging_step"]) == (False, 1210)


@pytest.mark.parametrize(("back_after", "blows"), [(8, False), (90, True)])
def test_blow_up_in_the_first_steps(rng, one, facts, back_after, blows):
    loss = np.concatenate([[2.0, 2.1, 2.0], np.linspace(9, 2.0, back_after), np.linspace(2.0, 1.5, 297 - back_after)])
    assert facts([one("loss", loss * np.exp(rng.normal(0, 0.01, 300)))])["loss.early_blow_up"] is blows


@pytest.mark.parametrize(("growth", "restless"), [(1.0, False), (8.0, True)])
def test_swings_that_grow(rng, one, facts, growth, restless):
    sigma = np.concatenate([np.full(200, 0.03), np.linspace(0.03, 0.03 * growth, 100)])
    loss = 2.0 + rng.normal(0, 1, 300) * sigma * 2
    assert facts([one("loss", loss)])["loss.oscillating"] is restless


def test_level_noise_of_small_batches_is_no_oscillation(rng, one, facts, alarms):
    assert alarms(facts([one("loss", np.linspace(2.0, 1.5, 600) * np.exp(rng.normal(0, 0.4, 600)))])) == []


def test_curriculum_switch_is_seen_as_a_rise_only_where_it_stays(rng, one, facts, alarms):
    # a harder mix: the loss steps up by a tenth and goes on falling
    level = np.concatenate([np.linspace(5, 2.5, 150), np.linspace(2.75, 2.2, 150)])
    assert alarms(facts([one("loss", level * np.exp(rng.normal(0, 0.01, 300)))])) == []


def test_small_losses_do_not_spike_by_ratio_alone(rng, one, facts):
    loss = np.concatenate([np.geomspace(3, 0.01, 100), 0.01 * np.exp(rng.normal(0, 0.1, 100))])
    loss[150] = 0.04  # four times its level and nothing
    assert facts([one("loss", loss)])["loss.spike"] is False
    loss[150] = 0.9
    assert facts([one("loss", loss)])["loss.spike"] is True
