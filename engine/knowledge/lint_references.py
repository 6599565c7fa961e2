"""KB1xx: ids, file names, key order, and references to things that do not exist."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from engine.knowledge.lint_context import Context, Remark, Rule, facts_of
from engine.knowledge.problems import Problem
from engine.model.conditions import FactTest, FindingTest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.knowledge.problems import DataPath
    from engine.knowledge.sources import Placed, Sources

Reference = tuple["Placed[Any]", "DataPath", str]


def id_equals_path(context: Context) -> Iterator[Remark]:
    """KB101: a cause, gate or pipeline is found by its file name."""
    for kind, folder in (
        ("causes", "causes/"),
        ("gates", "gates/"),
        ("pipelines", "pipeline/"),
        ("policies", "policies/"),
    ):
        key = "paradigm" if kind == "pipelines" else "id"
        for id_, placed in context.sources.of(kind).items():
            wanted = placed.file.relative.removeprefix(folder).removesuffix(".yaml")
            if id_ != wanted:
                yield Remark(placed, (key,), f"'{id_}' stands in {placed.file.relative}", f"Write '{key}: {wanted}'")


def facts_exist(context: Context) -> Iterator[Remark]:
    """KB102: every fact that a condition, signature or example names."""
    for placed, path, name in fact_references(context):
        if not context.known("facts", name):
            yield _unknown(placed, path, "fact", name, context.facts)


def fact_references(context: Context) -> Iterator[Reference]:
    """Facts named by conditions and signatures."""
    for placed, path, test in context.tests:
        if isinstance(test, FactTest):
            for name in facts_of(test):
                yield placed, path, name
    for placed in context.sources.of("signatures").values():
        if placed.value.fact is not None:
            yield placed, ("fact",), placed.value.fact
        for group, name in placed.value.fields.items():
            yield placed, ("fields", group), name


def findings_exist(context: Context) -> Iterator[Remark]:
    """KB103: every finding that anything names."""
    for placed, path, name in (*finding_uses(context), *_finding_mentions(context)):
        if not context.known("findings", name):
            yield _unknown(placed, path, "finding", name, context.findings)


def finding_uses(context: Context) -> Iterator[Reference]:
    """Findings that matter to a conclusion: in causes and in conditions."""
    for placed in context.causes():
        for index, link in enumerate(placed.value.shows):
            yield placed, ("shows", index, "finding"), link.finding
        for index, exclusion in enumerate(placed.value.rules_out):
            yield placed, ("rules_out", index, "finding"), exclusion.finding
    for placed, path, test in context.tests:
        if isinstance(test, FindingTest):
            yield placed, path, test.finding


def _finding_mentions(context: Context) -> Iterator[Reference]:
    for placed in context.sources.of("checks").values():
        for index, name in enumerate(placed.value.settles):
            yield placed, ("settles", index), name
    for placed in context.sources.of("signatures").values():
        if placed.value.finding is not None:
            yield placed, ("finding",), placed.value.finding
        for index, name in enumerate(placed.value.explains):
            yield placed, ("explains", index), name
        if placed.value.explained_as is not None:
            yield placed, ("explained_as",), placed.value.explained_as
    for placed in context.sources.of("pipelines").values():
        for number, station in enumerate(placed.value.stations):
            for index, name in enumerate(station.findings):
                yield placed, ("stations", number, "findings", index), name
    for placed in context.all_cases():
        for key in ("present", "absent"):
            for index, name in enumerate(getattr(placed.value.expect, key)):
                yield placed, ("expect", key, index), name


def causes_exist(context: Context) -> Iterator[Remark]:
    """KB104: every rival, consequence or expected cause."""
    for placed, path, name in _cause_references(context):
        if not context.known("causes", name):
            yield _unknown(placed, path, "cause", name, context.sources.objects["causes"])


def _cause_references(context: Context) -> Iterator[Reference]:
    for cause in context.causes():
        for index, rival in enumerate(cause.value.confused_with):
            yield cause, ("confused_with", index, "cause"), rival.cause
    for gate in context.sources.of("gates").values():
        for index, name in enumerate(gate.value.leads_to):
            yield gate, ("leads_to", index), name
    for case in context.all_cases():
        if case.value.expect.first is not None:
            yield case, ("expect", "first"), case.value.expect.first


def checks_exist(context: Context) -> Iterator[Remark]:
    """KB105: every check that a cause or a gate names."""
    for placed, path, name in check_uses(context):
        if not context.known("checks", name):
            yield _unknown(placed, path, "check", name, context.sources.objects["checks"])


def check_uses(context: Context) -> Iterator[Reference]:
    """Checks named by causes and gates."""
    for placed in (*context.causes(), *context.sources.of("gates").values()):
        for index, name in enumerate(placed.value.checks):
            yield placed, ("checks", index), name


def families_exist(context: Context) -> Iterator[Remark]:
    """KB106: the family of a cause stands in families.yaml."""
    areas = context.single("families.yaml")
    if areas is None:
        return
    families = [name for named in areas.values() for name in named]
    for placed in context.causes():
        if placed.value.family not in families:
            yield _unknown(placed, ("family",), "family", placed.value.family, families)


def key_order(context: Context) -> Iterator[Remark]:
    """KB107: the keys of a cause stand in the order of the style guide, so that every file reads alike."""
    for placed in context.causes():
        order = [info.alias or name for name, info in type(placed.value).model_fields.items()]
        written = list(placed.data)
        wanted = sorted(written, key=order.index)
        for is_, should in zip(written, wanted, strict=True):
            if is_ != should:
                yield Remark(
                    placed,
                    (is_,),
                    f"'{is_}' stands before '{should}'",
                    f"Order the keys: {', '.join(wanted)}",
                )
                break


def names_are_unique(context: Context) -> Iterator[Remark]:
    """KB108: a name under which people give a fact leads to one fact only."""
    owners: dict[str, str] = {}
    for id_, placed in context.sources.of("facts").items():
        for index, name in enumerate((id_, *placed.value.aliases)):
            plain = re.sub(r"[\s_./-]+", "_", name.casefold())
            owner = owners.setdefault(plain, id_)
            if owner != id_:
                path: DataPath = ("aliases", index - 1) if index else ("id",)
                yield Remark(placed, path, f"'{name}' already means '{owner}'", "Keep it where most people mean it")


def _unknown(placed: Placed[Any], path: DataPath, what: str, name: str, known: Iterable[str]) -> Remark:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Define it, or use a {what} that exists"
    return Remark(placed, path, f"there is no {what} '{name}'", hint)


def gates_exist(context: Context) -> Iterator[Remark]:
    """KB109: every gate that another gate follows or a policy requires."""
    known = context.sources.objects["gates"]
    for placed in context.sources.of("gates").values():
        for index, name in enumerate(placed.value.follows):
            if not context.known("gates", name):
                yield _unknown(placed, ("follows", index), "gate", name, known)
    for placed in context.sources.of("policies").values():
        for index, name in enumerate(placed.value.requires):
            if not context.known("gates", name):
                yield _unknown(placed, ("requires", index), "gate", name, known)


def dangling(sources: Sources) -> list[Problem]:
    """Every reference to something that does not exist, examples left out: with one the engine cannot start."""
    context = Context(sources, {}, [], [])
    found = []
    for rule in (facts_exist, findings_exist, causes_exist, checks_exist, families_exist, gates_exist):
        for remark in rule(context):
            place, owner = remark.placed.place(*remark.path), getattr(remark.placed.value, "id", "")
            reason = f"{owner}: {remark.message}" if owner else remark.message
            found.append(Problem(str(remark.placed.file.path), *place, reason, remark.hint))
    return found


RULES = (
    Rule("KB101", "error", id_equals_path),
    Rule("KB102", "error", facts_exist),
    Rule("KB103", "error", findings_exist),
    Rule("KB104", "error", causes_exist),
    Rule("KB105", "error", checks_exist),
    Rule("KB106", "error", families_exist),
    Rule("KB107", "error", key_order),
    Rule("KB108", "error", names_are_unique),
    Rule("KB109", "error", gates_exist),
)
