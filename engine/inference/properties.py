"""What durable-rules is given of a case: flat properties ``p0 … pn``, each a number or 0/1.

Text becomes a number by the knowledge base's own vocabulary, so that ``"1"``, ``1`` and ``True`` can never match each
other, and the comparisons that durable-rules gets wrong are made here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
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


class PropertyTable:
    """Names every subject of the literals ``p<i>`` and writes literals and a case's values as durable-rules' JSON."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self.names: dict[tuple[str, str], str] = {}
        self._facts: dict[str, str] = {}
        self._findings: dict[str, str] = {}
        self._computed: dict[str, tuple[str, Callable[[Mapping[str, Value]], bool | None]]] = {}
        self._codes: dict[str, int] = {}
        for literal in literals:
            if (literal.kind, literal.subject) not in self.names:
                self._add(literal, f"p{len(self.names)}")
            if isinstance(literal.value, str):
                self._codes.setdefault(literal.value, len(self._codes))

    def _add(self, literal: Literal, name: str) -> None:
        self.names[literal.kind, literal.subject] = name
        if literal.computed is not None:
            self._computed[literal.subject] = (name, _computed(literal.computed))
        else:
            (self._facts if literal.kind == "fact" else self._findings)[literal.subject] = name

    def literal_json(self, literal: Literal) -> str:
        """The literal in durable-rules' own words."""
        test = f'{{"{self.names[literal.kind, literal.subject]}":{self._text(literal.value)}}}'
        if literal.comparison == "==":
            return test
        word = {"!=": "$neq", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}[literal.comparison]
        return f'{{"{word}":{test}}}'

    def _text(self, value: Value) -> str:
        """JSON of a number that durable-rules compares rightly; text outside the vocabulary is -1, as no rule names it.

        A float gets a fraction before its exponent: durable-rules refuses ``1e-05`` but takes ``1.0e-05``.
        """
        if isinstance(value, bool):
            return "1" if value else "0"
        if isinstance(value, str):
            return str(self._codes.get(value, -1))
        text = repr(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text

    def fact_properties(self, facts: Mapping[str, Value]) -> dict[str, str]:
        """JSON members of all known facts and computed booleans, by property name."""
        result = {}
        for fact, value in facts.items():
            name = self._facts.get(fact)
            if name is not None:
                result[name] = f'"{name}":{self._text(value)}'
        for name, compute in self._computed.values():
            truth = compute(facts)
            if truth is not None:
                result[name] = f'"{name}":{self._text(truth)}'
        return result

    def finding_properties(self, states: Mapping[str, bool]) -> dict[str, str]:
        """JSON members of decided findings, by property name: 1 present, 0 absent."""
        names = self._findings
        return {names[f]: f'"{names[f]}":{self._text(state)}' for f, state in states.items() if f in names}

    def holds(self, literal: Literal, facts: Mapping[str, Value], states: Mapping[str, bool]) -> bool:
        """Whether the literal holds, worked out here, without durable-rules; an unknown subject holds nothing."""
        if literal.kind == "finding":
            return states.get(literal.subject) is literal.value
        if literal.kind == "computed":
            return self._computed[literal.subject][1](facts) is literal.value
        value = facts.get(literal.subject)
        return value is not None and _COMPARE[literal.comparison](value, literal.value)


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
