"""The next check against brute force, and remedies in the order of chance over cost."""

from __future__ import annotations

from itertools import product
from math import log2, prod

import numpy as np
import pytest

from engine.inference.network import Network
from engine.inference.plan import Planned, Planner, remedies
from engine.inference.rank import Known, Ranking, rank

LINKS = {"always": 0.98, "usually": 0.8, "often": 0.5, "sometimes": 0.25, "rarely": 0.05}
LEAK = 0.02
SHOWS = {
    "x/a": {"f.seen": "usually", "f.one": "usually", "f.two": "sometimes", "f.three": "often"},
    "x/b": {"f.seen": "usually", "f.one": "rarely", "f.two": "always"},
    "x/c": {"f.other": "usually", "f.three": "usually"},
}
FINDINGS = ["f.one", "f.other", "f.seen", "f.three", "f.two"]


@pytest.fixture
def setting(make_cause, make_finding, make_check, calibration):
    """``setting(checks, known)``: the ranking, and the plan made of it for checks given as ``{id: findings}``."""

    def make(checks, known=(("f.seen", True), ("f.other", True)), *, ask=(), limit=20, passed=(), **keys):
        question = {"ask": {"en": "is it?", "zh": "是吗？"}}
        findings = {name: make_finding(name, **(question if name in ask else {})) for name in FINDINGS}
        network = Network.build([make_cause(name, shows) for name, shows in SHOWS.items()], findings, calibration)
        ranking = rank(network, [Known(name, state, "measured") for name, state in known])
        made = {name: make_check(name, settles, **keys.get(name, {})) for name, settles in checks.items()}
        return ranking, Planner(network, made, findings).plan(ranking, limit, frozenset(passed))

    return make


def entropy(shares: list[float]) -> float:
    return -sum(p * log2(p) for p in shares if p > 0)


def hypotheses_of(ranking: Ranking) -> tuple[tuple[int, ...], ...]:
    """The causes of each hypothesis, as rows."""
    nobody = ranking.network.nobody
    return tuple(tuple(row for row in members if row != nobody) for members in ranking.members.tolist())


def lead_after(ranking, states: dict[str, bool]) -> tuple[float, list[float]]:
    """P(the findings are so), and the shares of all causes and of unknown after learning it."""
    weights = []
    for members, prior in zip(hypotheses_of(ranking), ranking.weights.tolist(), strict=True):
        weight = prior
        for finding, state in states.items():
            shown = [SHOWS[ranking.network.causes[row].id].get(finding) for row in members]
            chance = 1 - (1 - LEAK) * prod(1 - LINKS[how] for how in shown if how)
            weight *= chance if state else 1 - chance
        weights.append(weight)
    total = sum(weights)
    shares = [
        sum(w * share for w, share in zip(weights, column, strict=True)) / total
        for column in _every_share(ranking).T.tolist()
    ]
    return total, [*shares, 1 - sum(shares)]


def gain(ranking, asks: tuple[str, ...]) -> float:
    """Expected drop of entropy of the leading cause, over all outcomes."""
    before = entropy(lead_after(ranking, {})[1])
    outcomes = [
        lead_after(ranking, dict(zip(asks, states, strict=True))) for states in product((True, False), repeat=len(asks))
    ]
    return before - sum(chance * entropy(shares) for chance, shares in outcomes)


def by_id(planned: list[Planned]) -> dict[str, Planned]:
    return {item.id: item for item in planned}


@pytest.mark.parametrize("asks", [("f.one",), ("f.two",), ("f.three",)])
def test_the_gain_of_one_finding(setting, asks) -> None:
    ranking, planned = setting({"look": list(asks)})
    assert by_id(planned)["look"].gain == pytest.approx(gain(ranking, asks), abs=1e-4)


@pytest.mark.parametrize("asks", [("f.one", "f.two"), ("f.one", "f.two", "f.three")])
def test_the_gain_of_several_findings_together(setting, asks) -> None:
    ranking, planned = setting({"look": list(asks)})
    assert set(planned[0].asks) == set(asks)
    assert planned[0].gain == pytest.approx(gain(ranking, asks), abs=1e-4)
    assert planned[0].gain < sum(gain(ranking, (finding,)) for finding in asks)


def test_the_ranking_predicted_for_each_outcome(setting) -> None:
    ranking, planned = setting({"look": ["f.two"]})
    names = [cause.id for cause in ranking.network.causes]
    assert [outcome.present for outcome in planned[0].outcomes] == [True, False]
    for outcome in planned[0].outcomes:
        chance, shares = lead_after(ranking, {"f.two": outcome.present})
        assert outcome.probability == pytest.approx(chance, abs=1e-4)
        expected = sorted(zip(names, shares, strict=False), key=lambda item: -item[1])[: len(outcome.then)]
        assert [cause for cause, _ in outcome.then] == [cause for cause, _ in expected]
        assert [p for _, p in outcome.then] == pytest.approx([p for _, p in expected], abs=1e-4)
    assert sum(outcome.probability for outcome in planned[0].outcomes) == pytest.approx(1)


