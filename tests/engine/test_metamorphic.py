"""What must not change an answer, and in which direction what may: over the examples of the knowledge base itself.

Every property is tried on 50 generated inputs, by the marker ``long`` on 80, with ``THOROUGH=1`` on 2,000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.diagnose import Diagnoser, derivations, rules
from engine.evidence.case_file import case_from
from engine.inference.rank import Known, rank
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_cases
from engine.model.case import Case
from engine.model.conditions import facts_read
from engine.model.evidence import FactReading, Source
from engine.model.observed import Observed
from tests.effort import effort

NUMBERS = st.integers(min_value=0, max_value=10**6)
KINDS = st.sampled_from(["measured", "signature", "answer", "observation", "prose"])


@pytest.fixture(params=[50, pytest.param(effort(80, 2000), marks=pytest.mark.long)])
def examples(request: pytest.FixtureRequest) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The setting of a property: how many examples it is tried on."""
    return settings(max_examples=request.param, suppress_health_check=list(HealthCheck))


@cache
def cases() -> tuple[Case, ...]:
    """Every example beside a cause and every healthy run."""
    return tuple(case_from(owned.case.case) for owned in load_cases())


def case_of(number: int) -> Case:
    return cases()[number % len(cases())]


def answer(diagnoser: Diagnoser, observed: Observed) -> dict[str, Any]:
    """All of an answer but the digest of its input."""
    given_ = diagnoser.answer(observed)
    return {key: value for key, value in given_.items() if key != "input_digest"}


def conclusion(diagnoser: Diagnoser, observed: Observed) -> dict[str, Any]:
    """What an answer comes to, without what was read to get there."""
    said = answer(diagnoser, observed)
    return {key: said[key] for key in ("causes", "unknown", "families", "next_checks", "findings", "context")}


def numbers(diagnoser: Diagnoser, observed: Observed) -> tuple[Any, ...]:
    """What an answer comes to without its places: a series is named by its place in the list."""
    said = answer(diagnoser, observed)
    causes = [(cause["id"], cause["probability"], cause["marginal"]) for cause in said["causes"]]
    facts = [(fact["id"], fact["value"]) for fact in said["facts"]]
    return causes, said["unknown"]["probability"], facts, [finding["id"] for finding in said["findings"]]


@pytest.fixture(scope="module")
def unread_facts(knowledge: Knowledge) -> tuple[str, ...]:
    """Facts that no rule and no derivation reads, for which a value can be made up."""
    read = {fact for condition in rules(knowledge).values() for fact in facts_read(condition)}
    read |= {fact for derivation in derivations(knowledge).values() for fact in derivation.facts}
    return tuple(id_ for id_, fact in knowledge.facts.items() if id_ not in read and fact.type in ("number", "bool"))


def test_a_fact_that_no_rule_reads_changes_nothing(
    diagnoser: Diagnoser, unread_facts: tuple[str, ...], examples
) -> None:
    assert unread_facts

    @examples
    @given(NUMBERS, st.data())
    def holds(number: int, data: st.DataObject) -> None:
        observed = diagnoser.collect(case_of(number))
        fact = data.draw(st.sampled_from(unread_facts))
        value = diagnoser.knowledge.facts[fact].type == "bool" or float(data.draw(st.integers(1, 9)))
        reading = FactReading(fact, value, Source("stated", "facts"))
        more = replace(observed, facts=(*observed.facts, reading))
        assert conclusion(diagnoser, more) == conclusion(diagnoser, observed)

    holds()


def test_the_same_evidence_twice_counts_once(diagnoser: Diagnoser, examples) -> None:
    @examples
    @given(NUMBERS)
    def holds(number: int) -> None:
        case = case_of(number)
        twice = case.model_copy(
            update={"observations": case.observations * 2, "contrast": case.contrast * 2, "series": case.series}
        )
        observed, again = diagnoser.collect(case), diagnoser.collect(twice)
        assert conclusion(diagnoser, again) == conclusion(diagnoser, observed)
        doubled = replace(observed, facts=observed.facts * 2, findings=observed.findings * 2)
        assert answer(diagnoser, doubled) == answer(diagnoser, observed)

    holds()


def test_order_changes_nothing(diagnoser: Diagnoser, examples) -> None:
    @examples
    @given(NUMBERS, st.randoms(use_true_random=False))
    def holds(number: int, random) -> None:
        case = case_of(number)
        lists: dict[str, Any] = {
            name: random.sample(getattr(case, name), len(getattr(case, name))) for name in ("observations", "contrast")
        }
        maps: dict[str, Any] = {
            name: dict(random.sample(list(getattr(case, name).items()), len(getattr(case, name))))
            for name in ("facts", "files")
        }
        mixed = case.model_copy(update=lists | maps)
        observed = diagnoser.collect(case)
        assert answer(diagnoser, diagnoser.collect(mixed)) == answer(diagnoser, observed)
        series = random.sample(case.series, len(case.series))
        turned = diagnoser.collect(case.model_copy(update={"series": series}))
        assert numbers(diagnoser, turned) == numbers(diagnoser, observed)
        facts, findings = (random.sample(part, len(part)) for part in (observed.facts, observed.findings))
        shuffled = replace(observed, facts=tuple(facts), findings=tuple(findings))
        assert answer(diagnoser, shuffled) == answer(diagnoser, observed)

    holds()


