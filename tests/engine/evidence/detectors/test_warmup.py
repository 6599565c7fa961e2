"""The length of the warm-up from the rates, and where the trouble stands against it."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext


def rates(count, warm, peak=3e-4):
    ramp = np.minimum(1.0, np.arange(1, count + 1) / max(warm, 1e-9))
    return peak * ramp * np.linspace(1.0, 0.999, count)


def spiked(falling, rng, count, at, factor=3.0):
    loss = falling(rng, count, 10, 3, 0.01)
    loss[at : at + 3] *= factor
    return loss


def test_length_of_a_warmup(rng, healthy, facts):
    assert facts(healthy(rng))["lr.warmup_steps"] == pytest.approx(150, abs=10)


@pytest.mark.parametrize(("first", "known"), [(1.0, 0.0), (10.0, None)])
def test_no_warmup_is_said_only_of_a_log_that_begins_at_the_first_step(one, facts, first, known):
    rate = one("learning_rate", np.linspace(1e-4, 1e-5, 20), steps=first + np.arange(20) * first)
    assert facts([rate]).get("lr.warmup_steps") == known


def test_a_rate_that_still_rises_has_no_length_yet(one, facts):
    assert "lr.warmup_steps" not in facts([one("learning_rate", np.linspace(1e-6, 1e-4, 30))])


@pytest.mark.parametrize(
    ("at", "phase", "at_peak"),
    [(30, "inside", False), (61, "at_end", True), (90, "after", False), (250, "long_after", False)],
)
def test_place_of_the_trouble(rng, falling, one, facts, at, phase, at_peak):
    found = facts([one("loss", spiked(falling, rng, 300, at)), one("learning_rate", rates(300, 60))])
    assert found["loss.trouble_step"] == (at + 1) * 10
    assert (found["lr.trouble_phase"], found["lr.spike_at_peak"]) == (phase, at_peak)


def test_the_configuration_knows_better_than_the_series(rng, falling, one, facts):
    given = [one("loss", spiked(falling, rng, 300, 250)), one("learning_rate", np.full(300, 1e-4))]
    assert "lr.trouble_phase" not in facts(given)
    assert facts(given, DetectContext(warmup_steps=2500))["lr.trouble_phase"] == "at_end"
    assert facts(given, DetectContext(warmup_steps=0))["lr.trouble_phase"] == "without"


def test_trouble_while_the_rate_rises(rng, falling, one, facts):
    found = facts([one("loss", spiked(falling, rng, 100, 80)), one("learning_rate", np.linspace(1e-6, 1e-4, 100))])
    assert found["lr.trouble_phase"] == "inside"


def test_divergence_and_nan_are_trouble_as_well(rng, falling, one, facts):
    loss = falling(rng, 300, 10, 3, 0.01)
    loss[200:] = np.linspace(loss[200], 9, 100)
    found = facts([one("loss", loss), one("learning_rate", rates(300, 30))])
    assert found["loss.diverging_step"] == pytest.approx(2200, abs=150)
    assert found["lr.trouble_phase"] == "long_after"
    loss[40:] = np.nan
    found = facts([one("loss", loss), one("learning_rate", rates(300, 40))])
    assert (found["loss.trouble_step"], found["lr.trouble_phase"]) == (410, "at_end")


def test_healthy_run_has_no_trouble(rng, healthy, facts):
    found = facts(healthy(rng))
    assert "loss.trouble_step" not in found
    assert "lr.trouble_phase" not in found
