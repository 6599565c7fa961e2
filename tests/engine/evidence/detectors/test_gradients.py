"""Who moves first, and gradient norms that creep or are always clipped."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext


@pytest.mark.parametrize(("offset", "lead"), [(-4, 40), (-1, 10), (0, 0), (3, -30)])
def test_lead_in_steps(rng, healthy, one, facts, offset, lead):
    run = healthy(rng)
    loss, norm = run["loss"].values.copy(), run["grad_norm"].values.copy()
    loss[200:206] *= 2.5
    norm[200 + offset : 208 + offset] *= 40
    found = facts(run | {"loss": one("loss", loss), "grad_norm": one("grad_norm", norm)})
    assert found["grad_norm.lead_steps"] == lead
    assert found["grad_norm.leads_loss"] is (lead > 0)


def test_loss_that_moves_alone(rng, healthy, one, facts):
    run = healthy(rng)
    loss = run["loss"].values.copy()
    loss[200:206] *= 2.5
    found = facts(run | {"loss": one("loss", loss)})
    assert found["grad_norm.leads_loss"] is False
    assert "grad_norm.lead_steps" not in found


@pytest.mark.parametrize(("last", "creeps"), [(0.5, False), (1.4, False), (5.0, True)])
def test_norm_that_creeps_up(rng, one, facts, last, creeps):
    norm = np.geomspace(0.5, last, 300) * np.exp(rng.normal(0, 0.2, 300))
    assert facts([one("grad_norm", norm)])["grad_norm.creeping"] is creeps


@pytest.mark.parametrize(("limit", "share"), [(1.0, 1.0), (100.0, None)])
def test_share_of_clipped_steps(rng, one, facts, limit, share):
    norm = one("grad_norm", 5 * np.exp(rng.normal(0, 0.1, 100)))
    assert facts([norm], DetectContext(clip_norm=limit)).get("grad_norm.clipped_share") == share
    logged_after = one("grad_norm", np.minimum(norm.values, 1.0))
    assert "grad_norm.clipped_share" not in facts([logged_after], DetectContext(clip_norm=1.0))
