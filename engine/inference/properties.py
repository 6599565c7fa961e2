"""What durable-rules is given of a case: flat properties ``p0 … pn``, each a number or 0/1.

Text becomes a number by the knowledge base's own vocabulary, so that ``"1"``, ``1`` and ``True`` can never match each
other, and the comparisons that durable-rules gets wrong are made here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import re2
from numpy.typing import NDArray

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
    """A case's properties by their number in the table: as numbers (NaN is unknown), and as members of a JSON object.

    Members are what durable-rules is given. A state that no rule can hold by is left out of them: most findings of a
    case are absent, and few rules ask for an absent one.
    """

    numbers: NDArray[np.float64]
    members: dict[int, str]


class PropertyTable:
    """Numbers every subject of the literals, and a case's values for them: property ``i`` is ``p<i>`` in JSON.

    ``literals`` are those by which rules hold, ``denials`` those by which they do not.
    """

    def __init__(self, literals: Iterable[Literal], denials: Iterable[Literal] = ()) -> None:
        self.index: dict[tuple[str, str], int] = {}
        self._facts: dict[str, int] = {}
        self._findings: dict[str, int] = {}
        self._states: dict[tuple[int, bool], str] = {}
        self._computed: dict[str, tuple[int, Callable[[Mapping[str, Value]], bool | None]]] = {}
        self._computed_from: dict[str, list[str]] = {}
        self._unless_known: dict[int, bool] = {}
        self._codes: dict[str, int] = {}
        self.asked_absent: set[str] = set()  # findings whose absence a rule holds by
        for literal in literals:
            self._add(literal)
            if literal.kind == "finding":
                self._hold_by(literal.subject, bool(literal.value))
        for literal in denials:
            self._add(literal)
        self.nobody = len(self.index)  # the place of a finding that no rule reads

    def _add(self, literal: Literal) -> None:
        if isinstance(literal.value, str):
            self._codes.setdefault(literal.value, len(self._codes))
        if (literal.kind, literal.subject) in self.index:
            return
        index = self.index[literal.kind, literal.subject] = len(self.index)
        if literal.computed is not None:
            self._computed[literal.subject] = (index, _computed(literal.computed))
            self._computed_from.setdefault(literal.computed.fact, []).append(literal.subject)
            if literal.computed.operator == "known":
                self._unless_known[index] = False
        elif literal.kind == "fact":
            self._facts[literal.subject] = index
        else:
            self._findings[literal.subject] = index

    def _hold_by(self, finding: str, state: bool) -> None:
        index = self._findings[finding]
        self._states[index, state] = member_json(index, state)
        if not state:
            self.asked_absent.add(finding)

    def number(self, value: Value) -> float:
        """The number that stands for a value. Text outside the vocabulary is -1, which no rule names."""
        return self._codes.get(value, -1) if isinstance(value, str) else value

    def of_case(self, facts: Mapping[str, Value], reported: Mapping[str, bool]) -> Properties:
        """Properties of all known facts, computed booleans and reported findings."""
        names = self._facts
        known: dict[int, float] = {**self._unless_known}
        for fact, value in facts.items():
            if fact in names:
                known[names[fact]] = self.number(value)
            for name in self._computed_from.get(fact, ()):
                index, compute = self._computed[name]
                truth = compute(facts)
                if truth is not None:
                    known[index] = truth
        numbers = np.full(self.nobody + 1, np.nan)
        numbers[list(known)] = list(known.values())
        properties = Properties(numbers, {index: member_json(index, number) for index, number in known.items()})
        for finding, state in reported.items():
            self.set_finding(properties, finding, state)
        return properties

    def place(self, finding: str) -> int:
        """The property of a finding, ``nobody`` if no rule reads it."""
        return self._findings.get(finding, self.nobody)

    def set_finding(self, properties: Properties, finding: str, present: bool) -> None:
        """A finding's state, in place of any other it had."""
        index = self.place(finding)
        properties.numbers[index] = present
        member = self._states.get((index, present))
        if member is not None:
            properties.members[index] = member
        else:
            properties.members.pop(index, None)

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
