"""Simulated troubleshooting: the planner needs few checks, and none whose findings are known."""

from __future__ import annotations

import pytest

from engine.evaluate.troubleshoot import MAX_CHECKS, Course, Workshop, judged
from engine.inference.network import Network
from engine.knowledge.knowledge import Knowledge
from tests.effort import effort


@pytest.fixture(scope="module")
def shop(knowledge: Knowledge) -> Workshop:
    network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, knowledge.calibration)
    return Workshop(network, knowledge.checks, knowledge.findings)


def open_asks(shop: Workshop, count: int, seed: int) -> list[tuple[set[str], set[str]]]:
    """For every check that the planner proposes on the way: the findings known before it, and those it would settle."""
    seen: list[tuple[set[str], set[str]]] = []

    def watched(ranking, random):
        known = {one.finding for one in ranking.evidence.known}
        seen.extend((known, set(planned.asks)) for planned in shop.planner.plan(ranking))
        return shop.strategies["planner"](ranking, random)

    for number, trouble in enumerate(shop.open_at_start(count, seed)):
        shop.course(trouble, watched, number)
    return seen


def test_what_is_noticed_is_true_and_shown_by_the_cause(shop: Workshop) -> None:
    for trouble in shop.troubles(30, seed=5):
        cause = shop.network.causes[trouble.cause]
        assert 1 <= len(trouble.noticed) <= 2
        assert all(trouble.states[name] for name in trouble.noticed)
        assert set(trouble.noticed) <= {link.finding for link in cause.shows}


def test_the_same_seed_is_the_same_course(shop: Workshop) -> None:
    troubles = shop.open_at_start(8, seed=3)
    assert troubles == shop.open_at_start(8, seed=3)
    for strategy in shop.strategies:
        assert shop.courses(strategy, troubles) == shop.courses(strategy, troubles)


def test_the_planner_never_proposes_a_check_whose_findings_are_known(shop: Workshop) -> None:
    proposed = open_asks(shop, 12, seed=2)
    assert proposed
    assert all(asks and known.isdisjoint(asks) for known, asks in proposed)


def test_what_was_not_found_counts_as_more_than_any_that_was() -> None:
    figures = judged([Course(True, 2, 9.0), Course(False, 4, 20.0), Course(False, MAX_CHECKS, 31.0)])
    assert figures.median_checks == MAX_CHECKS + 1
    assert figures.found == pytest.approx(1 / 3)
    assert figures.mean_cost == pytest.approx(20.0)


@pytest.mark.long
def test_the_planner_needs_few_checks_and_costs_less_than_other_orders(shop: Workshop) -> None:
    """Figures of some troubles; the table of 1,000 is that of bench.planner."""
    troubles = shop.open_at_start(effort(100, 300), seed=1)
    planner, random, cheapest = (judged(shop.courses(name, troubles)) for name in ("planner", "random", "cheapest"))
    assert planner.median_checks <= 3
    assert planner.found >= random.found
    assert planner.mean_cost <= 0.7 * random.mean_cost
    assert planner.mean_cost <= cheapest.mean_cost


@pytest.mark.long
def test_in_many_troubles_nothing_known_is_asked(shop: Workshop) -> None:
    assert all(asks and known.isdisjoint(asks) for known, asks in open_asks(shop, effort(60, 300), seed=4))
