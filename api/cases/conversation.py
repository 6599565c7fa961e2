"""The dialogue about a case: a message comes in, its meaning becomes an event, and the reply tells what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.access import Scope
from api.access.caller import require_scope
from api.cases import checks
from api.cases.events import Answered, Doubted, Evidence, Outcome, Said
from api.cases.state import answers_of
from api.messages import say
from api.problem import invalid_input
from api.validation import FieldError
from engine.dialogue import Question, Reply, Turn, cause_meant, question, reply, understand
from engine.model.case import Case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.access import Caller
    from api.cases.events import Body
    from api.cases.service import Cases
    from api.cases.view import CaseView
    from api.expert import Expert
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

MAX_MESSAGE = 200_000  # characters


class Conversation:
    """Talks about cases. It keeps nothing itself: the case does."""

    def __init__(self, cases: Cases, expert: Expert) -> None:
        self._cases = cases
        self._expert = expert

    def first(self, view: CaseView, lang: Lang) -> Reply:
        """What is said before anybody wrote a message: the ranking so far, and the first question."""
        passed = len(view.state.passed)
        return reply(None, view.ranked.data(lang), None, self._expert.knowledge, lang, passed=passed)

    async def say(self, caller: Caller, case_id: str, text: str, lang: Lang | None = None) -> tuple[CaseView, Reply]:
        """Take a message: answers, numbers, pasted lines, free text, or a wish.

        Args:
            lang: of the reply; default: that of the reply before, and that of the message where it is another.

        Raises:
            Problem: 404, 409 if the case is resolved and the message would change it, 422 if it is empty,
                403 if it would resolve the case and the caller may not.
        """
        if not text.strip():
            raise invalid_input((FieldError("body", "/text", say("no-message"), say("send-message")),))
        knowledge = self._expert.knowledge
        turn: Turn | None = None

        def body(view: CaseView) -> Body:
            nonlocal turn
            spoken = lang or _spoken(view)
            turn = understand(text, self._pending(view, spoken), knowledge, spoken)
            said = _said(text, turn, view, knowledge)
            if said.outcome is not None:
                require_scope(caller, Scope.CASES_RESOLVE)
            if turn.tells_anything or said.retracts:
                checks.require_open(view)
            return said

        async def complete(before: CaseView, after: CaseView) -> Body:
            assert turn is not None
            said = after.events[-1].body
            assert isinstance(said, Said)
            answer = reply(
                before.ranked.data(turn.lang),
                after.ranked.data(turn.lang),
                turn,
                knowledge,
                turn.lang,
                passed=len(after.state.passed),
                explained=await self._explained(caller, before, turn),
                undone=bool(said.retracts),
            )
            return said.model_copy(update={"reply": answer.model_dump(mode="json"), "lang": turn.lang})

        view = await self._cases.change(caller, case_id, body, complete=complete)
        assert view.state.reply is not None
        return view, Reply.model_validate(view.state.reply)

    def _pending(self, view: CaseView, lang: Lang) -> Question | None:
        """What was asked last: by the last reply, unless an answer, evidence or a retraction came after it."""
        knowledge = self._expert.knowledge
        last = next(event.body for event in reversed(view.events) if not _changes_no_question(event.body))
        if isinstance(last, Said):
            asked = last.reply["question"]
            return None if asked is None else Question.model_validate(asked)
        return question(view.ranked.data(lang), knowledge, lang)

    async def _explained(self, caller: Caller, view: CaseView, turn: Turn) -> Mapping[str, Any] | None:
        if turn.command is None or turn.command.kind not in ("why", "why-not"):
            return None
        cause = cause_meant(turn.command, view.ranked.data(turn.lang))
        if cause is None or cause not in self._expert.knowledge.active_causes:
            return None
        return await self._cases.explain(caller, view.id, cause, turn.lang)


def _changes_no_question(body: Body) -> bool:
    return isinstance(body, Doubted) or (isinstance(body, Said) and not body.reply)


def _spoken(view: CaseView) -> Lang:
    """The language of the last reply, or that in which the case was opened."""
    last = view.state.reply
    return last["lang"] if last is not None else view.state.lang


def _said(text: str, turn: Turn, view: CaseView, knowledge: Knowledge) -> Said:
    document = Case.model_validate(turn.evidence).model_dump(exclude_defaults=True) if turn.evidence else {}
    return Said(
        text=text,
        lang=turn.lang,
        evidence=Evidence(document=document),
        answers=answers_of(turn),
        retracts=_retracted(turn, view),
        outcome=_outcome(turn, view, knowledge),
    )


def _retracted(turn: Turn, view: CaseView) -> tuple[int, ...]:
    """What is taken back: the last thing that was told, or with *restart* all of it."""
    kind = turn.command.kind if turn.command is not None else None
    if kind not in ("undo", "restart"):
        return ()
    told = [
        event.seq
        for event in view.events
        if event.seq not in view.state.retracted
        and (
            isinstance(event.body, Answered)
            or (isinstance(event.body, Said) and not (event.body.evidence.is_empty and event.body.answers.is_empty))
        )
    ]
    return tuple(told if kind == "restart" else told[-1:])


def _outcome(turn: Turn, view: CaseView, knowledge: Knowledge) -> Outcome | None:
    if turn.command is None or turn.command.kind != "resolve":
        return None
    cause = cause_meant(turn.command, view.ranked.data(turn.lang))
    if cause is not None and cause in knowledge.causes:
        return Outcome(cause=cause)
    return Outcome(other=turn.command.words) if turn.command.words else None
