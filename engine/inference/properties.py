"""What durable-rules is given of a case: flat properties ``p0 … pn``, each a number or 0/1.

Text becomes a number by the knowledge base's own vocabulary, so that ``"1"``, ``1`` and ``True`` can never match each
other, and the comparisons that durable-rules gets wrong are made here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import re2

from engine.inference.normal_form import COMPARISONS, Comparison, Computed, FactOperandKey, Literal
from engine.model.evidence import Value

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "is": operator.eq, "is_not": operator.ne, "at_least": operator.ge, "at_most": operator.le,
    "more_than": operator.gt, "less_than": operator.lt,
}  # fmt: skip
_COMPARE: dict[Comparison, Callable[[Any, Any], bool]] = {
    COMPARISONS[word]: compare for word, compare in _ORDER.items()
}


@dataclass(frozen=True, slots=True)
class Properties:
    """A case's properties by their number in the table: as numbers, and as members of a JSON object."""

    numbers: dict[int, float]
    members: dict[int, str]


class PropertyTable:
    """Numbers every subject of the literals, and a case's values for them: property ``i`` is ``p<i>`` in JSON."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self.index: dict[tuple[str, str], int] = {}
        self._facts: dict[str, int] = {}
        self._findings: dict[str, int] = {}
        self._states: dict[int, tuple[str, str]] = {}
        self._computed: dict[str, tuple[int, Callable[[Mapping[str, Value]], bool | None]]] = {}
        self._codes: dict[str, int] = {}
        for literal in literals:
            if (literal.kind, literal.subject) not in self.index:
                self._add(literal, len(self.index))
            if isinstance(literal.value, str):
                self._codes.setdefault(literal.value, len(self._codes))

    def _add(self, literal: Literal, index: int) -> None:
        self.index[literal.kind, literal.subject] = index
        if literal.computed is not None:
            self._computed[literal.subject] = (index, _computed(literal.computed))
        elif literal.kind == "fact":
            self._facts[literal.subject] = index
        else:
            self._findings[literal.subject] = index
            self._states[index] = (member_json(index, False), member_json(index, True))

    def number(self, value: Value) -> float:
        """The number that stands for a value. Text outside the vocabulary is -1, which no rule names."""
        return self._codes.get(value, -1) if isinstance(value, str) else value

    def of_case(self, facts: Mapping[str, Value], reported: Mapping[str, bool]) -> Properties:
        """Properties of all known facts, computed booleans and reported findings."""
        names = self._facts
        numbers = {names[fact]: self.number(value) for fact, value in facts.items() if fact in names}
        for index, compute in self._computed.values():
            truth = compute(facts)
            if truth is not None:
                numbers[index] = truth
        properties = Properties(numbers, {index: member_json(index, number) for index, number in numbers.items()})
        for finding, state in reported.items():
            self.add_finding(properties, finding, state)
        return properties

    def add_finding(self, properties: Properties, finding: str, present: bool) -> None:
        """A finding's state as a property, if any rule reads it."""
        index = self._findings.get(finding)
        if index is not None:
            properties.numbers[index] = present
            properties.members[index] = self._states[index][present]

    def literal_json(self, literal: Literal) -> str:
        """The literal in durable-rules' own words."""
        test = f"{{{member_json(self.index[literal.kind, literal.subject], self.number(literal.value))}}}"
        if literal.comparison == "==":
            return test
        word = {"!=": "$neq", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}[literal.comparison]
        return f'{{"{word}":{test}}}'

    def holds(self, literal: Literal, facts: Mapping[str, Value], states: Mapping[str, bool]) -> bool:
        """Whether the literal holds, worked out from the values themselves; an unknown subject holds nothing."""
        if literal.kind == "finding":
            return states.get(literal.subject) is literal.value
        if literal.kind == "computed":
            return self._computed[literal.subject][1](facts) is literal.value
        value = facts.get(literal.subject)
        return value is not None and _COMPARE[literal.comparison](value, literal.value)


def member_json(index: int, number: float) -> str:
    """``"p<index>":number``; a float gets a fraction, as durable-rules takes ``1.0e-05`` but refuses ``1e-05``."""
    if isinstance(number, bool):
        return f'"p{index}":{number:d}'
    text = repr(number)
    return f'"p{index}":{text.replace("e", ".0e") if "e" in text and "." not in text else text}'


def _computed(computed: Computed) -> Callable[[Mapping[str, Value]], bool | None]:
    fact, operand = computed.fact, computed.operand
    if computed.operator == "known":
        return lambda facts: fact in facts
    if isinstance(operand, FactOperandKey):
        return _against(fact, _ORDER[computed.operator], operand)
    assert isinstance(operand, str)
    if computed.operator == "contains":
        part = operand.casefold()
        return lambda facts: part in str(facts[fact]).casefold() if fact in facts else None
    pattern = re2.compile(operand)
    return lambda facts: bool(pattern.search(str(facts[fact]))) if fact in facts else None


def _against(
    fact: str, compare: Callable[[Any, Any], bool], other: FactOperandKey
) -> Callable[[Mapping[str, Value]], bool | None]:
    def compute(facts: Mapping[str, Value]) -> bool | None:
        if fact not in facts or other.fact not in facts:
            return None
        left, right = facts[fact], facts[other.fact]
        if not isinstance(right, bool | str) and (other.times, other.plus) != (1.0, 0.0):
            right = right * other.times + other.plus
        if isinstance(left, bool) is not isinstance(right, bool):
            return compare is operator.ne
        return compare(left, right)

    return compute
