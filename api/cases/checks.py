"""What a change of a case must be like to be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.cases.events import Added, Answered, Opened, Retracted, Said
from api.messages import as_is, say
from api.problem import Problem, invalid_input, too_large
from api.validation import FieldError
from engine.model.case import (
    MAX_FILES,
    MAX_LOG_LINES,
    MAX_OBSERVATIONS,
    MAX_REPORT,
    MAX_SERIES,
    Case,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from api.cases.events import Answers, Outcome
    from api.cases.state import CaseState
    from api.cases.view import CaseView
    from engine.diagnose import Diagnoser
    from engine.knowledge.knowledge import Knowledge
    from engine.model.evidence import NotUnderstood

_ROOM = {
    "report": MAX_REPORT,
    "observations": MAX_OBSERVATIONS,
    "log": MAX_LOG_LINES,
    "series": MAX_SERIES,
    "files": MAX_FILES,
}


def require_known_ids(knowledge: Knowledge, answers: Answers) -> None:
    """Refuse answers that say nothing, or name facts and findings that there are not.

    Raises:
        Problem: 422.
    """
    if answers.is_empty:
        raise invalid_input((FieldError("body", "", say("no-answer"), say("send-answer")),))
    errors = [
        FieldError("body", _pointer(part, name), say("no-such-fact"), say("see-facts"))
        for part, name in unknown_ids(knowledge, answers)
    ]
    if errors:
        raise invalid_input(errors)


def unknown_ids(knowledge: Knowledge, answers: Answers) -> list[tuple[str, str]]:
    """The part (``findings``, ``facts``) and the id of what is answered and is not in the knowledge base."""
    unknown = [("findings", name) for name in answers.findings if name not in knowledge.findings]
    known = knowledge.facts.keys() | knowledge.findings.keys()
    return unknown + [("facts", name) for name in answers.facts if name not in known]


def require_readable(diagnoser: Diagnoser, answers: Answers) -> None:
    """Refuse facts whose values are not of their type; evidence of that kind is kept and shown back, an answer is not.

    Raises:
        Problem: 422.
    """
    errors = [
        FieldError("body", _pointer("facts", unread.where.removeprefix("facts.")), as_is(unread.why), say("see-facts"))
        for unread in unread_facts(diagnoser, answers.facts)
    ]
    if errors:
        raise invalid_input(errors)


def unread_facts(diagnoser: Diagnoser, facts: Mapping[str, Any]) -> Sequence[NotUnderstood]:
    """What of stated facts cannot be used, as ``facts.ID``, and why."""
    return diagnoser.collect(Case(facts=dict(facts))).not_understood


def require_outcome(knowledge: Knowledge, outcome: Outcome) -> None:
    """Refuse an outcome without a cause.

    Raises:
        Problem: 422.
    """
    if outcome.cause is None and not any(sign.isprintable() and not sign.isspace() for sign in outcome.other):
        raise invalid_input((FieldError("body", "", say("no-outcome"), say("see-causes")),))
    if outcome.cause is not None:
        require_cause(knowledge, outcome.cause)


def require_cause(knowledge: Knowledge, cause: str) -> None:
    """Refuse a cause that the knowledge base does not have.

    Raises:
        Problem: 422.
    """
    if cause not in knowledge.causes:
        raise invalid_input((FieldError("body", "/cause", say("no-such-cause"), say("see-causes")),))


def require_size(state: CaseState, limit: int) -> None:
    """Refuse more than ``limit`` bytes of files.

    Raises:
        Problem: 413.
    """
    if sum(ref.size for ref in state.files) > limit:
        raise too_large("case-files", limit)


def require_room(state: CaseState) -> None:
    """Refuse more words, numbers and lines than one case can hold together.

    Raises:
        Problem: 413.
    """
    document = state.document
    for key, most in _ROOM.items():
        if len(document.get(key, ())) > most:
            raise Problem("too-large", say("case-full", key=key, most=most))


def require_open(view: CaseView) -> None:
    """Refuse to change a resolved case.

    Raises:
        Problem: 409 ``case-resolved``.
    """
    if view.state.is_resolved:
        raise Problem("case-resolved", say("case-resolved"))


def require_retractable(view: CaseView, seq: int) -> None:
    """Refuse to take back what brought nothing.

    Raises:
        Problem: 404 ``unknown-event``, or 422.
    """
    if not 1 <= seq <= view.head.revision:
        raise Problem("unknown-event", say("no-event", seq=seq, count=view.head.revision))
    if not isinstance(view.events[seq - 1].body, Opened | Added | Answered | Said | Retracted):
        raise Problem("unknown-event", say("not-retractable", seq=seq))


def _pointer(part: str, name: str) -> str:
    """RFC 6901."""
    return f"/{part}/" + name.replace("~", "~0").replace("/", "~1")
