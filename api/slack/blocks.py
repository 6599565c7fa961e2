"""A diagnosis and what follows from it as Slack messages. Pure: plain data in, Block Kit out.

Everything that comes from a case or the knowledge base goes through :mod:`api.slack.text`, so that none of it can
mention, link or format; every piece is bounded, so a whole message stays below 50 blocks and some 12,000 characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.slack import kit
from api.slack.kit import Block
from api.slack.text import bold, clip, escape, listing, plain, quoted, said
from api.slack.words import percent, say
from engine.dialogue.endings import confirms
from engine.dialogue.lead import leads
from engine.dialogue.model import Ending, Option, Question, Reply
from engine.dialogue.wording import RISK
from engine.model.base import Lang

CAUSES, EVIDENCE = 3, 4
CAUSE, CHECK, SMALL = 2000, 2500, 1000  # characters of a section
TEXT = 300  # of the line that notifications show
QUESTION = "question"  # id of the row of buttons that an answer takes away


@dataclass(frozen=True)
class Message:
    """What to post: blocks, and the line for notifications and readers of the screen."""

    text: str
    blocks: list[Block]


def diagnosis_message(case_id: str, diagnosis: Mapping[str, Any], reply: Reply, lang: Lang) -> Message:
    """The answer to a new case.

    Args:
        diagnosis: as ``POST /v1/diagnoses`` answers it, in ``lang``.
        reply: the first words of the dialogue about it: what to ask next, or the end.
    """
    causes = diagnosis["causes"][:CAUSES]
    blocks = [kit.header(_headline(diagnosis, lang))]
    if not causes:
        blocks.append(lines_block([said(diagnosis["summary"], 600)], lang, SMALL))
    blocks += [_cause(place, cause, case_id, lang) for place, cause in enumerate(causes, 1)]
    blocks.append(kit.context(*_unknown(diagnosis, lang)))
    if reply.ending is not None:
        blocks += remedy_blocks(reply.ending, reply.question, lang)
    blocks += question_blocks(case_id, reply.question, lang)
    if causes:
        blocks += lead_buttons(case_id, causes[0]["id"], lang)
    blocks.append(kit.context(say("footer", lang, case=case_id[:8])))
    return Message(plain(diagnosis["summary"], TEXT), blocks)


def _headline(diagnosis: Mapping[str, Any], lang: Lang) -> str:
    """The cause in front, as surely as it is known: who reads no further must not take a guess for the answer."""
    if not diagnosis["causes"]:
        return say("no-cause", lang)
    lead = diagnosis["causes"][0]
    if leads(diagnosis) is not None:
        return str(lead["title"])
    if diagnosis["unknown"]["probability"] >= lead["probability"]:
        return say("undecided", lang)
    return say("perhaps", lang, title=lead["title"])


def chance(probability: float) -> str:
    """A probability as mrkdwn."""
    return escape(percent(probability))


def lines_block(lines: Sequence[str], lang: Lang, limit: int, accessory: Block | None = None) -> Block:
    """A section of lines, as many as fit into ``limit`` characters."""
    return kit.section(lines, say("more", lang), limit, accessory)


def _cause(place: int, cause: Mapping[str, Any], case_id: str, lang: Lang) -> Block:
    marks = [chance(cause["probability"])]
    if cause["status"] != "stable":
        marks.append(say("trial", lang))
    if cause.get("expected"):
        marks.append(say("expected", lang))
    lines = [f"*{place}.* {bold(cause['title'])}  {' · '.join(marks)}", f"_{_upright(cause['meaning'])}_"]
    shown = cause["evidence_for"][:EVIDENCE]
    for evidence in shown:
        lines += evidence_lines(evidence)
    if not shown and cause["resembles"] > 0:
        lines.append(say("alike", lang))
    if len(cause["evidence_for"]) > len(shown):
        lines.append(say("more", lang, count=len(cause["evidence_for"]) - len(shown)))
    lines += [f"– {say('against', lang, what=said(item['because']))}" for item in cause["evidence_against"][:2]]
    return lines_block(lines, lang, CAUSE, _menu(case_id, cause["id"], lang))


def _upright(text: str) -> str:
    """For italics: an underscore at the edge of a word would end them."""
    return said(text, 400).replace("_", "\u02cd")


def evidence_lines(evidence: Mapping[str, Any]) -> list[str]:
    """What speaks for a cause, where that was read, and in which words unless the sentence quotes them."""
    because, sources = evidence["because"], evidence.get("sources") or ()
    where = f" · {said(sources[0]['where'], 80)}" if sources else ""
    quote = str(sources[0].get("quote") or "") if sources else ""
    lines = [f"• {said(because)}  ({evidence['bits']:+.1f} bit{where})"]
    return [*lines, f"    {quoted(quote)}"] if quote and quote not in because else lines


def _menu(case_id: str, cause: str, lang: Lang) -> Block:
    """The same as the buttons, for any cause. Its value holds 150 characters; ids have 32 and at most 100."""
    return kit.overflow(
        "cause",
        [kit.option(say(f"this-{what}", lang), f"{what}|{case_id}|{cause}") for what in ("why", "resolve", "wrong")],
    )


def _unknown(diagnosis: Mapping[str, Any], lang: Lang) -> list[str]:
    unknown = diagnosis["unknown"]
    texts = [say("unknown", lang, percent=chance(unknown["probability"]), why=said(unknown["why"], 400))]
    if unknown.get("would_help") and not diagnosis["next_checks"]:
        what = "; ".join(said(item, 150) for item in unknown["would_help"][:3])
        texts.append(say("would-help", lang, what=what))
    return texts


def remedy_blocks(ending: Ending, asked: Question | None, lang: Lang) -> list[Block]:
    """How to make sure of the cause that questions have led to, unless that is ``asked`` next, and what to do."""
    blocks: list[Block] = []
    if (check := ending.confirm) is not None and not confirms(ending, asked):
        lines = [say("confirm", lang, what=said(check.title, 300)), said(check.how, 600)]
        lines += [listing(command) for command in list(check.commands.values())[:1]]
        blocks.append(lines_block(lines, lang, CHECK))
    for remedy in ending.remedies[:2]:
        lines = [say("remedy", lang, what=said(remedy.do, 600)), f"_{price(remedy.minutes, remedy.risk, lang)}_"]
        if remedy.undo:
            lines.append(say("undo", lang, what=said(remedy.undo, 400)))
        blocks.append(lines_block(lines, lang, SMALL))
    return blocks


def price(minutes: float, risk: str, lang: Lang) -> str:
    """What something takes."""
    known = RISK[risk].get(lang) if risk in RISK else risk
    return say("price", lang, minutes=minutes, risk=said(known, 40))


def question_blocks(case_id: str, question: Question | None, lang: Lang) -> list[Block]:
    """What to find out next: how, at what price, what the answers would do, and buttons for them."""
    if question is None:
        return []
    lines = [say("next", lang, text=said(question.title or question.text, 600))]
    if question.how:
        lines.append(said(question.how, 600))
    lines += [listing(command) for command in list(question.commands.values())[:1]]
    lines += [f"• {then}" for option in question.options[:8] if (then := _then(option, lang))]
    if question.value_label:
        lines.append(f"• {say('or-value', lang, label=said(question.value_label, 200))}")
    blocks = [kit.divider(), lines_block(lines, lang, CHECK)]
    if question.kind == "check" or question.minutes:
        blocks.append(kit.context(price(question.minutes, question.risk, lang)))
    return blocks + kit.actions(QUESTION, _answers(case_id, question, lang))


def _then(option: Option, lang: Lang) -> str:
    if not option.then:
        return ""
    first = option.then[0]
    return say("if", lang, answer=said(option.label, 100), cause=bold(first.title), percent=chance(first.probability))


def _answers(case_id: str, question: Question, lang: Lang) -> list[Block]:
    """A button for each answer; where several may be true at once, a form in their place."""
    buttons: list[Block] = []
    opens_form = question.several and question.kind == "check"
    if not opens_form:
        for option in question.options[:10]:
            if option.passes or option.answers:
                value = {"c": case_id, "q": question.id, "a": option.answers, "s": plain(option.label, 60)}
                buttons += kit.button(_capital(option.label), f"answer:{option.key}", value)
    if question.kind == "check" or question.value:
        value = {"c": case_id, "q": question.id}
        buttons += kit.button(say("ran", lang), "ran", value, "primary" if opens_form else None)
    if opens_form:
        value = {"c": case_id, "q": question.id, "a": {}, "s": say("cannot", lang)}
        buttons += kit.button(say("cannot", lang), "answer:pass", value)
    return buttons


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def lead_buttons(case_id: str, cause: str, lang: Lang) -> list[Block]:
    """What can be done about the cause in the lead."""
    value = {"c": case_id, "k": cause}
    buttons = [kit.button(say(what, lang), what, value) for what in ("why", "resolve", "wrong")]
    return kit.actions("lead", [button for made in buttons for button in made])


def why_message(told: Mapping[str, Any], titles: Mapping[str, str], lang: Lang) -> Message:
    """Why a cause stands where it stands.

    Args:
        told: as the service explains it.
        titles: of causes, by id.
    """
    title = say("why-title", lang, title=said(told["title"], 200))
    rank = told.get("rank")
    where = say("place" if rank else "no-place", lang, rank=rank, percent=chance(told["probability"]))
    blocks = [lines_block([f"*{title}*", where], lang, SMALL)]
    groups: tuple[tuple[str, list[str]], ...] = (
        ("supports", [line for item in told["supporting"][:6] for line in evidence_lines(item)]),
        ("opposes", [line for item in told["opposing"][:4] for line in evidence_lines(item)]),
        ("missing", [_missing(item) for item in told["missing"][:5]]),
        ("outweighed", [_outweighs(item, titles) for item in told["outweighed_by"][:3]]),
    )  # fmt: skip
    blocks += [lines_block([say(name, lang), *lines], lang, CAUSE) for name, lines in groups if lines]
    return Message(plain(title, TEXT), blocks)


def _outweighs(item: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    return f"• {bold(titles.get(item['cause'], item['cause']))}  {chance(item['probability'])}"


def _missing(item: Mapping[str, Any]) -> str:
    return f"• {said(str(item['title']), 200)}  ({float(item['bits_if_present']):+.1f} bit)"


def answered_blocks(blocks: Sequence[Any], note: str) -> list[Block]:
    """A posted message after an answer: the question's buttons give way to what was answered.

    Args:
        blocks: as Slack sent them back.
        note: mrkdwn.
    """
    result: list[Block] = []
    for block in blocks[: kit.BLOCKS]:
        is_question = isinstance(block, dict) and block.get("block_id") == QUESTION
        result.append(kit.context(note) if is_question else block)
    return result


def note_message(text: str) -> Message:
    """One sentence of the bot's own; data in it must be escaped."""
    return Message(plain(text, TEXT), [kit.context(text)])


def mention(actor_id: str, name: str) -> str:
    """Who did it: somebody of Slack by their id, so that Slack shows the name; anybody else by name."""
    kind, _, rest = actor_id.partition(":")
    user = rest.rpartition("/")[2]
    if kind == "slack" and user.isascii() and user.isalnum() and user.isupper():
        return f"<@{user[:32]}>"
    return escape(clip(name or actor_id, 80))
