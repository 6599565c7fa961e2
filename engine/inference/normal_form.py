"""Conditions as alternatives of literals: the only shape that durable-rules is given.

``not`` is pushed down to the tests (a negated comparison still needs the value, which keeps the three values of
logic), ``any`` becomes alternatives, and whatever durable-rules gets wrong (text search, fact against fact, known or
unknown) becomes a boolean property computed before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal as OneOf

from engine.model.conditions import (
    AllOf,
    Condition,
    FactOperand,
    FactTest,
    FindingTest,
    NotOf,
)

Comparison = OneOf["==", "!=", ">=", "<=", ">", "<"]
NEGATED: dict[Comparison, Comparison] = {"==": "!=", "!=": "==", ">=": "<", "<=": ">", ">": "<=", "<": ">="}
COMPARISONS: dict[str, Comparison] = {
    "is": "==", "is_not": "!=", "at_least": ">=", "at_most": "<=", "more_than": ">", "less_than": "<",
}  # fmt: skip
MAX_ALTERNATIVES = 32


class TooManyAlternativesError(ValueError):
    """A condition would expand to more alternatives than one rule may have."""


@dataclass(frozen=True, slots=True, order=True)
class Computed:
    """A boolean worked out before inference: ``test`` is the leaf it stands for."""

    name: str
    fact: str
    operator: str
    operand: str | FactOperandKey | None


@dataclass(frozen=True, slots=True, order=True)
class FactOperandKey:
    """The right-hand side of a fact-against-fact test, as part of a computed boolean's identity."""

    fact: str
    times: float
    plus: float


@dataclass(frozen=True, slots=True)
class Literal:
    """``subject comparison value``; the subject is a fact id, a finding id, or a computed boolean."""

    kind: OneOf["fact", "finding", "computed"]
    subject: str
    comparison: Comparison
    value: bool | float | str
    computed: Computed | None = None

    def negated(self) -> Literal:
        if self.kind != "fact":
            return Literal(self.kind, self.subject, "==", not self.value, self.computed)
        return Literal("fact", self.subject, NEGATED[self.comparison], self.value)

    @property
    def facts(self) -> tuple[str, ...]:
        """Ids of the facts behind this literal."""
        if self.kind == "finding":
            return ()
        if self.computed is None:
            return (self.subject,)
        operand = self.computed.operand
        other = (operand.fact,) if isinstance(operand, FactOperandKey) else ()
        return (self.computed.fact, *other)


Alternative = tuple[Literal, ...]


def alternatives(condition: Condition, holds: bool = True) -> list[Alternative]:
    """The ways in which ``condition`` can be true (or, with ``holds=False``, false), each a conjunction of literals.

    Raises:
        TooManyAlternativesError: if more than 32 would be needed.
    """
    if isinstance(condition, NotOf):
        return alternatives(condition.not_, not holds)
    if isinstance(condition, FactTest):
        return _fact_alternatives(condition, holds)
    if isinstance(condition, FindingTest):
        return [(Literal("finding", condition.finding, "==", (condition.is_ == "present") is holds),)]
    parts = condition.all if isinstance(condition, AllOf) else condition.any
    joined = isinstance(condition, AllOf) is holds
    expanded = [alternatives(part, holds) for part in parts]
    return _conjunction(expanded) if joined else _disjunction(expanded)


def _conjunction(expanded: list[list[Alternative]]) -> list[Alternative]:
    size = 1
    for part in expanded:
        size *= len(part)
    if size > MAX_ALTERNATIVES:
        raise TooManyAlternativesError(f"expands to {size} alternatives, at most {MAX_ALTERNATIVES} are allowed")
    return [tuple(dict.fromkeys(literal for part in chosen for literal in part)) for chosen in product(*expanded)]


def _disjunction(expanded: list[list[Alternative]]) -> list[Alternative]:
    result = list(dict.fromkeys(alternative for part in expanded for alternative in part))
    if len(result) > MAX_ALTERNATIVES:
        raise TooManyAlternativesError(f"expands to {len(result)} alternatives, at most {MAX_ALTERNATIVES} are allowed")
    return result


def _fact_alternatives(test: FactTest, holds: bool) -> list[Alternative]:
    op, operand = test.op, test.operand
    if op == "one_of":
        equal = [Literal("fact", test.fact, "==", value) for value in operand]
        return [(literal,) for literal in equal] if holds else [tuple(literal.negated() for literal in equal)]
    if op == "between":
        low = Literal("fact", test.fact, ">=", operand[0])
        high = Literal("fact", test.fact, "<=", operand[1])
        return [(low, high)] if holds else [(low.negated(),), (high.negated(),)]
    if op in ("known", "unknown", "contains", "matches") or isinstance(operand, FactOperand):
        return [(_computed_literal(test, holds),)]
    literal = Literal("fact", test.fact, COMPARISONS[op], operand)
    return [(literal if holds else literal.negated(),)]


def _computed_literal(test: FactTest, holds: bool) -> Literal:
    op, operand = test.op, test.operand
    if op == "unknown":
        return _computed_literal(FactTest(fact=test.fact, known=True), not holds)
    key: str | FactOperandKey | None = operand if isinstance(operand, str) else None
    if isinstance(operand, FactOperand):
        key = FactOperandKey(operand.fact, operand.times, operand.plus)
    computed = Computed(f"{op}|{test.fact}|{key}", test.fact, op, key)
    return Literal("computed", computed.name, "==", holds, computed)
