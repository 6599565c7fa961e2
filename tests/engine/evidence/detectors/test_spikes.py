"""A spike of a loss that is nearly zero is the noise of single batches; the same part of a level is one."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize(("level", "peak", "spikes"), [(0.006, 0.30, 0.0), (0.006, 0.90, 1.0), (2.5, 3.4, 1.0)])
def test_near_zero_a_ratio_is_no_spike(rng, one, facts, level, peak, spikes):
    values = level + (11 - level) * np.exp(-np.arange(400) / 20.0)
    values *= np.exp(rng.normal(0, 0.02, 400))
    values[300] = peak
    assert facts([one("loss", values)])["loss.spike_count"] == spikes


def test_a_loss_in_small_units_spikes_by_its_own_scale(rng, one, facts):
    values = 1e-4 * (3 + 7 * np.exp(-np.arange(300) / 40.0)) * np.exp(rng.normal(0, 0.02, 300))
    values[200] *= 3
    assert facts([one("loss", values)])["loss.spike_step"] == 2010.0
