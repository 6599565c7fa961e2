"""The ranking against numbers worked out by hand, and what must not change it."""

from __future__ import annotations

from itertools import combinations
from math import factorial, log2, prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.inference.conclude import conclusions
from engine.inference.network import Network
from engine.inference.rank import Known, Ranking, rank
from engine.inference.resolve import settle_findings
from engine.model.evidence import FindingReading, Source

ODDS = 0.8 / 0.2  # known_share against the unknown
PAIR = ODDS * 0.1 * 2  # a second fault is there as often as another_fault; either may be the first
USUALLY = 1 - 0.98 * 0.2  # P(rare finding | its cause): leak 0.02, link 0.8
NAMES = [f"f.{letter}" for letter in "abcdef"]


@pytest.fixture
def ranked(make_cause, make_finding, calibration):
    """``ranked(causes, known, **changes)``: causes by id as keys of Cause; ``findings`` gives keys of Finding.

    ``alike`` gives the bits of likeness by cause.
    """

    def make(causes, known, *, findings=None, paradigm=None, alike=None, **changes) -> Ranking:
        extra = findings or {}
        made = [make_cause(name, **keys) for name, keys in causes.items()]
        names = {link.finding for cause in made for link in cause.shows} | {
            e.finding for c in made for e in c.rules_out
        }
        defined = {name: make_finding(name, **extra.get(name, {})) for name in sorted(names | set(extra))}
        network = Network.build(made, defined, calibration.model_copy(update=changes))
        likeness = np.array([(alike or {}).get(cause.id, 0.0) for cause in network.causes])
        return rank(network, [Known(*item) if isinstance(item, tuple) else item for item in known], paradigm, likeness)

    return make


def lead(ranking: Ranking) -> dict[str, float]:
    return {cause.id: float(ranking.lead[row]) for row, cause in enumerate(ranking.network.causes)}


def hypotheses_of(ranking: Ranking) -> tuple[tuple[int, ...], ...]:
    """The causes of each hypothesis, as rows."""
    nobody = ranking.network.nobody
    return tuple(tuple(row for row in members if row != nobody) for members in ranking.members.tolist())


def marginal(ranking: Ranking) -> dict[str, float]:
    return {cause.id: float(ranking.marginal[row]) for row, cause in enumerate(ranking.network.causes)}


def present(name: str, kind: str = "measured") -> tuple[str, bool, str]:
    return (name, True, kind)


def absent(name: str, kind: str = "measured") -> tuple[str, bool, str]:
    return (name, False, kind)


