"""The similarity scale and the spread of the embeddings."""

from __future__ import annotations

import math

import numpy as np
import pytest


def test_scale_that_climbs_to_its_cap(one, facts):
    climbed = np.concatenate([np.geomspace(14.3, 100, 30), np.full(30, 100.0)])
    found = facts([one("logit_scale", climbed)])
    assert found["contrastive.scale_at_cap"] is True
    assert found["contrastive.logit_scale"] == pytest.approx(100)
    logarithms = facts([one("logit_scale", np.log(climbed))])
    assert (logarithms["contrastive.scale_at_cap"], logarithms["contrastive.logit_scale"]) == (True, pytest.approx(100))


@pytest.mark.parametrize("values", [np.full(30, 20.0), np.full(30, 100.0), np.geomspace(14.3, 60, 30)])
def test_scale_that_is_fixed_or_still_moves(one, facts, alarms, values):
    found = facts([one("logit_scale", values)])
    assert alarms(found) == []
    assert found["contrastive.logit_scale"] > 10


def test_similarities_and_uniformity(one, facts):
    found = facts([
        one("pos_sim", [0.7, 0.72, 0.75, 0.8]), one("neg_sim", [0.1, 0.05, 0.02, 0.01]),
        one("uniformity", [-2.0, -2.5, -2.9, -3.0]),
    ])  # fmt: skip
    assert found["embedding.positive_cosine"] == pytest.approx(0.775)
    assert found["embedding.unrelated_cosine"] == pytest.approx(0.015)
    assert found["embedding.uniformity"] == pytest.approx(-2.95)
    assert "embedding.positive_cosine" not in facts([one("pos_sim", [12.0, 14.0, 15.0])])  # no cosine


def test_loss_stuck_at_ln_of_the_batch_after_a_higher_start(rng, one, facts):
    from engine.evidence.detectors import DetectContext

    loss = np.concatenate([np.linspace(5, math.log(64), 10), math.log(64) * np.exp(rng.normal(0, 0.001, 60))])
    assert facts([one("loss", loss)], DetectContext(batch=64))["loss.plateau_ln_of"] == 64
    # a fine-tuning loss that converges near 0.69 is no uniform guess between two
    tuned = np.concatenate([np.linspace(2.5, 0.693, 20), 0.693 * np.exp(rng.normal(0, 0.002, 60))])
    assert "loss.plateau_ln_of" not in facts([one("loss", tuned)])
