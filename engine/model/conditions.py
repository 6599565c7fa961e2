"""The language of rules: tests on facts and findings, joined by ``all``, ``any`` and ``not``.

A condition is three-valued (Kleene): a test on an unknown fact is unknown, ``unknown`` is never false, and
``all``/``any``/``not`` decide as soon as what is known decides them.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from engine.model.base import Kept

Scalar = bool | float | str
OPERATORS = (
    "is", "is_not", "one_of", "at_least", "at_most", "more_than", "less_than",
    "between", "contains", "matches", "known", "unknown",
)  # fmt: skip
NUMERIC_OPERATORS = frozenset({"at_least", "at_most", "more_than", "less_than", "between"})
TEXT_OPERATORS = frozenset({"contains", "matches"})
MAX_DEPTH = 3


class FactOperand(Kept):
    """Another fact as the right-hand side: ``value(fact) * times + plus``."""

    fact: str
    times: Annotated[float, Field(allow_inf_nan=False)] = 1.0
    plus: Annotated[float, Field(allow_inf_nan=False)] = 0.0


Operand = float | FactOperand


class FactTest(Kept):
    """``{fact: id, <operator>: operand}`` with exactly one operator."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    fact: str
    is_: Scalar | FactOperand | None = Field(None, alias="is")
    is_not: Scalar | FactOperand | None = None
    one_of: tuple[Scalar, ...] | None = None
    at_least: Operand | None = None
    at_most: Operand | None = None
    more_than: Operand | None = None
    less_than: Operand | None = None
    between: tuple[float, float] | None = None
    contains: str | None = None
    matches: str | None = None
    known: Literal[True] | None = None
    unknown: Literal[True] | None = None

    @model_validator(mode="before")
    @classmethod
    def _keep_types(cls, data: Any) -> Any:
        """Integers become floats here, before pydantic's union could take ``1`` for ``True``."""
        if not isinstance(data, dict):
            return data
        return {key: _as_scalar(value) for key, value in data.items()}

    @field_validator("*")
    @classmethod
    def _finite(cls, value: Any) -> Any:
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if isinstance(number, float) and not (math.isfinite(number) and abs(number) <= 1e15):
                raise ValueError("a threshold must be a finite number no larger than 1e15")
        return value

    @model_validator(mode="after")
    def _one_operator(self) -> FactTest:
        if len(self.operators) != 1:
            raise ValueError(f"write exactly one operator ({', '.join(OPERATORS)}) beside 'fact'")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError("'between' takes [low, high]")
        return self

    @property
    def operators(self) -> list[str]:
        given = self.model_fields_set - {"fact"}
        return [name.removesuffix("_") for name in given if getattr(self, name) is not None]

    @property
    def op(self) -> str:
        return self.operators[0]

    @property
    def operand(self) -> Any:
        return getattr(self, "is_" if self.op == "is" else self.op)


class FindingTest(Kept):
    """``{finding: id}`` or ``{finding: id, is: present | absent}``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    finding: str
    is_: Literal["present", "absent"] = Field("present", alias="is")


class AllOf(Kept):
    """True if all parts are, false if one is false."""

    all: Annotated[tuple[Condition, ...], Field(min_length=1, max_length=12)]


class AnyOf(Kept):
    """True if one part is, false if all are false."""

    any: Annotated[tuple[Condition, ...], Field(min_length=1, max_length=12)]


class NotOf(Kept):
    """The part turned round; unknown stays unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    not_: Condition = Field(alias="not")


def _kind(value: Any) -> str | None:
    if isinstance(value, FactTest | FindingTest | AllOf | AnyOf | NotOf):
        return {FactTest: "fact", FindingTest: "finding", AllOf: "all", AnyOf: "any", NotOf: "not"}[type(value)]
    if isinstance(value, dict):
        for key in ("fact", "finding", "all", "any", "not"):
            if key in value:
                return key
    return None


Condition = Annotated[
    Annotated[FactTest, Tag("fact")]
    | Annotated[FindingTest, Tag("finding")]
    | Annotated[AllOf, Tag("all")]
    | Annotated[AnyOf, Tag("any")]
    | Annotated[NotOf, Tag("not")],
    Discriminator(_kind),
]


def _as_scalar(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, list | tuple):
        return tuple(_as_scalar(item) for item in value)
    return value


def children(condition: Condition) -> tuple[Condition, ...]:
    """The direct parts of a combinator; none for a test."""
    if isinstance(condition, AllOf):
        return condition.all
    if isinstance(condition, AnyOf):
        return condition.any
    if isinstance(condition, NotOf):
        return (condition.not_,)
    return ()


def leaves(condition: Condition) -> list[FactTest | FindingTest]:
    """Every test of the condition, left to right."""
    if isinstance(condition, FactTest | FindingTest):
        return [condition]
    return [leaf for child in children(condition) for leaf in leaves(child)]


def depth(condition: Condition) -> int:
    """Nesting of combinators; a bare test has depth 0."""
    parts = children(condition)
    return 1 + max(depth(part) for part in parts) if parts else 0


def facts_read(condition: Condition) -> list[str]:
    """Ids of the facts the condition reads, operands included, in order and without repeats."""
    seen: dict[str, None] = {}
    for leaf in leaves(condition):
        if isinstance(leaf, FactTest):
            seen[leaf.fact] = None
            if isinstance(leaf.operand, FactOperand):
                seen[leaf.operand.fact] = None
    return list(seen)


def findings_read(condition: Condition) -> list[str]:
    """Ids of the findings the condition reads, in order and without repeats."""
    return list(dict.fromkeys(leaf.finding for leaf in leaves(condition) if isinstance(leaf, FindingTest)))
