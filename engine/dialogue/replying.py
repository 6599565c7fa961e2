"""The reply: what was understood, how the ranking moved, what was wished for, and the next question or the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.dialogue.changes import Change, evidence_of, grounds
from engine.dialogue.endings import ending
from engine.dialogue.model import Ending, Question, Ranked, Reply, Turn
from engine.dialogue.questions import cause_title, question
from engine.dialogue.speech import asked, ended, moved, ranked
from engine.dialogue.wishes import granted
from engine.dialogue.wording import say
from engine.inference.wording import percent
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang

Diagnosed = Mapping[str, Any]

RANKED = 5
REASONS = 2
_SHOW_RANKING = ("ranking", "undo", "restart", "language")
_LAST_WORDS = ("stop", "resolve")


def reply(
    before: Diagnosed | None,
    after: Diagnosed,
    turn: Turn | None,
    knowledge: Knowledge,
    lang: Lang,
    *,
    passed: int = 0,
    explained: Diagnosed | None = None,
    undone: bool = True,
) -> Reply:
    """The reply to a message, or the first words of a dialogue (``turn`` None).

    Args:
        before, after: the diagnoses before and after the message, as ``Diagnoser.answer`` gives them in ``lang``.
        turn: what the message was understood to mean.
        passed: how many questions could not be answered so far; many of them end the dialogue.
        explained: what ``Diagnoser.why_not`` says of the cause that the message asks about (see ``cause_meant``).
        undone: whether there was something to take back, if that was wished for.
    """
    pending = question(after, knowledge, lang)
    end = ending(after, pending, passed, knowledge, lang)
    ranking, unknown = _ranking(after, knowledge, lang), after["unknown"]["probability"]
    change = Change(before, after, turn, knowledge, lang) if turn is not None else None
    understood = tuple(change.understood()) if change is not None else ()
    moves = change.moves() if change is not None else ()
    command = turn.command if turn is not None else None
    wished = [turn.unclear] if turn is not None and turn.unclear else []
    if command is not None:
        wished += granted(command, after, pending, knowledge, lang, explained, undone)
    if turn is None or (command is not None and command.kind in _SHOW_RANKING):
        wished.append(ranked(ranking, unknown, lang))
        before = None  # what stands has to be said, whether it was said before or not
    told = turn is not None and (turn.facts or turn.evidence or set(turn.findings.values()) - {"unknown"})
    paragraphs = ["\n".join(understood), moved(moves, lang) if told else "", *wished]
    if command is None or command.kind not in _LAST_WORDS:
        earlier = _earlier(before, turn, passed, knowledge, lang)
        paragraphs += _closing(earlier, (pending, end), passed, lang)
    return Reply(
        lang=lang,
        paragraphs=tuple(filter(None, paragraphs)),
        understood=understood,
        wished=tuple(wished),
        moved=moves,
        ranking=ranking,
        unknown=unknown,
        question=pending,
        ending=end,
    )


_Stand = tuple[Question | None, Ending | None]
"""Where a dialogue stands: what is asked next, and where it has ended."""


def _earlier(before: Diagnosed | None, turn: Turn | None, passed: int, knowledge: Knowledge, lang: Lang) -> _Stand:
    """Where the dialogue stood before the message."""
    if before is None or turn is None:
        return None, None
    pending = question(before, knowledge, lang)
    return pending, ending(before, pending, passed - len(turn.passed), knowledge, lang)


def _closing(earlier: _Stand, now: _Stand, passed: int, lang: Lang) -> list[str]:
    """The end and the next question, in full where they are new."""
    (asked_before, end_before), (pending, end) = earlier, now
    paragraphs: list[str] = []
    if end is not None:
        known = end_before is not None and (end_before.kind, end_before.cause) == (end.kind, end.cause)
        still = known and end.kind == "cause"
        paragraphs += [_still(end, lang)] if still else ended(end, passed, lang)
    if pending is not None:
        words = asked(pending, lang, in_full=asked_before is None or asked_before.id != pending.id)
        key = "optional" if end is not None and end.kind == "cause" else "go-on"
        paragraphs.append(words if end is None else say(key, lang, ask=words))
    return paragraphs


def _still(end: Ending, lang: Lang) -> str:
    return say("still", lang, title=end.title, percent=percent(end.probability))


def _ranking(diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang) -> tuple[Ranked, ...]:
    return tuple(
        Ranked(
            cause=cause["id"],
            title=cause_title(cause["id"], knowledge, lang),
            probability=cause["probability"],
            reasons=tuple(grounds(item, lang) for item in evidence_of(cause)[:REASONS]),
        )
        for cause in diagnosis["causes"][:RANKED]
    )