class TestByHand:
    def test_one_cause_one_finding(self, ranked) -> None:
        result = ranked({"x/a": {"shows": {"f.a": "usually"}}}, [present("f.a")])
        weight = ODDS * USUALLY / 0.02
        assert lead(result)["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)
        assert result.unknown == pytest.approx(1 / (1 + weight), abs=1e-9)
        assert float(result.bits[0, 0]) == pytest.approx(log2(USUALLY / 0.02), abs=1e-9)

    def test_an_absent_finding_speaks_against(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually", "f.b": "often"}}}
        result = ranked(causes, [present("f.a"), absent("f.b")])
        weight = ODDS * USUALLY / 0.02 * 0.5
        assert lead(result)["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)
        assert float(result.bits[0, 1]) == pytest.approx(-1, abs=1e-9)

    def test_rivals_share_by_prior_and_link(self, ranked) -> None:
        causes = {
            "x/a": {"shows": {"f.a": "usually"}, "prior": "common"},
            "x/b": {"shows": {"f.a": "sometimes"}, "prior": "rare"},
        }
        result = ranked(causes, [present("f.a")])
        a, b = ODDS * 6 / 6.6 * USUALLY / 0.02, ODDS * 0.6 / 6.6 * (1 - 0.98 * 0.75) / 0.02
        total = 1 + a + b
        assert lead(result) == pytest.approx({"x/a": a / total, "x/b": b / total}, abs=1e-9)

    def test_two_independent_faults(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually"}}, "x/b": {"shows": {"f.b": "usually"}}}
        result = ranked(causes, [present("f.a"), present("f.b")])
        one, pair = ODDS / 2 * USUALLY / 0.02, PAIR / 4 * (USUALLY / 0.02) ** 2
        total = 1 + 2 * one + pair
        assert marginal(result) == pytest.approx(dict.fromkeys(causes, (one + pair) / total), abs=1e-9)
        assert lead(result) == pytest.approx(dict.fromkeys(causes, (one + pair / 2) / total), abs=1e-9)
        assert hypotheses_of(result) == ((), (0,), (1,), (0, 1))

    def test_noisy_or_of_two_causes_for_one_finding(self, ranked) -> None:
        """The pair is looked at if each member adds its bits; here each does by a finding of its own."""
        causes = {
            "x/a": {"shows": {"f.a": "usually", "f.c": "often"}},
            "x/b": {"shows": {"f.b": "usually", "f.c": "often"}},
        }
        result = ranked(causes, [present("f.a"), present("f.b"), present("f.c")])
        alone, shared, both = USUALLY / 0.02, (1 - 0.98 * 0.5) / 0.02, (1 - 0.98 * 0.25) / 0.02
        single, pair = ODDS / 2 * alone * shared, PAIR / 4 * alone**2 * both
        total = 1 + 2 * single + pair
        assert marginal(result)["x/a"] == pytest.approx((single + pair) / total, abs=1e-9)

    def test_a_source_is_believed_as_far_as_it_hits(self, ranked) -> None:
        result = ranked({"x/a": {"shows": {"f.a": "usually"}}}, [present("f.a", "mention")])
        weight = ODDS * (0.5 * USUALLY + 0.1 * (1 - USUALLY)) / (0.5 * 0.02 + 0.1 * 0.98)
        assert lead(result)["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)

    def test_damping_and_temperature(self, ranked) -> None:
        causes, known = {"x/a": {"shows": {"f.a": "usually"}}}, [present("f.a")]
        weight = ODDS * (USUALLY / 0.02) ** 0.5
        assert lead(ranked(causes, known, damping=0.5))["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)
        weight = (ODDS * USUALLY / 0.02) ** 0.5
        assert lead(ranked(causes, known, temperature=2.0))["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)

    def test_nothing_known_leaves_all_to_unknown(self, ranked) -> None:
        result = ranked({"x/a": {"shows": {"f.a": "usually"}}}, [])
        assert (result.unknown, lead(result)) == (1.0, {"x/a": 0.0})


class TestRules:
    def test_rules_out_costs_its_bits(self, ranked) -> None:
        out = {"rules_out": [{"finding": "f.b", "is": "absent"}, {"finding": "f.c", "is": "present"}]}
        causes = {"x/a": {"shows": {"f.a": "usually"}, **out}}
        weight = ODDS * USUALLY / 0.02
        for known, times in (
            ([], 0),
            ([present("f.b")], 0),
            ([absent("f.b")], 1),
            ([absent("f.b"), present("f.c")], 2),
        ):
            result = ranked(causes, [present("f.a"), *known])
            left = weight / 2 ** (5 * times)
            assert lead(result)["x/a"] == pytest.approx(left / (1 + left), abs=1e-9)
            assert len(result.excluded.get(0, ())) == times

    def test_prose_rules_out_less_than_a_measurement(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually"}, "rules_out": [{"finding": "f.b", "is": "present"}]}}
        result = ranked(causes, [present("f.a"), present("f.b", "prose")])
        weight = ODDS * USUALLY / 0.02 * (0.03 + 0.82 / 32) / 0.85
        assert lead(result)["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)

    def test_of_a_group_only_the_strongest_counts(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually", "f.b": "often", "f.c": "sometimes"}}}
        grouped = {name: {"group": "same"} for name in ("f.a", "f.b", "f.c")}
        known = [present("f.a"), present("f.b"), present("f.c")]
        result = ranked(causes, known, findings=grouped)
        assert lead(result) == pytest.approx(lead(ranked(causes, known[:1], findings=grouped)), abs=1e-12)
        assert [bool(bits) for bits in result.bits[0]] == [True, False, False]

    def test_of_a_group_the_strongest_for_and_against_count(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually", "f.b": "often", "f.c": "sometimes", "f.d": "always"}}}
        grouped = {name: {"group": "same"} for name in ("f.a", "f.b", "f.c", "f.d")}
        known = [present("f.a"), present("f.b"), absent("f.c"), absent("f.d")]
        bits = ranked(causes, known, findings=grouped).bits[0]
        assert [bool(value) for value in bits] == [True, False, False, True]

    def test_context_supports_by_half_a_bit_and_counts_fully_against(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually", "f.b": "always"}}}
        context = {"f.b": {"role": "context"}}
        result = ranked(causes, [present("f.a"), present("f.b")], findings=context)
        assert result.bits[0].tolist() == pytest.approx([log2(USUALLY / 0.02), 0.5], abs=1e-9)
        against = ranked(causes, [present("f.a"), absent("f.b")], findings=context)
        assert against.bits[0].tolist() == pytest.approx([log2(USUALLY / 0.02), log2(0.02)], abs=1e-6)

    def test_a_cause_with_context_alone_stays_below_unknown(self, ranked) -> None:
        names = ["f.a", "f.b", "f.c", "f.d"]
        causes = {"x/a": {"shows": dict.fromkeys(names, "always"), "prior": "common"}}
        context = {name: {"role": "context"} for name in names}
        result = ranked(causes, [present(name) for name in names], findings=context)
        assert lead(result)["x/a"] < result.unknown

    def test_prose_is_capped_and_measurement_is_not(self, ranked) -> None:
        causes = {"x/a": {"shows": dict.fromkeys(NAMES[:4], "usually")}}
        told = ranked(causes, [present(name, "prose") for name in NAMES[:4]])
        assert told.bits[0].sum() == pytest.approx(6, abs=1e-9)
        assert told.bits[0].tolist() == pytest.approx([1.5] * 4, abs=1e-9)
        weight = ODDS * 2**6
        assert lead(told)["x/a"] == pytest.approx(weight / (1 + weight), abs=1e-9)
        both = ranked(causes, [present("f.a"), *(present(name, "prose") for name in NAMES[1:4])])
        assert both.bits[0].sum() == pytest.approx(log2(USUALLY / 0.02) + 6, abs=1e-9)

    def test_prose_against_is_not_capped(self, ranked) -> None:
        causes = {"x/a": {"shows": dict.fromkeys(NAMES, "always")}}
        denied = ranked(causes, [absent(name, "prose") for name in NAMES])
        assert denied.bits[0].sum() < -6

    def test_a_second_cause_needs_bits_of_its_own(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually", "f.b": "usually"}}, "x/b": {"shows": {"f.b": "usually"}}}
        assert (0, 1) not in hypotheses_of(ranked(causes, [present("f.a"), present("f.b")]))

    def test_triples_grow_from_the_best_pairs(self, ranked) -> None:
        causes = {f"x/{i}": {"shows": {NAMES[i]: "usually"}} for i in range(4)}
        hypotheses = hypotheses_of(ranked(causes, [present(NAMES[i]) for i in range(3)]))
        assert (0, 1, 2) in hypotheses
        assert not any(3 in members for members in hypotheses if len(members) > 1)

    def test_the_paradigm_is_an_affinity_and_no_exclusion(self, ranked) -> None:
        causes = {
            "x/a": {"shows": {"f.a": "usually"}, "paradigms": ["dpo"]},
            "x/b": {"shows": {"f.a": "usually"}, "paradigms": ["sft"]},
        }
        fair, dpo = (lead(ranked(causes, [present("f.a")], paradigm=p)) for p in (None, "dpo"))
        assert fair["x/a"] == fair["x/b"]
        assert dpo["x/a"] / dpo["x/b"] == pytest.approx(4, abs=1e-9)
        assert lead(ranked(causes, [present("f.a")], paradigm="any")) == fair

    def test_a_cause_for_any_paradigm_always_fits(self, ranked) -> None:
        causes = {"x/a": {"shows": {"f.a": "usually"}}, "x/b": {"shows": {"f.a": "usually"}, "paradigms": ["sft"]}}
        dpo = lead(ranked(causes, [present("f.a")], paradigm="dpo"))
        assert dpo["x/a"] / dpo["x/b"] == pytest.approx(4, abs=1e-9)


class TestLikeness:
    CAUSES = {
        "x/alike": {"shows": {"f.a": "usually"}},
        "x/close": {"shows": {"f.c": "usually"}},
        "x/found": {"shows": {"f.b": "usually"}},
    }
    ALIKE = {"x/alike": 12.0, "x/close": 10.0}

    @pytest.mark.parametrize("known", [[], [absent("f.b")], [present("f.b", "prose")]])
    def test_alone_it_lifts_no_cause_above_unknown(self, ranked, known) -> None:
        result = ranked(self.CAUSES, known, alike=self.ALIKE)
        assert 0.04 < lead(result)["x/alike"] <= result.unknown

    def test_it_keeps_its_order_below_the_bound(self, ranked) -> None:
        found = lead(ranked(self.CAUSES, [], alike=self.ALIKE))
        assert found["x/alike"] / found["x/close"] == pytest.approx(2**2)

    @pytest.mark.parametrize("kind", ["measured", "signature", "answer", "observation"])
    def test_alone_it_stands_below_what_more_than_prose_speaks_for(self, ranked, kind) -> None:
        rare = {**self.CAUSES["x/found"], "prior": "rare", "shows": {"f.b": "rarely"}}
        found = lead(ranked({**self.CAUSES, "x/found": rare}, [present("f.b", kind)], alike=self.ALIKE))
        assert found["x/alike"] < found["x/found"]

    def test_with_a_finding_it_counts_in_full(self, ranked) -> None:
        causes = {"x/alike": self.CAUSES["x/alike"]}
        plain, result = (ranked(causes, [present("f.a")], alike=alike) for alike in ({}, {"x/alike": 5.0}))
        gained = lead(result)["x/alike"] / result.unknown / (lead(plain)["x/alike"] / plain.unknown)
        assert gained == pytest.approx(2**5)


class TestOnce:
    def test_a_finding_reported_twice_counts_once(self, ranked, make_finding) -> None:
        def known(readings: int) -> list[Known]:
            said = [
                FindingReading("f.a", "present", Source("prose", f"report:{i}", "it diverged")) for i in range(readings)
            ]
            concluded = conclusions({"f.a": make_finding("f.a")}, {}, {}, settle_findings(said))
            return [Known(c.finding, c.present, c.kind) for c in concluded.values()]

        causes = {"x/a": {"shows": {"f.a": "usually"}}}
        assert lead(ranked(causes, known(1))) == lead(ranked(causes, known(5)))


LINKS = {"always": 0.98, "usually": 0.8, "often": 0.5, "sometimes": 0.25, "rarely": 0.05}
networks = st.dictionaries(
    st.sampled_from(["x/a", "x/b", "x/c", "x/d"]),
    st.fixed_dictionaries(
        {
            "shows": st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(LINKS)), min_size=1, max_size=4),
            "prior": st.sampled_from(["common", "usual", "uncommon", "rare"]),
        }
    ),
    min_size=1,
)
kinds = st.sampled_from(["measured", "prose", "mention"])
evidence = st.dictionaries(st.sampled_from(NAMES), st.tuples(st.booleans(), kinds)).map(
    lambda known: [(name, *state) for name, state in known.items()]
)
# ``ranked`` only builds, it keeps nothing between examples.
stateless = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)


@stateless
@given(networks, evidence)
def test_shares_sum_to_one_and_order_does_not_matter(ranked, causes, known) -> None:
    result = ranked(causes, known)
    assert float(result.lead.sum()) + result.unknown == pytest.approx(1, abs=1e-12)
    assert (result.lead >= 0).all()
    assert (result.marginal <= 1 + 1e-12).all()
    again = ranked(dict(reversed(causes.items())), known[::-1])
    assert np.array_equal(again.lead, result.lead)
    assert again.unknown == result.unknown


@stateless
@given(networks, evidence, st.booleans(), kinds)
def test_a_finding_that_no_cause_speaks_about_changes_nothing(ranked, causes, known, state, kind) -> None:
    findings = {"f.other": {}}
    plain = ranked(causes, known, findings=findings)
    more = ranked(causes, [*known, ("f.other", state, kind)], findings=findings)
    assert np.array_equal(more.lead, plain.lead)


@stateless
@given(networks, evidence, st.sampled_from(list(LINKS)))
def test_support_never_lowers_and_opposition_never_raises(ranked, causes, known, how) -> None:
    """Of a finding that one cause alone shows; its chance of being present, as the lead is shared with partners."""
    name = min(causes)
    shown = {**causes, name: {**causes[name], "shows": {**causes[name]["shows"], "f.own": how}}}
    before, with_it, without_it = (
        marginal(ranked(shown, [*known, *more]))[name] for more in ([], [present("f.own")], [absent("f.own")])
    )
    assert with_it >= before - 1e-12
    assert without_it <= before + 1e-12


@stateless
@given(networks, st.dictionaries(st.sampled_from(NAMES), st.booleans()))
def test_the_posterior_against_enumeration_with_exact_formulas(ranked, causes, known) -> None:
    """The weights of the hypotheses that were looked at, each by the noisy-OR formula itself."""
    result = ranked(causes, [(name, state, "measured") for name, state in known.items()])
    priors = {"common": 6, "usual": 3, "uncommon": 1.5, "rare": 0.6}
    total = sum(priors[keys["prior"]] for keys in causes.values())
    ordered = sorted(causes)
    linked = {finding for keys in causes.values() for finding in keys["shows"]}

    def chance(finding: str, members: tuple[str, ...]) -> float:
        return 1 - 0.98 * prod(1 - LINKS[causes[m]["shows"][finding]] for m in members if finding in causes[m]["shows"])

    def weight(members: tuple[str, ...]) -> float:
        size = len(members)
        value = ODDS * factorial(size) * 0.1 ** (size - 1) if members else 1.0
        value *= prod(priors[causes[m]["prior"]] / total for m in members)
        for finding, state in known.items():
            if finding in linked:
                p, leak = chance(finding, members), 0.02
                value *= p / leak if state else (1 - p) / (1 - leak)
        return value

    grounded = {m for m in ordered if any(known.get(finding) for finding in causes[m]["shows"])}
    every = [members for size in (1, 2, 3) for members in combinations(ordered, size)]
    looked_at = [tuple(ordered[row] for row in members) for members in hypotheses_of(result)]
    assert set(looked_at) <= {(), *every}
    expected = [
        weight(m) if m and (len(m) > 1 or m[0] in grounded) else min(weight(m), 0.5 if m else 1) for m in looked_at
    ]
    assert result.weights.tolist() == pytest.approx([w / sum(expected) for w in expected], abs=1e-6)
