"""Thresholds that no example holds in place: moved to anywhere on the side without examples, nothing would notice."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.diagnose import Diagnoser
from engine.evidence.case_file import CaseError, case_from
from engine.knowledge.lint import Issue, issue_of
from engine.knowledge.lint_context import Remark, placed_leaves
from engine.knowledge.load import existing, load_cases, load_knowledge
from engine.knowledge.sources import Placed, Sources, read_sources, read_trees
from engine.model.conditions import FactTest
from engine.model.kb import Finding

CODE = "KB506"
_HOLDS: Mapping[str, Callable[[float, Any], bool]] = {
    "at_least": operator.ge,
    "at_most": operator.le,
    "more_than": operator.gt,
    "less_than": operator.lt,
    "between": lambda value, ends: bool(ends[0] <= value <= ends[1]),
}
_NEAR = 0.1  # an example is best a tenth of the threshold away from it


def unpinned(root: Path | None = None) -> list[Issue]:
    """KB506: every number that a finding compares a fact with has an example on either side.

    Runs the reading of all examples, which takes some seconds.

    Raises:
        KbError: if the knowledge base or its examples do not load.
    """
    values = _values(root)
    remarks = _remarks(read_sources(read_trees(existing(root), None)), values)
    return sorted({issue_of(CODE, "warning", remark) for remark in remarks})


def _values(root: Path | None) -> dict[str, list[float]]:
    """By fact, the numbers that the examples come to."""
    diagnoser = Diagnoser(load_knowledge(root), check=False, keep=True)
    values: dict[str, list[float]] = {}
    try:
        for owned in load_cases(root):
            try:
                observed = diagnoser.collect(case_from(owned.case.case))
            except CaseError:
                continue  # KB504 tells it
            for fact, value in diagnoser.facts(observed).items():
                if not isinstance(value, bool | str):
                    values.setdefault(fact, []).append(value)
    finally:
        diagnoser.close()
    return values


def _remarks(sources: Sources, values: Mapping[str, list[float]]) -> Iterator[Remark]:
    for placed in sources.of("findings").values():
        if placed.value.when is None:
            continue
        for path, test in placed_leaves(placed.value.when, ("when",)):
            if isinstance(test, FactTest) and test.op in _HOLDS and isinstance(test.operand, float | tuple):
                yield from _remark(placed, path, test, values.get(test.fact, []))


def _remark(
    placed: Placed[Finding], path: tuple[str | int, ...], test: FactTest, values: list[float]
) -> Iterator[Remark]:
    held = {_HOLDS[test.op](value, test.operand) for value in values}
    if held == {True, False}:
        return
    said = f"'{test.fact}' {test.op.replace('_', ' ')} {_shown(test.operand)}"
    lacking = [side for side in (True, False) if side not in held]
    which = "stands on either side of" if len(lacking) == 2 else "meets" if lacking[0] else "fails"
    wanted = " and ".join(f"{_example(test, side):g}" for side in lacking)
    hint = (
        f"Add one with 'facts: {{{test.fact}: …}}' of {wanted} to the examples of a cause that shows "
        f"'{placed.value.id}', and say under 'expect' whether it is present or absent"
    )
    yield Remark(placed, path, f"no example {which} {said}", hint)


def _shown(operand: float | tuple[float, float]) -> str:
    return f"{operand:g}" if isinstance(operand, float) else f"{operand[0]:g} and {operand[1]:g}"


def _example(test: FactTest, holds: bool) -> float:
    """A value close to the threshold, on the side asked for."""
    if isinstance(test.operand, tuple):
        low, high = test.operand
        return float((low + high) / 2 if holds else high + _NEAR * (abs(high) or 1.0))
    above = (test.op in ("at_least", "more_than")) is holds
    distance = _NEAR * (abs(test.operand) or 1.0)
    return float(test.operand) + (distance if above else -distance)
