"""Where questions end: a decided cause with its check and remedy, or an honest unknown and what would lower it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.dialogue.changes import grounds
from engine.dialogue.lead import decided, leads
from engine.dialogue.model import Confirmation, Ending, Question, Remedy
from engine.dialogue.questions import cause_title, effort
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.kb import Check

MAX_PASSED = 8
"""After so many questions that could not be answered the dialogue says that it does not know: whoever has no way to
look gains more from fetching a log than from further questions."""

ENOUGH_PASSED = 2
"""After so many, a lead that rests on the likeness of the words more than on evidence is told as it stands."""

SHOWN_EVIDENCE = 3
SHOWN_REMEDIES = 2


def ending(
    diagnosis: Mapping[str, Any], pending: Question | None, passed: int, knowledge: Knowledge, lang: Lang
) -> Ending | None:
    """The end that a diagnosis (in ``lang``) has come to, None if it is worth asking on.

    Args:
        pending: the next question, None if nothing that is left to ask teaches anything.
        passed: how many questions could not be answered.
    """
    lead = diagnosis["causes"][0] if diagnosis["causes"] else None
    if not diagnosis["findings"]:  # nobody has said what is wrong
        return _unknown(diagnosis) if passed else None
    if lead is not None and _is_decided(diagnosis, pending, passed):
        return _decided(lead, pending, diagnosis, knowledge, lang)
    if pending is not None and passed < MAX_PASSED:
        return None
    if lead is None or diagnosis["unknown"]["probability"] >= lead["probability"]:
        return _unknown(diagnosis)
    return _open(lead, diagnosis, knowledge, lang)


def confirms(end: Ending, pending: Question | None) -> bool:
    """Whether what is asked next is the check that confirms the cause: it is told once then."""
    return end.confirm is not None and pending is not None and pending.id == end.confirm.id


def _is_decided(diagnosis: Mapping[str, Any], pending: Question | None, passed: int) -> bool:
    if decided(diagnosis) is not None:
        return True
    return leads(diagnosis) is not None and (pending is None or passed >= ENOUGH_PASSED)


def _unknown(diagnosis: Mapping[str, Any]) -> Ending:
    unknown = diagnosis["unknown"]
    return Ending(
        kind="unknown", probability=unknown["probability"], why=unknown["why"], would_help=_would_help(diagnosis)
    )


def _would_help(diagnosis: Mapping[str, Any]) -> tuple[str, ...]:
    """Checks that would tell, and what could not be judged for want of material."""
    checks = diagnosis["unknown"]["would_help"]
    return (*checks, *(f"{gap['what']}: {gap['why']}" for gap in diagnosis["coverage"]["not_judged"]))


def _decided(
    lead: Mapping[str, Any],
    pending: Question | None,
    diagnosis: Mapping[str, Any],
    knowledge: Knowledge,
    lang: Lang,
) -> Ending:
    return Ending(
        kind="cause",
        cause=lead["id"],
        title=cause_title(lead["id"], knowledge, lang),
        probability=lead["probability"],
        expected=lead["expected"],
        evidence=tuple(grounds(item, lang) for item in lead["evidence_for"][:SHOWN_EVIDENCE]),
        confirm=_confirmation(lead, pending, diagnosis, knowledge, lang),
        remedies=remedies_of(lead),
    )


def remedies_of(cause: Mapping[str, Any]) -> tuple[Remedy, ...]:
    """The first remedies of a cause of a diagnosis."""
    return tuple(
        Remedy(do=item["do"], minutes=item["minutes"], risk=item["risk"], undo=item["undo"])
        for item in cause["remedies"][:SHOWN_REMEDIES]
    )


def _open(lead: Mapping[str, Any], diagnosis: Mapping[str, Any], knowledge: Knowledge, lang: Lang) -> Ending:
    """No remedy: nobody should act upon a cause that only leads."""
    return Ending(
        kind="open",
        cause=lead["id"],
        title=cause_title(lead["id"], knowledge, lang),
        probability=lead["probability"],
        would_help=_would_help(diagnosis),
    )


def _confirmation(
    lead: Mapping[str, Any],
    pending: Question | None,
    diagnosis: Mapping[str, Any],
    knowledge: Knowledge,
    lang: Lang,
) -> Confirmation | None:
    """The check of the cause's own that is asked next; else the cheapest that settles what it shows and is unknown."""
    cause = knowledge.causes.get(lead["id"])
    if cause is None:
        return None
    if pending is not None and pending.id in cause.checks:
        check: Check | None = knowledge.checks[pending.id]
    else:
        known = {item["finding"] for item in (*lead["evidence_for"], *lead["evidence_against"])}
        known |= {item["id"] for item in (*diagnosis["findings"], *diagnosis["context"])}
        open_ = {link.finding for link in cause.shows} - known
        checks = [knowledge.checks[id_] for id_ in cause.checks if id_ in knowledge.checks]
        check = min((check for check in checks if open_.intersection(check.settles)), key=effort, default=None)
    if check is None:
        return None
    return Confirmation(
        id=check.id, title=check.title.get(lang), how=check.how.get(lang), commands=dict(check.commands),
        minutes=check.minutes, risk=check.risk,
    )  # fmt: skip
