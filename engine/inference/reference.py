"""The reference evaluator: conditions as plain Python, read straight off the definition of the rule language.

It shares no code with the normal form or with durable-rules, so that each can be held against the other. ``None``
stands for unknown. Facts are typed before they come here: a number is a float, never an int or a bool.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import re2

from engine.model.conditions import AllOf, AnyOf, Condition, FactOperand, FactTest, FindingTest, NotOf
from engine.model.evidence import Value

Facts = Mapping[str, Value]
States = Mapping[str, bool]
Evaluator = Callable[[Facts, States], bool | None]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "is": operator.eq,
    "is_not": operator.ne,
    "at_least": operator.ge,
    "at_most": operator.le,
    "more_than": operator.gt,
    "less_than": operator.lt,
    "one_of": lambda value, choices: any(same(value, choice) for choice in choices),
    "between": lambda value, bounds: bool(bounds[0] <= value <= bounds[1]),
    "contains": lambda value, part: part.casefold() in value.casefold(),
}


def same(left: Value, right: Value) -> bool:
    """Equality that never takes ``True`` for ``1`` or ``"1"``."""
    return isinstance(left, bool) is isinstance(right, bool) and left == right


def evaluator(condition: Condition) -> Evaluator:
    """A function of (facts, finding states) that gives True, False or None (unknown) by Kleene's logic."""
    if isinstance(condition, FactTest):
        return _fact_evaluator(condition)
    if isinstance(condition, FindingTest):
        return _finding_evaluator(condition)
    if isinstance(condition, NotOf):
        inner = evaluator(condition.not_)
        return lambda facts, states: None if (value := inner(facts, states)) is None else not value
    if isinstance(condition, AllOf):
        return _joined(tuple(evaluator(part) for part in condition.all), decisive=False)
    assert isinstance(condition, AnyOf)
    return _joined(tuple(evaluator(part) for part in condition.any), decisive=True)


def _joined(parts: tuple[Evaluator, ...], decisive: bool) -> Evaluator:
    def evaluate(facts: Facts, states: States) -> bool | None:
        unknown = False
        for part in parts:
            value = part(facts, states)
            if value is decisive:
                return decisive
            unknown = unknown or value is None
        return None if unknown else not decisive

    return evaluate


def _finding_evaluator(test: FindingTest) -> Evaluator:
    finding, present = test.finding, test.is_ == "present"

    def evaluate(facts: Facts, states: States) -> bool | None:
        state = states.get(finding)
        return None if state is None else state is present

    return evaluate


def _fact_evaluator(test: FactTest) -> Evaluator:
    fact, op, operand = test.fact, test.op, test.operand
    if op in ("known", "unknown"):
        wanted = op == "known"
        return lambda facts, states: (fact in facts) is wanted
    if op == "matches":
        search = re2.compile(operand).search
        return lambda facts, states: None if (value := facts.get(fact)) is None else search(value) is not None
    compare = _typed(_COMPARE[op]) if op in ("is", "is_not") else _COMPARE[op]
    if isinstance(operand, FactOperand):
        return _against_fact(fact, operand, compare)
    return lambda facts, states: None if (value := facts.get(fact)) is None else compare(value, operand)


def _typed(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    equal = compare is operator.eq
    return lambda left, right: same(left, right) is equal


def _against_fact(fact: str, operand: FactOperand, compare: Callable[[Any, Any], bool]) -> Evaluator:
    scaled = operand.times != 1.0 or operand.plus != 0.0

    def evaluate(facts: Facts, states: States) -> bool | None:
        value, other = facts.get(fact), facts.get(operand.fact)
        if value is None or other is None:
            return None
        if scaled:
            assert isinstance(other, float)
            other = other * operand.times + operand.plus
        return compare(value, other)

    return evaluate
