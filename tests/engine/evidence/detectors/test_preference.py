"""Preference training: what the loss allows, and what goes beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext


def pairs(one, rng, chosen, rejected, count=60, accuracy=None, first=1.0):
    """Rewards that move from 0 to the given levels, with a little noise that grows with them."""
    time = np.linspace(0.0, 1.0, count)
    steps = first + np.arange(count) * 10
    noise = rng.normal(0, 0.03, count) * time
    run = {
        "loss": one("loss", 0.693 * np.exp(-time) + rng.normal(0, 0.005, count), steps=steps),
        "chosen": one("rewards/chosen", chosen * time + noise, steps=steps),
        "rejected": one("rewards/rejected", rejected * time + noise, steps=steps),
        "margins": one("rewards/margins", (chosen - rejected) * time, steps=steps),
        "logps": one("logps/chosen", -80 + 10 * chosen * time, steps=steps),
    }
    if accuracy is not None:
        run["accuracy"] = one("rewards/accuracies", np.clip(accuracy, 0, 1), steps=steps)
    return run


@pytest.mark.parametrize(("chosen", "rejected"), [(0.4, -1.0), (-0.3, -1.5), (-0.5, -1.8)])
def test_expected_behaviour_is_quiet(one, rng, facts, alarms, chosen, rejected):
    accuracy = 0.5 + 0.3 * np.linspace(0, 1, 60) + rng.normal(0, 0.03, 60)
    found = facts(pairs(one, rng, chosen, rejected, accuracy=accuracy))
    assert alarms(found) == []
    assert found["run.preference_pairs"] is True
    assert found["dpo.margin"] == pytest.approx(chosen - rejected, rel=0.1)
    assert (found["dpo.displaced"], found["dpo.reward_at_start"]) == (False, False)


def test_chosen_answers_fall_by_more_than_they_gain(one, rng, facts):
    found = facts(pairs(one, rng, -4.0, -5.0))
    assert found["dpo.displaced"] is True
    far = facts(pairs(one, rng, -12.0, -30.0))  # the margin is large, but 120 nats are lost
    assert far["dpo.displaced"] is True
    assert far["dpo.chosen_logp_drop"] == pytest.approx(113, abs=8)


@pytest.mark.parametrize(
    ("offset", "step", "found"), [(0.02, 1.0, False), (2.0, 1.0, True), (0.5, 10.0, False), (3.0, 10.0, True)]
)
def test_rewards_in_the_first_step(one, rng, facts, offset, step, found):
    run = pairs(one, rng, 0.5, -1.0, first=step)
    run["chosen"] = one("rewards/chosen", run["chosen"].values + offset, steps=run["chosen"].steps)
    assert facts(run)["dpo.reward_at_start"] is found


def test_a_log_that_begins_late_does_not_say_how_it_began(one, rng, facts):
    assert "dpo.reward_at_start" not in facts(pairs(one, rng, 0.5, -1.0, first=500.0))


def test_accuracy_one_at_once_or_in_the_end(one, rng, facts):
    at_once = np.concatenate([[0.5, 0.8, 0.97], np.ones(57)])
    late = np.concatenate([np.linspace(0.5, 0.98, 50), np.ones(10)])
    assert facts(pairs(one, rng, 2, -2, accuracy=at_once))["dpo.accuracy_one_early"] is True
    assert facts(pairs(one, rng, 2, -2, accuracy=late))["dpo.accuracy_one_early"] is False


def test_accuracy_at_chance_counts_only_once_the_run_is_under_way(one, rng, facts):
    chance = 0.5 + rng.normal(0, 0.02, 60)
    run = pairs(one, rng, 0.0, 0.0, accuracy=chance)
    assert facts(run)["dpo.accuracy"] == pytest.approx(0.5, abs=0.03)
    assert "dpo.accuracy" not in facts(run, DetectContext(total_steps=100_000.0))


def test_kto_without_accuracies(one, rng, facts, alarms):
    run = pairs(one, rng, 1.0, -1.0)
    run["loss"] = one("loss", 0.5 - 0.2 * np.linspace(0, 1, 60) + rng.normal(0, 0.003, 60), steps=run["loss"].steps)
    found = facts(run)
    assert alarms(found) == []
    assert "dpo.accuracy" not in found
