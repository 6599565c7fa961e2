"""One Markdown page about any object of the knowledge base, in English or Chinese."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from engine.knowledge.files import KINDS
from engine.knowledge.words import label, word
from engine.model.base import Lang, Text
from engine.model.conditions import AllOf, AnyOf, Condition, FactOperand, FactTest, FindingTest, NotOf
from engine.model.kb import Cause, Check, Fact, Finding, Gate, Pipeline, Policy, Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from engine.knowledge.advice import Advice
    from engine.knowledge.knowledge import Knowledge
    from engine.knowledge.retired import Retired


class UnknownObjectError(LookupError):
    """No object has this id; the message names the nearest ones."""


class _Page:
    """Lines of one page; every label and text goes through the language."""

    def __init__(self, lang: Lang) -> None:
        self.lang = lang
        self.lines: list[str] = []

    def label(self, english: str) -> str:
        return label(english, self.lang)

    def word(self, english: str) -> str:
        return word(english, self.lang)

    def title(self, kind: str, id_: str, title: str) -> None:
        self.lines += [f"# {title}", "", f"{self.label(kind)} `{id_}`", ""]

    def facts(self, **pairs: Any) -> None:
        """A line of short properties; empty ones are left out."""
        said = [
            f"{self.label(word.replace('_', ' '))}: {value}" for word, value in pairs.items() if value not in (None, "")
        ]
        if said:
            self.lines += [" · ".join(said), ""]

    def section(self, name: str, *texts: Text | str | None) -> None:
        said = [text.get(self.lang) if isinstance(text, Text) else text for text in texts if text]
        if said:
            self.lines += [f"## {self.label(name)}", "", *said, ""]

    def bullets(self, name: str, entries: Iterable[str]) -> None:
        self.section(name, "\n".join(f"- {entry}" for entry in entries))

    def text(self) -> str:
        return "\n".join(self.lines).rstrip("\n") + "\n"


def explain(knowledge: Knowledge, id_: str, lang: Lang = "en") -> str:
    """A Markdown page about the object with this id; if several kinds share it, one page after the other.

    Raises:
        UnknownObjectError: if no object has this id.
    """
    pages = [page_of(knowledge, kind.name, id_, lang) for kind in KINDS if id_ in getattr(knowledge, kind.name)]
    if not pages:
        ids = [other for kind in KINDS for other in getattr(knowledge, kind.name)]
        near = difflib.get_close_matches(id_, ids, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownObjectError(f"nothing in the knowledge base is called '{id_}'{hint}")
    return "\n".join(pages)


def page_of(knowledge: Knowledge, kind: str, id_: str, lang: Lang = "en") -> str:
    """The page of one object of a kind.

    Raises:
        KeyError: if there is none.
    """
    page = _Page(lang)
    _WRITERS[kind](page, getattr(knowledge, kind)[id_], knowledge)
    return page.text()


def say(condition: Condition, lang: Lang = "en") -> str:
    """A condition as one line of text."""
    match condition:
        case AllOf():
            return _joined(condition.all, "and", lang)
        case AnyOf():
            return _joined(condition.any, "or", lang)
        case NotOf():
            return f"{word('not', lang)} {say(condition.not_, lang)}"
        case FindingTest():
            return f"`{condition.finding}` {word('is', lang)} {word(condition.is_, lang)}"
        case FactTest():
            return f"`{condition.fact}` {_test(condition, lang)}"


def _joined(parts: tuple[Condition, ...], by: str, lang: Lang) -> str:
    return "(" + f" {word(by, lang)} ".join(say(part, lang) for part in parts) + ")"


def _test(test: FactTest, lang: Lang) -> str:
    if test.op in ("known", "unknown"):
        return word(f"is {test.op}", lang)
    operator, operand = word(test.op.replace("_", " "), lang), test.operand
    if isinstance(operand, FactOperand):
        times = f"{operand.times:g} × " if operand.times != 1 else ""
        plus = f" + {operand.plus:g}" if operand.plus else ""
        return f"{operator} {times}`{operand.fact}`{plus}"
    return f"{operator} {', '.join(map(_value, operand)) if isinstance(operand, tuple) else _value(operand)}"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _named(objects: Mapping[str, Any], id_: str, lang: Lang) -> str:
    return f"{objects[id_].title.get(lang)} (`{id_}`)" if id_ in objects else f"`{id_}`"


def _cause(page: _Page, cause: Cause, knowledge: Knowledge) -> None:
    lang = page.lang
    page.title("cause", cause.id, cause.title.get(lang))
    paradigms = ", ".join(cause.paradigms)
    page.facts(
        family=cause.family,
        status=cause.status,
        station=cause.station,
        prior=cause.prior,
        paradigms=paradigms,
    )
    page.section("meaning", cause.meaning)
    page.section("impact", cause.impact)
    page.bullets(
        "shows",
        (f"{page.word(link.how)}: {_named(knowledge.findings, link.finding, lang)}" for link in cause.shows),
    )
    excluded = (f"{_named(knowledge.findings, one.finding, lang)}: {page.word(one.is_)}" for one in cause.rules_out)
    page.bullets("ruled out by", excluded)
    page.bullets("checks", (_named(knowledge.checks, name, lang) for name in cause.checks))
    page.bullets("remedies", (_remedy(page, remedy) for remedy in cause.remedies))
    rivals = (f"{_named(knowledge.causes, one.cause, lang)}: {one.boundary.get(lang)}" for one in cause.confused_with)
    page.bullets("confused with", rivals)
    page.section("blind spots", cause.blind_spots)
    page.bullets("references", (_reference(one.title, one.url) for one in cause.references))


def _remedy(page: _Page, remedy: Any) -> str:
    undo = f" {page.label('undo')}: {remedy.undo.get(page.lang)}" if remedy.undo else ""
    effort = f"{page.label('minutes')}: {remedy.minutes:g}, {page.label('risk')}: {page.word(remedy.risk)}"
    return f"{remedy.do.get(page.lang)} ({page.word(remedy.repairs)}; {effort}){undo}"


def _reference(title: str, url: str | None) -> str:
    return f"[{title}]({url})" if url else title


def _finding(page: _Page, finding: Finding, knowledge: Knowledge) -> None:
    lang = page.lang
    page.title("finding", finding.id, finding.title.get(lang))
    page.facts(role=finding.role)
    page.section("when", say(finding.when, lang) if finding.when else None)
    page.section("because", finding.because)
    page.section("ask", finding.ask)
    settling = (check.id for check in knowledge.checks.values() if finding.id in check.settles)
    page.bullets("checks", (_named(knowledge.checks, name, lang) for name in settling))
    showing = (
        f"{page.word(link.how)}: {_named(knowledge.causes, cause.id, lang)}"
        for cause in knowledge.causes.values()
        for link in cause.shows
        if link.finding == finding.id
    )
    page.bullets("causes that show it", showing)
    if finding.reference:
        page.bullets("references", [_reference(finding.reference.title, finding.reference.url)])


def _fact(page: _Page, fact: Fact, knowledge: Knowledge) -> None:
    page.title("fact", fact.id, fact.title.get(page.lang))
    page.facts(type=fact.type, unit=fact.unit, aliases=", ".join(fact.aliases))
    page.bullets("values", (f"{name}: {', '.join(words)}" for name, words in (fact.values or {}).items()))
    page.section("derived as", fact.derive and f"`{fact.derive}`")
    page.section("ask", fact.ask)
    readers = (one.id for one in knowledge.findings.values() if one.when and f"`{fact.id}`" in say(one.when))
    page.bullets("read by", (_named(knowledge.findings, name, page.lang) for name in readers))
    if fact.reference:
        page.bullets("references", [_reference(fact.reference.title, fact.reference.url)])


def _check(page: _Page, check: Check, knowledge: Knowledge) -> None:
    page.title("check", check.id, check.title.get(page.lang))
    page.facts(minutes=f"{check.minutes:g}", risk=check.risk)
    page.section("how", check.how)
    page.bullets("commands", (f"{name}: `{command}`" for name, command in check.commands.items()))
    page.bullets("settles", (_named(knowledge.findings, name, page.lang) for name in check.settles))


def _gate(page: _Page, gate: Gate, knowledge: Knowledge) -> None:
    page.title("gate", gate.id, gate.title.get(page.lang))
    page.facts(stage=gate.stage, severity=gate.severity, paradigms=", ".join(gate.paradigms))
    page.section("requires", gate.requires)
    page.section("applies when", say(gate.applies, page.lang) if gate.applies is not None else None)
    page.section("passes when", say(gate.passes, page.lang))
    page.section("because", gate.because)
    page.bullets("follows", (_named(knowledge.gates, name, page.lang) for name in gate.follows))
    page.bullets("checks", (_named(knowledge.checks, name, page.lang) for name in gate.checks))
    page.bullets("leads to", (_named(knowledge.causes, name, page.lang) for name in gate.leads_to))


def _policy(page: _Page, policy: Policy, knowledge: Knowledge) -> None:
    page.title("policy", policy.id, policy.title.get(page.lang))
    page.facts(
        kinds=", ".join(policy.kinds), paradigms=", ".join(policy.paradigms), releases=", ".join(policy.release_kinds)
    )
    page.section("because", policy.because)
    page.bullets("requires", (_named(knowledge.gates, name, page.lang) for name in policy.requires))


def _signature(page: _Page, signature: Signature, _: Knowledge) -> None:
    page.title("signature", signature.id, signature.id)
    page.facts(role=signature.role)
    page.section("pattern", f"`{signature.pattern}`")
    page.section("unless", signature.unless and f"`{signature.unless}`")
    sets = (*filter(None, (signature.finding, signature.fact)), *signature.fields.values())
    page.bullets("sets", (f"`{name}`" for name in sets))
    page.bullets("examples", (f"`{line}`" for line in signature.examples))


def _pipeline(page: _Page, pipeline: Pipeline, _: Knowledge) -> None:
    page.title("pipeline", pipeline.paradigm, pipeline.title.get(page.lang))
    for entry in pipeline.stations:
        page.lines += [f"## {entry.title.get(page.lang)}", ""]
        for name in ("input", "action", "output", "cpu", "accelerator", "network", "check", "failure"):
            page.lines.append(f"- **{page.label(name)}**: {getattr(entry, name).get(page.lang)}")
        page.lines.append("")
    for name in ("tokens", "memory", "synchronised", "evaluation"):
        page.section(name, getattr(pipeline.follows, name))


def _advice(page: _Page, advice: Advice, _: Knowledge) -> None:
    page.title("advice", advice.id, advice.title.get(page.lang))
    page.section("splits", advice.splits)
    page.section("when to use", advice.use_when, say(advice.when, page.lang))
    page.section("when to avoid", advice.avoid_when, say(advice.against, page.lang) if advice.against else None)
    for name in ("memory", "communication", "convergence", "costs", "verdict"):
        page.section(name, getattr(advice, name))


def _retired(page: _Page, retired: Retired, _: Knowledge) -> None:
    page.title("retired", retired.id, retired.id)
    page.facts(kind=page.label(retired.kind), since=retired.since)
    page.section("because", retired.because)
    page.bullets("instead", (f"`{name}`" for name in retired.instead))


_WRITERS: dict[str, Callable[[_Page, Any, Knowledge], None]] = {
    "facts": _fact,
    "findings": _finding,
    "causes": _cause,
    "checks": _check,
    "gates": _gate,
    "policies": _policy,
    "signatures": _signature,
    "pipelines": _pipeline,
    "advice": _advice,
    "retired": _retired,
}
