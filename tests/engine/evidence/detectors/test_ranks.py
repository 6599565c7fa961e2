"""One slow rank, a slow place that moves, and ranks that are alike."""

from __future__ import annotations

import numpy as np
import pytest


def ranks(one, times, name="compute_time/rank{}"):
    return [one(name.format(rank), values, 1.0) for rank, values in enumerate(times)]


def test_one_slow_rank(rng, one, facts):
    times = 1.0 + rng.normal(0, 0.005, (8, 50))
    times[5] *= 1.25
    found = facts(ranks(one, times))
    assert found["rank.slowest_ratio"] == pytest.approx(1.25, abs=0.01)
    assert (found["rank.slowest"], found["rank.slow_place_moves"]) == (5, False)


def test_the_slow_place_moves(rng, one, facts):
    times = 1.0 + rng.normal(0, 0.005, (8, 60))
    times[np.arange(60) % 8, np.arange(60)] *= 1.6
    found = facts(ranks(one, times))
    assert found["rank.slow_place_moves"] is True
    assert found["rank.slowest_ratio"] < 1.02


@pytest.mark.parametrize("name", ["rank{}/step_time", "rank_{}/iter_time", "step_time/rank_{}"])
def test_ranks_that_are_alike(rng, one, facts, alarms, name):
    found = facts(ranks(one, 1.0 + rng.normal(0, 0.01, (4, 40)), name))
    assert alarms(found) == []
    assert found["rank.slowest_ratio"] < 1.01


def test_two_ranks_do_not_say_which_is_slow(rng, one, facts):
    assert "rank.slowest_ratio" not in facts(ranks(one, 1.0 + rng.normal(0, 0.01, (2, 40))))