def test_the_prediction_is_what_the_ranking_then_says(setting) -> None:
    ranking, planned = setting({"look": ["f.two"]}, known=(("f.seen", True),))
    after, _ = setting({}, known=(("f.seen", True), ("f.two", True)))
    predicted = dict(planned[0].outcomes[0].then)
    said = {cause.id: float(after.lead[row]) for row, cause in enumerate(after.network.causes)}
    assert max(said, key=said.__getitem__) == max(predicted, key=predicted.__getitem__) == "x/b"
    assert predicted["x/b"] == pytest.approx(said["x/b"], abs=0.02)
    assert ranking.lead[1] < said["x/b"]


def test_what_was_passed_as_a_question_is_no_part_of_a_check(setting) -> None:
    _, planned = setting({"look": ["f.one", "f.two"], "peer": ["f.one"]}, ask=("f.one",), passed=("f.one",))
    assert [(item.id, item.asks) for item in planned] == [("look", ("f.two",))]


def test_gain_per_cost_orders_the_list(setting) -> None:
    keys = {
        "quick": {"minutes": 1},
        "slow": {"minutes": 60},
        "greedy": {"minutes": 1, "accelerators": 8},
        "risky": {"minutes": 1, "risk": "high"},
    }
    for dear in ("slow", "greedy", "risky"):
        _, planned = setting({dear: ["f.two"], "quick": ["f.two", "f.two"]}, **keys)
        assert [item.id for item in planned] == ["quick"], "of two ways to learn the same, the cheaper"
    _, planned = setting({"slow": ["f.two"], "quick": ["f.one"]}, **keys)
    assert [item.id for item in planned] == ["quick", "slow"]
    _, planned = setting({"a": ["f.two"], "b": ["f.one"], "c": ["f.three"]})
    rates = [item.gain / item.cost for item in planned]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize(
    ("keys", "cost"),
    [
        ({"minutes": 7}, 9), ({"minutes": 7, "accelerators": 2}, 17), ({"minutes": 7, "risk": "medium"}, 39),
    ],
)  # fmt: skip
def test_what_a_check_costs(setting, keys, cost) -> None:
    _, planned = setting({"look": ["f.two"]}, look=keys)
    assert planned[0].cost == cost


def test_what_is_decided_is_never_asked_again(setting) -> None:
    known = (("f.seen", True), ("f.one", False), ("f.two", True))
    _, planned = setting({"old": ["f.one", "f.two"], "mixed": ["f.two", "f.three"]}, known, ask=("f.one", "f.two"))
    assert {item.id for item in planned} <= {"mixed"}
    assert all(set(item.asks).isdisjoint(name for name, _ in known) for item in planned)


def test_a_check_that_cannot_teach_anything_is_not_proposed(setting) -> None:
    assert setting({"look": ["f.unlinked"], "read": ["f.other"]}, known=(("f.seen", True), ("f.other", True)))[1] == []


def test_a_person_is_asked_what_a_person_can_see(setting) -> None:
    _, planned = setting({"look": ["f.one"]}, ask=("f.two",))
    assert by_id(planned)["f.two"].kind == "question"
    assert by_id(planned)["f.two"].cost == 3
    assert "f.three" not in by_id(planned)


def test_the_limit_and_the_order_are_kept(setting) -> None:
    _, everything = setting({"a": ["f.one"], "b": ["f.two"], "c": ["f.three"]})
    _, limited = setting({"a": ["f.one"], "b": ["f.two"], "c": ["f.three"]}, limit=1)
    assert limited == everything[:1]


def test_remedies_by_chance_over_cost(setting, make_cause, make_remedy) -> None:
    ranking, _ = setting({})
    cause = make_cause("x/a", SHOWS["x/a"]).model_copy(
        update={
            "remedies": (
                make_remedy("certain and slow", repairs="always", minutes=98, risk="none"),  # 0.98 / 100
                make_remedy("likely and quick", repairs="usually", minutes=8, risk="none"),  # 0.8 / 10
                make_remedy("likely and risky", repairs="usually", minutes=8, risk="high"),  # 0.8 / 130
                make_remedy("cheap try", repairs="sometimes", minutes=0.5, risk="none"),  # 0.25 / 2.5
            )
        }
    )
    ordered = remedies(cause, ranking.network.calibration)
    assert [remedy.do.en for remedy, _ in ordered] == [
        "cheap try", "likely and quick", "certain and slow", "likely and risky",
    ]  # fmt: skip
    assert [chance for _, chance in ordered] == pytest.approx([0.25, 0.8, 0.98, 0.8])


def _every_share(ranking):
    """A row for each hypothesis, a column for each cause."""
    shares = np.zeros((len(ranking.members), ranking.network.nobody + 1))
    shares[np.arange(len(shares))[:, None], ranking.members] = ranking.shares
    return shares[:, :-1]
