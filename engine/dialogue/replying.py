"""The reply: what was understood, how the ranking moved, what was wished for, and the next question or the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.dialogue.changes import Change, evidence_of, grounds
from engine.dialogue.endings import confirms, ending
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
_EXPLAINS = ("why", "why-not", "how", "remedy", "more", "help")
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
    now = _stand(after, passed, knowledge, lang)
    command = turn.command if turn is not None else None
    in_full = turn is None or (command is not None and command.kind in _SHOW_RANKING)
    earlier = _Stand()
    if before is not None and turn is not None and not in_full:
        earlier = _stand(before, passed - len(turn.passed), knowledge, lang)
    ranking, unknown = _ranking(after, knowledge, lang), after["unknown"]["probability"]
    wished = _asked_back(turn, earlier, now) if turn is not None else []
    if command is not None:
        wished += granted(command, after, now.question, knowledge, lang, explained, undone)
    if in_full:
        wished.append(ranked(ranking, unknown, lang))
    change = Change(before, after, turn, knowledge, lang) if turn is not None else None
    understood, moves = (tuple(change.understood()), change.moves()) if change is not None else ((), ())
    paragraphs = ["\n".join(understood), moved(moves, lang) if turn is not None and _tells(turn) else "", *wished]
    if command is None or command.kind not in _LAST_WORDS + (_EXPLAINS if now.ending is not None else ()):
        paragraphs += _closing(earlier, now, passed, lang)
    return Reply(
        lang=lang,
        paragraphs=tuple(filter(None, paragraphs)),
        understood=understood,
        wished=tuple(wished),
        moved=moves,
        ranking=ranking,
        unknown=unknown,
        question=now.question,
        ending=now.ending,
    )


@dataclass(frozen=True, slots=True)
class _Stand:
    """Where a dialogue stands: what is asked next, and where it has ended."""

    question: Question | None = None
    ending: Ending | None = None


def _stand(diagnosis: Diagnosed, passed: int, knowledge: Knowledge, lang: Lang) -> _Stand:
    pending = question(diagnosis, knowledge, lang)
    return _Stand(pending, ending(diagnosis, pending, passed, knowledge, lang))


def _tells(turn: Turn) -> bool:
    """Whether the message may have moved the ranking: not knowing does not."""
    return bool(turn.facts or turn.evidence or set(turn.findings.values()) - {"unknown"})


def _asked_back(turn: Turn, earlier: _Stand, now: _Stand) -> list[str]:
    """The question back, unless it is about a question in whose place the message's own evidence has put another."""
    moved_on = turn.evidence and earlier.question is not None and not _same(earlier.question, now.question)
    return [turn.unclear] if turn.unclear and not moved_on else []


def _same(one: Question | None, other: Question | None) -> bool:
    return one is not None and other is not None and one.id == other.id


def _closing(earlier: _Stand, now: _Stand, passed: int, lang: Lang) -> list[str]:
    """The end and the next question, in full where they are new."""
    paragraphs: list[str] = []
    end, before = now.ending, earlier.ending
    if end is not None:
        known = before is not None and (before.kind, before.cause) == (end.kind, end.cause)
        paragraphs += [_still(end, lang)] if known and end.kind == "cause" else ended(end, now.question, passed, lang)
    if now.question is not None:
        words = asked(now.question, lang, in_full=not _same(earlier.question, now.question))
        paragraphs.append(words if end is None else say(_invitation(end, now.question), lang, ask=words))
    return paragraphs


def _invitation(end: Ending, pending: Question) -> str:
    """What introduces a question behind an end."""
    if confirms(end, pending):
        return "confirm-by"
    return "optional" if end.kind == "cause" else "go-on"


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
