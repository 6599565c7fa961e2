"""KB5xx: the examples beside the causes, and what reporters wrote. KB6xx: what nothing uses."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from engine.knowledge.lint_conditions import derived_from
from engine.knowledge.lint_context import Context, Remark, Rule
from engine.knowledge.lint_references import check_uses, fact_references, finding_uses
from engine.knowledge.lint_texts import because_placeholders
from engine.model.case import Case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.knowledge.sources import Placed
    from engine.model.kb import KnowledgeCase

MIN_FIRES = 2
MAX_SHARED_WORDS = 0.8
"""Two examples count as one above this Jaccard overlap of their words; our judgement."""
_WORD = re.compile(r"[\u3400-\u9fff]|[a-z0-9_.+-]+")


def stable_is_proven(context: Context) -> Iterator[Remark]:
    """KB501: a stable cause has two examples that rank it first, a near miss and a healthy look-alike."""
    for placed in context.causes():
        if placed.value.status != "stable":
            continue
        cases = [case.value for case in context.cases.get(placed.value.id, [])]
        counts = {
            "'fires' with rank 1": (
                sum(case.kind == "fires" and case.expect.rank == 1 for case in cases),
                MIN_FIRES,
            ),
            "'near_miss'": (sum(case.kind == "near_miss" for case in cases), 1),
            "'healthy'": (sum(case.kind == "healthy" for case in cases), 1),
        }
        for what, (has, needs) in counts.items():
            if has < needs:
                hint = "Add them to the .cases.yaml beside it, or set 'status: trial'"
                yield Remark(placed, ("status",), f"stable, but {has} examples are {what}, {needs} needed", hint)


def examples_differ(context: Context) -> Iterator[Remark]:
    """KB502: the examples that rank a cause first say it in different words."""
    for cases in context.cases.values():
        fires = [(placed, _words(placed.value)) for placed in cases if placed.value.kind == "fires"]
        for (first, words), (second, other) in combinations(fires, 2):
            if len(words & other) > MAX_SHARED_WORDS * len(words | other):
                message = f"almost the same words as '{first.value.name}'"
                yield Remark(second, ("case",), message, "Describe it as another engineer would")


def _words(case: KnowledgeCase) -> frozenset[str]:
    return frozenset(_WORD.findall(json.dumps(case.case, ensure_ascii=False).lower()))


def cases_belong(context: Context) -> Iterator[Remark]:
    """KB503: a file of examples stands beside its cause."""
    for owner, cases in context.cases.items():
        if cases and not context.known("causes", owner):
            hint = f"Write causes/{owner}.yaml, or rename the file"
            yield Remark(cases[0], (), f"there is no cause '{owner}'", hint)


def cases_are_cases(context: Context) -> Iterator[Remark]:
    """KB504: the input of an example is a case as any client may send it, with facts that exist."""
    for placed in context.all_cases():
        try:
            case = Case.model_validate(placed.value.case)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            yield Remark(
                placed,
                ("case", *first["loc"]),
                f"'{where}': {first['msg']}",
                "Write it as in the case document",
            )
            continue
        if case.is_empty:
            yield Remark(placed, ("case",), "the case says nothing", "Write a report, observations, a log or facts")
        for name in case.facts:
            if not (context.known("facts", name) or context.known("findings", name)):
                message = f"there is no fact or finding '{name}'"
                yield Remark(placed, ("case", "facts", name), message, "Use the id of one that exists")


def cases_expect(context: Context) -> Iterator[Remark]:
    """KB505: what an example expects suits its kind, so that it can fail."""
    for placed in context.all_cases():
        kind, expect = placed.value.kind, placed.value.expect
        wanted = {
            "fires": (expect.rank is not None or expect.first is not None, "rank: 1"),
            "near_miss": (expect.not_first or expect.unknown or expect.first is not None, "not_first: true"),
            "healthy": (expect.silent or expect.not_first, "silent: true"),
        }
        fulfilled, hint = wanted[kind]
        if not fulfilled:
            yield Remark(placed, ("expect",), f"a '{kind}' example expects nothing of its kind", f"Write '{hint}'")


def reports_belong(context: Context) -> Iterator[Remark]:
    """KB507: reports are of a cause that may be diagnosed, and none stands twice."""
    first: dict[str, str] = {}
    for placed in context.reports:
        cause = placed.value.cause
        if not context.known("causes", cause):
            yield Remark(placed, ("cause",), f"there is no cause '{cause}'", "Use the id of one that exists")
        for index, text in enumerate(placed.value.said):
            if text in first:
                message = f"the same report stands under '{first[text]}'"
                yield Remark(placed, ("said", index), message, "Keep it where it is true, and delete the other")
            first.setdefault(text, cause)


def facts_are_used(context: Context) -> Iterator[Remark]:
    """KB601: a fact is read by a condition, a derivation, a signature or a sentence."""
    used = {name for _, _, name in fact_references(context)} | because_placeholders(context)
    used |= {name for fact in context.facts.values() for name in derived_from(fact)}
    yield from _unused(context.sources.of("facts"), used, "Use it in a finding, or delete it")


def findings_are_used(context: Context) -> Iterator[Remark]:
    """KB602: a finding is shown or excluded by a cause, or read by a condition."""
    used = {name for _, _, name in finding_uses(context)}
    used |= {name.split("(")[0] for name in used}
    yield from _unused(context.sources.of("findings"), used, "Let a cause show it, or delete it")


def checks_are_used(context: Context) -> Iterator[Remark]:
    """KB603: a check is proposed by a cause or a gate."""
    used = {name for _, _, name in check_uses(context)}
    yield from _unused(context.sources.of("checks"), used, "Name it under 'checks' of a cause, or delete it")


def _unused(objects: dict[str, Placed[Any]], used: set[str], hint: str) -> Iterator[Remark]:
    for id_, placed in objects.items():
        if id_ not in used:
            yield Remark(placed, ("id",), f"nothing uses '{id_}'", hint)


RULES = (
    Rule("KB501", "error", stable_is_proven),
    Rule("KB502", "error", examples_differ),
    Rule("KB503", "error", cases_belong),
    Rule("KB504", "error", cases_are_cases),
    Rule("KB505", "error", cases_expect),
    Rule("KB507", "error", reports_belong),
)

UNUSED_RULES = (
    Rule("KB601", "warning", facts_are_used),
    Rule("KB602", "warning", findings_are_used),
    Rule("KB603", "warning", checks_are_used),
)
