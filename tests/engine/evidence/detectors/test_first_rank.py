"""One rank that is non-finite before the others; look-alikes: all at once, two at once, stages without a loss."""

from __future__ import annotations

import pytest

NAN, INF = float("nan"), float("inf")


def losses(rng, count=4, steps=80):
    return 4.0 + rng.normal(0, 0.05, (count, steps))


def ranks(one, table, name="loss/rank{}", every=1.0):
    return [one(name.format(rank), values, every) for rank, values in enumerate(table)]


@pytest.mark.parametrize("name", ["loss/rank{}", "rank_{}/train_loss", "grad_norm_rank{}"])
@pytest.mark.parametrize("bad", [NAN, INF])
def test_one_rank_before_the_others(rng, one, facts, name, bad):
    table = losses(rng)
    table[2, 59] = bad
    table[:, 60:] = NAN
    found = facts(ranks(one, table, name))
    assert (found["ranks.nonfinite_alone"], found["ranks.first_nonfinite"]) == (True, 2)


def test_what_another_rank_shows_is_a_nan_of_the_run(rng, one, facts):
    table = losses(rng)
    table[3, 40] = NAN
    found = facts([one("loss", table[0], 1.0), *ranks(one, table)])
    assert (found["loss.nan"], found["loss.nan_step"]) == (True, 41)


def test_all_at_once(rng, one, facts):
    table = losses(rng)
    table[:, 59:] = NAN
    assert facts(ranks(one, table))["ranks.nonfinite_alone"] is False
    # ten steps lie between two records: one of the ranks may have been first
    assert "ranks.nonfinite_alone" not in facts(ranks(one, table, every=10.0))


def test_two_of_four_at_once(rng, one, facts):
    table = losses(rng)
    table[1:3, 59:] = NAN
    found = facts(ranks(one, table))
    assert found["ranks.nonfinite_alone"] is False
    assert "ranks.first_nonfinite" not in found


def test_stages_that_have_no_loss(rng, one, facts, alarms):
    table = losses(rng)
    table[:3] = NAN
    found = facts(ranks(one, table))
    assert alarms(found) == []
    assert "ranks.nonfinite_alone" not in found


def test_the_rank_that_is_bad_from_the_first_step(rng, one, facts):
    table = losses(rng)
    table[1] = NAN
    table[:, 1:] = NAN
    found = facts(ranks(one, table))
    assert (found["ranks.nonfinite_alone"], found["ranks.first_nonfinite"]) == (True, 1)


def test_ranks_that_stay_finite(rng, one, facts, alarms):
    found = facts(ranks(one, losses(rng)))
    assert alarms(found) == []
    assert "ranks.nonfinite_alone" not in found
