"""What follows a change of a case as a Slack message: what changed, how the ranking moved, and the next question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from api.slack import kit
from api.slack.blocks import (
    CAUSE,
    SMALL,
    TEXT,
    Message,
    chance,
    lead_buttons,
    lines_block,
    question_blocks,
    remedy_blocks,
)
from api.slack.text import bold, escape, plain, said
from api.slack.words import percent, say

if TYPE_CHECKING:
    from api.cases.events import Outcome
    from engine.dialogue.model import Move, Reply
    from engine.model.base import Lang

SHOWN = 3


def reply_message(case_id: str, reply: Reply, told: Sequence[str], who: str, lang: Lang) -> Message:
    """An answer in the thread of a case.

    Args:
        told: what was understood, or what somebody did; in words, not escaped.
        who: did it, as mrkdwn; empty where it is plain.
    """
    first = [said(line, 400) + (f"  ({who})" if who else "") for line in told] + [
        escape(paragraph) for paragraph in reply.wished
    ]
    blocks = [lines_block(first, lang, CAUSE)] if first else []
    moves = [_move(move, lang) for move in reply.moved] or ([] if reply.wished else [say("ranking-same", lang)])
    if moves:
        blocks.append(lines_block(moves, lang, SMALL))
    ranking = [
        f"*{place}.* {bold(item.title)}  {chance(item.probability)}"
        for place, item in enumerate(reply.ranking[:SHOWN], 1)
    ]
    if ranking:
        ranking.append(f"_{say('nobody', lang, percent=chance(reply.unknown))}_")
        blocks.append(lines_block(ranking, lang, SMALL))
    if reply.ending is not None:
        blocks += remedy_blocks(reply.ending, reply.question, lang)
    blocks += question_blocks(case_id, reply.question, lang)
    if reply.ranking:
        blocks += lead_buttons(case_id, reply.ranking[0].cause, lang)
    lead = f"{reply.ranking[0].title} {percent(reply.ranking[0].probability)}" if reply.ranking else reply.text
    return Message(plain(lead, TEXT), blocks)


def _move(move: Move, lang: Lang) -> str:
    sign = "▲" if move.after > move.before else "▼"
    line = say("moved", lang, sign=sign, title=bold(move.title), before=chance(move.before), after=chance(move.after))
    return line + (say("moved-by", lang, by="; ".join(said(why, 200) for why in move.by)) if move.by else "")


def resolved_message(outcome: Outcome, titles: Mapping[str, str], who: str, lang: Lang) -> Message:
    """The case is closed. ``who`` is mrkdwn."""
    what = titles.get(outcome.cause, outcome.cause) if outcome.cause is not None else outcome.other
    head = say("resolved", lang, what=bold(what, 300))
    lines = [f"✓ {head}  ({who})"]
    lines += [
        say(key, lang, what=said(text, 600))
        for key, text in (("resolved-by", outcome.confirmed_by), ("resolved-remedy", outcome.remedy))
        if text
    ]
    if outcome.note:
        lines.append(said(outcome.note, 600))
    return Message(
        plain(say("resolved", lang, what=what), TEXT),
        [lines_block(lines, lang, CAUSE), kit.context(say("resolved-next", lang))],
    )