def test_the_order_of_log_lines_about_different_things_changes_nothing(diagnoser: Diagnoser, examples) -> None:
    """Of lines that neither explain another nor are explained by one; with those, who came first is the evidence."""
    signatures = diagnoser.knowledge.signatures.values()
    victims = {name for one in signatures for name in one.explains}
    alone = [
        one.examples[0]
        for one in signatures
        if one.role in ("root", "context") and not one.explains and one.finding and one.finding not in victims
    ]
    assert len(alone) > 50

    @examples
    @given(st.lists(st.sampled_from(alone), min_size=2, max_size=5, unique=True), st.randoms(use_true_random=False))
    def holds(lines: list[str], random) -> None:
        found = set(diagnoser.known(diagnoser.collect(Case(log=lines))))
        mixed = random.sample(lines, len(lines))
        assert set(diagnoser.known(diagnoser.collect(Case(log=mixed)))) == found

    holds()


UNITS = {
    "s": (("ms", 1e3), ("s", 1.0), ("min", 1 / 60), ("h", 1 / 3600)),
    "GB": (("GB", 1.0), ("MB", 1e3), ("TB", 1e-3)),
    "bytes": (("bytes", 1.0), ("kB", 1e-3), ("MB", 1e-6)),
    "ratio": (("", 1.0), ("%", 100.0)),
}


def test_the_unit_in_which_a_number_is_told_changes_nothing(diagnoser: Diagnoser, examples) -> None:
    facts = diagnoser.knowledge.facts
    measured = [
        id_
        for id_, fact in facts.items()
        if fact.unit in UNITS and fact.derive is None and fact.at_least in (None, 0) and fact.at_most in (None, 1)
    ]
    assert {facts[id_].unit for id_ in measured} == set(UNITS)

    def told(fact: str, value: float, unit: str, factor: float) -> Observed:
        observation = {"name": fact, "value": float(f"{value * factor:.12g}")} | ({"unit": unit} if unit else {})
        return diagnoser.collect(Case.model_validate({"observations": [observation]}))

    @examples
    @given(st.sampled_from(measured), st.integers(1, 999), st.data())
    def holds(fact: str, thousandths: int, data: st.DataObject) -> None:
        own = facts[fact].unit or ""
        value = thousandths / 1000 if own == "ratio" else float(thousandths * 1000)
        unit, factor = data.draw(st.sampled_from(UNITS[own]))
        plain, other = told(fact, value, "" if own == "ratio" else own, 1.0), told(fact, value, unit, factor)
        (first,) = [v for name, v in diagnoser.facts(plain).items() if name == fact]
        assert diagnoser.facts(other)[fact] == pytest.approx(first) == pytest.approx(value)
        known = {(one.finding, one.present) for one in diagnoser.known(plain)}
        assert {(one.finding, one.present) for one in diagnoser.known(other)} == known

    holds()


@pytest.fixture(scope="module")
def own_findings(knowledge: Knowledge) -> dict[int, tuple[str, ...]]:
    """By cause (as a row): what it shows, and no other cause shows or is ruled out by."""
    causes = sorted(knowledge.active_causes.values(), key=lambda cause: cause.id)
    shown: dict[str, list[int]] = {}
    for row, cause in enumerate(causes):
        for link in cause.shows:
            shown.setdefault(link.finding, []).append(row)
    excluding = {exclusion.finding for cause in causes for exclusion in cause.rules_out}
    own: dict[int, list[str]] = {}
    for name, rows in shown.items():
        if len(rows) == 1 and name not in excluding and knowledge.findings[name].group is None:
            own.setdefault(rows[0], []).append(name)
    return {row: tuple(sorted(names)) for row, names in sorted(own.items())}


def test_support_never_lowers_a_cause_and_opposition_never_raises_it(
    diagnoser: Diagnoser, own_findings: dict[int, tuple[str, ...]], examples
) -> None:
    """Of a finding that the cause alone shows, beside everything that an example says, its likeness included."""
    network = diagnoser._network

    @examples
    @given(NUMBERS, st.data(), KINDS)
    def holds(number: int, data: st.DataObject, kind: Any) -> None:
        observed = diagnoser.collect(case_of(number))
        known, likeness = diagnoser.known(observed), diagnoser.resemblance(observed)

        def marginal(*more: Known) -> Any:
            return rank(network, [*known, *more], observed.paradigm, likeness).marginal

        before = marginal()
        row = data.draw(st.sampled_from(list(own_findings)))
        if data.draw(st.booleans()):  # rather a cause that is in question than any
            leading = [int(r) for r in np.argsort(-before)[:5] if int(r) in own_findings]
            assume(leading)
            row = data.draw(st.sampled_from(leading))
        open_ = sorted(set(own_findings[row]) - {one.finding for one in known})
        assume(open_)
        name = data.draw(st.sampled_from(open_))
        assert marginal(Known(name, True, kind))[row] >= before[row] - 1e-9
        assert marginal(Known(name, False, kind))[row] <= before[row] + 1e-9

    holds()
