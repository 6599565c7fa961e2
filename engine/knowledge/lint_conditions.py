"""KB2xx: conditions and derivations that could never mean what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import re2

from engine.inference.derive import DeriveError, parse
from engine.inference.normal_form import TooManyAlternativesError, alternatives
from engine.knowledge.lint_context import Context, Remark, Rule
from engine.model.conditions import (
    MAX_DEPTH,
    NUMERIC_OPERATORS,
    TEXT_OPERATORS,
    FactOperand,
    FactTest,
    depth,
    findings_read,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.model.conditions import Condition
    from engine.model.kb import Fact

MAX_LEVELS = 4
_EQUALITY = frozenset({"is", "is_not", "one_of"})
_PRESENCE = frozenset({"known", "unknown"})
_OPERATORS = {
    "number": NUMERIC_OPERATORS | _EQUALITY | _PRESENCE,
    "bool": frozenset({"is", "is_not"}) | _PRESENCE,
    "choice": _EQUALITY | _PRESENCE,
    "text": _EQUALITY | TEXT_OPERATORS | _PRESENCE,
}
_VALUE_TYPES: dict[str, type] = {"number": float, "bool": bool, "choice": str, "text": str}


def types_agree(context: Context) -> Iterator[Remark]:
    """KB201: the operator suits the fact's type, and the value too."""
    for placed, path, test in context.tests:
        if isinstance(test, FactTest) and (fact := context.facts.get(test.fact)) is not None:
            for message, hint in _type_errors(test, fact, context):
                yield Remark(placed, path, message, hint)


def _type_errors(test: FactTest, fact: Fact, context: Context) -> Iterator[tuple[str, str]]:
    allowed = _OPERATORS[fact.type]
    if test.op not in allowed:
        yield f"'{test.op}' does not work on '{fact.id}', a {fact.type}", f"Use {', '.join(sorted(allowed))}"
    elif isinstance(test.operand, FactOperand):
        yield from _operand_errors(test.operand, fact, context)
    elif test.op in _EQUALITY:
        for value in test.operand if test.op == "one_of" else (test.operand,):
            yield from _value_errors(value, fact)


def _value_errors(value: Any, fact: Fact) -> Iterator[tuple[str, str]]:
    if type(value) is not _VALUE_TYPES[fact.type]:
        yield f"'{fact.id}' is a {fact.type} and is compared with {value!r}", f"Write a {fact.type}"
    elif fact.values is not None and value not in fact.values:
        yield f"{value!r} is no value of '{fact.id}'", f"Write one of {', '.join(fact.values)}"


def _operand_errors(operand: FactOperand, fact: Fact, context: Context) -> Iterator[tuple[str, str]]:
    other = context.facts.get(operand.fact)
    if other is None:
        return
    if other.type != fact.type:
        yield f"'{fact.id}' is a {fact.type}, '{other.id}' a {other.type}", "Compare facts of one type"
    elif fact.type != "number" and (operand.times, operand.plus) != (1.0, 0.0):
        yield f"'times' and 'plus' on '{other.id}', a {other.type}", "Delete them; only numbers can be scaled"
    elif fact.unit != other.unit and operand.times == 1.0:
        yield (
            f"'{fact.id}' is in {fact.unit or 'no unit'}, '{other.id}' in {other.unit or 'no unit'}",
            "Compare facts of one unit, or convert with 'times'",
        )


def not_too_deep(context: Context) -> Iterator[Remark]:
    """KB202: a condition is at most three combinators deep."""
    for placed, path, condition in context.conditions:
        if (levels := depth(condition)) > MAX_DEPTH:
            hint = "Give the inner part a finding of its own, and use that"
            yield Remark(placed, path, f"the condition is {levels} deep, at most {MAX_DEPTH} are allowed", hint)


def no_cycles(context: Context) -> Iterator[Remark]:
    """KB203: no finding rests on itself, directly or by way of others."""
    for id_, placed in context.sources.of("findings").items():
        cycle = _cycle_from(id_, context)
        # Told once, at the first of its members.
        if cycle is not None and id_ == min(cycle):
            yield Remark(
                placed,
                ("when",),
                f"the finding rests on itself: {' -> '.join(cycle)}",
                "Cut one of the steps",
            )


