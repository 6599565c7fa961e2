"""durable-rules and the reference evaluator must decide alike, whatever the rules and the facts; and proofs must hold.

``TRAINTRIAGE_EXAMPLES`` sets the number of generated rule sets (1,000 unless told); the long test takes 10,000.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from engine.inference.normal_form import TooManyAlternativesError, alternatives
from engine.inference.reference import evaluator
from engine.inference.rules import Decision, RuleBook, RuleEngine, reference_holds
from engine.model.conditions import AllOf, AnyOf, Condition, FactTest, FindingTest, NotOf, depth
from engine.model.evidence import Value

EXAMPLES = int(os.environ.get("TRAINTRIAGE_EXAMPLES", "1000"))
NUMBERS = ("number.a", "number.b", "number.c")
TEXTS = ("text.a", "text.b")
TRUTHS = ("truth.a", "truth.b")
REPORTED = ("said.a", "said.b")
RULES_A_LEVEL, LEVELS = 2, 4

# Zero and its sign, exponents without a fraction, subnormals, the edges of what an integer or a double can tell apart.
EDGES = [
    0.0, -0.0, 1.0, 2.0, -1.0, 0.5, 0.1 + 0.2, 0.3, 1e-05, 1e-06, 1.5e-05, 1e-300, -1e-300, 5e-324, -5e-324,
    2.2250738585072014e-308, 1e15, -1e15, 1e15 - 0.125, 65504.0, float(2**31), 1e7,
]  # fmt: skip
BEYOND = [
    1e15 + 1, -1e15 - 1, 1e16, float(2**53), float(2**53 + 2), float(2**63), float(2**64), 1e22, 1e308, -1e308,
    1.7976931348623157e308,
]  # fmt: skip
# The long ones fool an engine that keeps lengths in 16 bits: 65,536 characters would equal "".
WORDS = [
    "", "1", "1.0", "true", "True", "0", "bf16", "BF16", "损失", "损失发散 NaN", "😀", "😀😀", 'a"b', "it's", "a\\b",
    "\n", "\x00", "null", "-1", "ß", "SS", "abc", "x" * 65_536, "abc" + "x" * 65_534, "x" * 70_000, "汉" * 70_000,
]  # fmt: skip
PARTS = ["", "1", "bf", "损失", "😀", '"', "\\", "x" * 10, "ss", "NaN", "\x00"]
PATTERNS = ["^bf", "(?i)nan", "[一-龥]+$", r"^\d+$", "x{3}", "^$", "😀", r"\\", '"', r"(?s)^.{2}$"]

thresholds = st.one_of(st.sampled_from(EDGES), st.floats(-1e15, 1e15), st.integers(-10, 10).map(float))
numbers = st.one_of(
    st.sampled_from(EDGES + BEYOND),
    st.sampled_from([math.nextafter(edge, way) for edge in EDGES for way in (math.inf, -math.inf)]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-10, 10).map(float),
)
texts = st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), max_size=5))


def make_test(fact: str, operator: str, operand: Any) -> FactTest:
    return FactTest.model_validate({"fact": fact, operator: operand})


def comparing(
    facts: tuple[str, ...], operators: tuple[str, ...], operand: st.SearchStrategy[Any]
) -> st.SearchStrategy[FactTest]:
    return st.builds(make_test, st.sampled_from(facts), st.sampled_from(operators), operand)


def other_fact(facts: tuple[str, ...], **scale: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"fact": st.sampled_from(facts)}, optional=scale)


EQUAL = ("is", "is_not")
fact_tests = st.one_of(
    comparing(
        NUMBERS,
        (*EQUAL, "at_least", "at_most", "more_than", "less_than"),
        st.one_of(thresholds, other_fact(NUMBERS, times=thresholds, plus=thresholds)),
    ),
    comparing(NUMBERS, ("between",), st.tuples(thresholds, thresholds).map(sorted)),
    comparing(NUMBERS, ("one_of",), st.lists(thresholds, min_size=1, max_size=3)),
    comparing(TEXTS, EQUAL, st.one_of(texts, other_fact(TEXTS))),
    comparing(TEXTS, ("one_of",), st.lists(texts, min_size=1, max_size=3)),
    comparing(TEXTS, ("contains",), st.sampled_from(PARTS)),
    comparing(TEXTS, ("matches",), st.sampled_from(PATTERNS)),
    comparing(TRUTHS, EQUAL, st.one_of(st.booleans(), other_fact(TRUTHS))),
    comparing(NUMBERS + TEXTS + TRUTHS, ("known", "unknown"), st.just(True)),
)


def conditions(findings: tuple[str, ...], levels: int = 3) -> st.SearchStrategy[Condition]:
    leaf = st.one_of(
        fact_tests,
        st.builds(FindingTest, finding=st.sampled_from(findings), is_=st.sampled_from(("present", "absent"))),
    )
    if levels == 0:
        return leaf
    part = conditions(findings, levels - 1)
    parts = st.lists(part, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        leaf,
        parts.map(lambda chosen: AllOf(all=chosen)),
        parts.map(lambda chosen: AnyOf(any=chosen)),
        part.map(lambda chosen: NotOf(not_=chosen)),
    )


def small_enough(condition: Condition) -> bool:
    try:
        return bool(alternatives(condition, True)) and bool(alternatives(condition, False))
    except TooManyAlternativesError:
        return False


@dataclass(frozen=True)
class Given:
    """One case: what is known, and what was reported of findings that rules may decide otherwise."""

    facts: dict[str, Value]
    reported: dict[str, bool]


def rules_of_level(level: int) -> dict[str, st.SearchStrategy[Condition]]:
    below = tuple(f"level{lower}.rule{number}" for lower in range(level) for number in range(RULES_A_LEVEL))
    strategy = conditions(REPORTED + below)
    return {f"level{level}.rule{number}": strategy for number in range(RULES_A_LEVEL)}


# A rule reads findings of lower levels only. One that would expand too far is left out, as the compiler refuses it.
rule_sets = st.fixed_dictionaries(
    {name: strategy for level in range(LEVELS) for name, strategy in rules_of_level(level).items()}
).map(lambda rules: {name: condition for name, condition in rules.items() if small_enough(condition)})
cases = st.builds(
    Given,
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(NUMBERS, numbers),
            **dict.fromkeys(TEXTS, texts),
            **dict.fromkeys(TRUTHS, st.booleans()),
        },
    ),
    st.dictionaries(st.sampled_from((*REPORTED, "level0.rule0", "level1.rule1", "level3.rule0")), st.booleans()),
)


def cited(rule: str, decisions: Mapping[str, Decision], case: Given, rules: Set[str]) -> Given:
    """What the decision rests on: the facts it cites, and those that the rules behind its findings cite.

    A report counts for a finding only where its rule cannot tell, and that rests on the case as a whole: with fewer
    facts a rule that asks whether one is known may tell.
    """
    facts: dict[str, Value] = {}
    reported: dict[str, bool] = {}
    pending = [rule]
    while pending:
        decision = decisions[pending.pop()]
        facts |= {fact: case.facts[fact] for fact in decision.facts if fact in case.facts}
        pending += [finding for finding in decision.findings if finding in decisions]
        told = {name: case.reported[name] for name in decision.findings if name not in decisions}
        if told.keys() & rules:
            return case
        reported |= told
    return Given(facts, reported)


def check(rules: dict[str, Condition], given_cases: list[Given]) -> None:
    engine = RuleEngine(RuleBook.compile(rules), check=False)
    try:
        for case in given_cases:
            check_case(engine, case)
    finally:
        engine.close()


def check_case(engine: RuleEngine, case: Given) -> None:
    decisions, answered_by = engine.decide(case.facts, case.reported)
    assert answered_by == "durable-rules"
    holds = {rule: decision.holds for rule, decision in decisions.items()}
    assert holds == reference_holds(engine.book, case.facts, case.reported)
    event(f"rules decided: {min(len(decisions), 4)}")
    rules = {rule for level in engine.book.levels for rule in level}
    for rule, decision in decisions.items():
        rests_on = cited(rule, decisions, case, rules)
        replayed, _ = engine.decide(rests_on.facts, rests_on.reported)
        assert replayed[rule].holds is decision.holds, f"{rule} does not follow from what it cites: {rests_on}"


# Big generated rule sets with texts of 70,000 characters are what is wanted here.
wide = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=EXAMPLES)


@wide
@given(rule_sets, st.lists(cases, min_size=1, max_size=3))
def test_engines_agree_and_proofs_hold(rules: dict[str, Condition], given_cases: list[Given]) -> None:
    check(rules, given_cases)


@wide
@given(rule_sets, cases)
def test_the_reference_leaves_out_only_what_is_unknown(rules: dict[str, Condition], case: Given) -> None:
    decided = reference_holds(RuleBook.compile(rules), case.facts, case.reported)
    states = case.reported | decided
    for rule, condition in rules.items():
        assert evaluator(condition)(case.facts, states) is decided.get(rule)


@pytest.mark.long
@settings(wide, max_examples=10_000)
@given(rule_sets, st.lists(cases, min_size=1, max_size=3))
def test_engines_agree_and_proofs_hold_at_length(rules: dict[str, Condition], given_cases: list[Given]) -> None:
    check(rules, given_cases)


@given(conditions(REPORTED), cases)
def test_generated_conditions_cover_the_language(condition: Condition, case: Given) -> None:
    """What the agreement is worth: nesting to depth three, and ways that are true exactly when the condition is."""
    assert depth(condition) <= 3
    if not small_enough(condition):
        return
    book = RuleBook.compile({"rule": condition})
    decided = reference_holds(book, case.facts, case.reported).get("rule")
    for holds in (True, False):
        true_ways = [
            way
            for way in book.ways["rule", holds]
            if all(book.table.holds(literal, case.facts, case.reported) for literal in way)
        ]
        assert bool(true_ways) is (decided is holds)
