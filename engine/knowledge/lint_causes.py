"""KB4xx: causes that could not be told from others, or not be seen at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.knowledge.lint_context import Context, Remark, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.model.kb import Cause, Finding

MIN_VISIBLE = 2


def has_strong_link(context: Context) -> Iterator[Remark]:
    """KB401: at least one finding is there usually or always."""
    for placed in context.causes():
        if not any(link.how in ("usually", "always") for link in placed.value.shows):
            hint = "Name a finding that is there usually or always; without one the cause can never be ruled out"
            yield Remark(placed, ("shows",), "no finding is shown usually or always", hint)


def is_visible(context: Context) -> Iterator[Remark]:
    """KB402: the reporter can see at least two of the findings without a check."""
    for placed in context.causes():
        seen = [finding for finding in _shown(placed.value, context) if finding.visible]
        if _all_known(placed.value, context) and len(seen) < MIN_VISIBLE:
            hint = f"Add what the reporter notices first; at least {MIN_VISIBLE} findings with 'visible: true'"
            yield Remark(placed, ("shows",), f"{len(seen)} of its findings can be seen without a check", hint)


def has_mechanism(context: Context) -> Iterator[Remark]:
    """KB403: at least one finding is a mechanism; symptoms and context alone fit many causes.

    What is expected has none: it is told by what is normal beside it.
    """
    for placed in context.causes():
        if (
            not placed.value.expected
            and _all_known(placed.value, context)
            and not any(finding.role == "mechanism" for finding in _shown(placed.value, context))
        ):
            hint = "Add the finding that proves it, with 'role: mechanism', and a check that settles it"
            yield Remark(placed, ("shows",), "no finding is a mechanism", hint)


def checks_settle(context: Context) -> Iterator[Remark]:
    """KB404: each check settles a finding that the cause or one of its rivals shows."""
    causes = context.sources.objects["causes"]
    for placed in context.causes():
        cause = placed.value
        rivals = [causes[rival.cause].value for rival in cause.confused_with if rival.cause in causes]
        shown = {name for one in (cause, *rivals) for name in _linked(one)}
        for index, name in enumerate(cause.checks):
            check = context.sources.objects["checks"].get(name)
            if check is not None and shown.isdisjoint(check.value.settles):
                message = f"the check '{name}' settles nothing that the cause or a rival shows"
                hint = f"It settles {', '.join(check.value.settles)}; name another check, or show one of these"
                yield Remark(placed, ("checks", index), message, hint)


def links_are_distinct(context: Context) -> Iterator[Remark]:
    """KB405: no finding twice, and none both shown and ruled out by its presence."""
    for placed in context.causes():
        seen: set[str] = set()
        for index, link in enumerate(placed.value.shows):
            if link.finding in seen:
                message = f"'{link.finding}' is shown twice"
                yield Remark(placed, ("shows", index), message, "Keep the entry that is right")
            seen.add(link.finding)
        for index, exclusion in enumerate(placed.value.rules_out):
            if exclusion.is_ == "present" and exclusion.finding in seen:
                message = f"'{exclusion.finding}' is shown by the cause and rules it out"
                yield Remark(placed, ("rules_out", index), message, "Keep one of the two")


def names_rivals(context: Context) -> Iterator[Remark]:
    """KB407: a cause names what it is confused with."""
    for placed in context.causes():
        if not placed.value.confused_with:
            hint = "Name the cause it is most often taken for, and the sentence that separates the two"
            yield Remark(placed, (), "it names no cause it is confused with", hint)


def rivals_agree(context: Context) -> Iterator[Remark]:
    """KB408: confusion works both ways."""
    causes = context.sources.objects["causes"]
    for placed in context.causes():
        for index, rival in enumerate(placed.value.confused_with):
            other = causes.get(rival.cause)
            if other is not None and all(back.cause != placed.value.id for back in other.value.confused_with):
                message = f"'{rival.cause}' does not name this cause in turn"
                hint = f"Add it to 'confused_with' in {other.file.relative}"
                yield Remark(placed, ("confused_with", index), message, hint)


def presents_itself(context: Context) -> Iterator[Remark]:
    """KB409: what the engineer writes first, in both languages and in several wordings."""
    for placed in context.causes():
        for lang in ("en", "zh"):
            wordings = placed.value.presentation.get(lang, ())
            if len(set(wordings)) < 2:
                message = f"'presentation' has {len(set(wordings))} different wordings in '{lang}'"
                yield Remark(placed, ("presentation",), message, "Write at least two, as an engineer would write them")


def _linked(cause: Cause) -> set[str]:
    return {link.finding for link in cause.shows} | {exclusion.finding for exclusion in cause.rules_out}


def _shown(cause: Cause, context: Context) -> list[Finding]:
    return [context.findings[link.finding] for link in cause.shows if link.finding in context.findings]


def _all_known(cause: Cause, context: Context) -> bool:
    return len(_shown(cause, context)) == len(cause.shows)


RULES = (
    Rule("KB401", "error", has_strong_link),
    Rule("KB402", "error", is_visible),
    Rule("KB403", "error", has_mechanism),
    Rule("KB404", "error", checks_settle),
    Rule("KB405", "error", links_are_distinct),
    Rule("KB407", "warning", names_rivals),
    Rule("KB408", "warning", rivals_agree),
    Rule("KB409", "error", presents_itself),
)