def _cycle_from(start: str, context: Context) -> list[str] | None:
    """A way from ``start`` back to it, or None."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for after in _reads(way[-1], context):
            if after == start:
                return [*way, start]
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    return None


def _reads(id_: str, context: Context) -> list[str]:
    finding = context.findings.get(id_)
    return findings_read(finding.when) if finding is not None and finding.when is not None else []


def not_too_many_levels(context: Context) -> Iterator[Remark]:
    """KB204: findings rest on findings over at most four levels."""
    for id_, placed in context.sources.of("findings").items():
        if (levels := _level(id_, context, ())) == MAX_LEVELS + 1:
            hint = "Test the facts themselves instead of one of the findings between"
            yield Remark(placed, ("when",), f"the finding is at level {levels}, at most {MAX_LEVELS} are allowed", hint)


def _level(id_: str, context: Context, above: tuple[str, ...]) -> int:
    if id_ in above or len(above) > MAX_LEVELS:
        return 1
    return 1 + max((_level(below, context, (*above, id_)) for below in _reads(id_, context)), default=0)


def few_alternatives(context: Context) -> Iterator[Remark]:
    """KB205: neither the truth nor the falsehood of a condition takes more than 32 alternatives."""
    for placed, path, condition in context.conditions:
        for holds in (True, False):
            try:
                alternatives(condition, holds)
            except TooManyAlternativesError as error:
                said = "true" if holds else "false"
                hint = "Give a part of it a finding of its own, and use that"
                yield Remark(placed, path, f"the ways in which it is {said}: it {error}", hint)


def rules_differ(context: Context) -> Iterator[Remark]:
    """KB209: no two findings are concluded by the same condition: they would count twice."""
    first: dict[Condition, tuple[str, str | None]] = {}
    for id_, placed in context.sources.of("findings").items():
        finding = placed.value
        if finding.when is not None:
            other, group = first.setdefault(finding.when, (id_, finding.group))
            if other != id_ and (group is None or group != finding.group):
                hint = "Make them one, or give both the same 'group', of which only the strongest counts"
                yield Remark(placed, ("when",), f"'{other}' has the very same condition", hint)


def patterns_compile(context: Context) -> Iterator[Remark]:
    """KB206: 'matches' takes an RE2 pattern."""
    for placed, path, test in context.tests:
        if isinstance(test, FactTest) and test.matches is not None and (error := pattern_error(test.matches)):
            yield Remark(placed, (*path, "matches"), f"the pattern does not compile: {error}", "RE2 has no look-around")


def pattern_error(pattern: str) -> str | None:
    """Why RE2 refuses the pattern, or None."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return None


def derivations_parse(context: Context) -> Iterator[Remark]:
    """KB207: a derivation is an expression over facts that exist."""
    for placed in context.sources.of("facts").values():
        if placed.value.derive is None:
            continue
        try:
            names = parse(placed.value.derive).facts
        except DeriveError as error:
            yield Remark(placed, ("derive",), str(error), "See kb/README.md for the arithmetic of derived facts")
            continue
        for name in names:
            if not context.known("facts", name):
                yield Remark(placed, ("derive",), f"there is no fact '{name}'", "Define it, or use one that exists")


def derivations_end(context: Context) -> Iterator[Remark]:
    """KB208: no fact is derived from itself, directly or by way of others."""
    reads = {id_: derived_from(fact) for id_, fact in context.facts.items()}
    for id_, placed in context.sources.of("facts").items():
        reached, ahead = set[str](), list(reads[id_])
        while ahead:
            name = ahead.pop()
            if name not in reached:
                reached.add(name)
                ahead.extend(reads.get(name, ()))
        if id_ in reached:
            yield Remark(placed, ("derive",), f"'{id_}' is derived from itself", "Derive it from what is measured")


def derived_from(fact: Fact) -> tuple[str, ...]:
    """The facts a derivation reads; none if there is no derivation, or it does not parse."""
    if fact.derive is None:
        return ()
    try:
        return parse(fact.derive).facts
    except DeriveError:
        return ()


RULES = (
    Rule("KB201", "error", types_agree),
    Rule("KB202", "error", not_too_deep),
    Rule("KB203", "error", no_cycles),
    Rule("KB204", "error", not_too_many_levels),
    Rule("KB205", "error", few_alternatives),
    Rule("KB206", "error", patterns_compile),
    Rule("KB207", "error", derivations_parse),
    Rule("KB208", "error", derivations_end),
    Rule("KB209", "warning", rules_differ),
)
