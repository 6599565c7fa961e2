"""The statistics of evaluations, against numbers worked out by hand or taken from tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.statistics import (
    Difference,
    at_least_heads,
    holm,
    items_needed,
    one_sided,
    paired,
    unpaired,
    wilson_lower,
)


@pytest.mark.parametrize(
    ("share", "items", "lower"),
    [(1.0, 10, 0.7225), (0.0, 10, 0.0), (0.9, 10, 0.5958), (0.5, 100, 0.4038)],
)
def test_wilson_interval(share: float, items: int, lower: float) -> None:
    assert wilson_lower(share, items) == pytest.approx(lower, abs=5e-4)


def test_a_paired_difference_rests_on_the_items_that_changed() -> None:
    before = [1.0] * 70 + [0.0] * 30
    after = [1.0] * 60 + [0.0] * 40
    drop = paired(before, after)
    assert drop.mean == pytest.approx(0.1)
    assert drop.error == pytest.approx(0.3015 / 10, abs=1e-4)
    assert drop.flips == (10, 0)
    assert drop.error < unpaired(0.1, 0.0461, 0.0492).error / 2


def test_a_difference_that_never_varies() -> None:
    assert paired([1.0, 0.0], [1.0, 0.0]).z == 0
    assert paired([1.0, 1.0], [0.5, 0.5]).z == math.inf
    assert paired([0.5, 0.5], [1.0, 1.0]).z == -math.inf


@pytest.mark.parametrize(("fell", "rose", "p"), [(5, 0, 1 / 32), (6, 0, 1 / 64), (0, 0, 1.0), (8, 2, 56 / 1024)])
def test_few_flips_are_judged_exactly(fell: int, rose: int, p: float) -> None:
    before = [1.0] * fell + [0.0] * rose + [1.0] * 20
    after = [0.0] * fell + [1.0] * rose + [1.0] * 20
    assert paired(before, after).p == pytest.approx(p)


def test_scores_between_zero_and_one_have_no_flips() -> None:
    drop = paired([0.5, 0.7, 0.9], [0.4, 0.65, 0.85])
    assert drop.flips is None
    assert drop.p == one_sided(drop.z)


def test_many_flips_go_over_into_the_normal_law() -> None:
    assert at_least_heads(280, 500) == pytest.approx(one_sided((279.5 - 250) / math.sqrt(125)), rel=0.02)


def test_items_needed_for_a_tolerance() -> None:
    # An accuracy of one half on 400 items: 0.025 a side, 0.0354 the difference, 0.099 detectable.
    difference = unpaired(0.0, 0.025, 0.025)
    assert difference.detectable == pytest.approx(0.099, abs=1e-3)
    assert items_needed(difference, 400, 0.02) == pytest.approx(9800, abs=5)


def test_holm_goes_from_the_smallest_p_until_one_holds() -> None:
    assert holm([(0.01, 0.05), (0.04, 0.05), (0.03, 0.05), (0.005, 0.05)]) == [True, False, False, True]
    assert holm([(0.02, 0.05)]) == [True]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_lies_between_bonferroni_and_single_tests(ps: list[float]) -> None:
    for p, rejected in zip(ps, holm([(p, 0.02275) for p in ps]), strict=True):
        assert not rejected or p <= 0.02275
        assert rejected or p > 0.02275 / len(ps)


def test_no_error_is_no_difference_in_errors() -> None:
    assert Difference(0.0, 0.0).z == 0
