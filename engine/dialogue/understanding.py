"""What a message means: answers to the pending question, values, evidence, and wishes of its writer."""

from __future__ import annotations

import re
from typing import Any

from engine.dialogue.answers import Answered, names_option, read_answer
from engine.dialogue.commands import Wanted, read_command
from engine.dialogue.model import Question, Turn
from engine.dialogue.pasted import split
from engine.dialogue.phrasing import head, language_of
from engine.dialogue.small_talk import says_nothing
from engine.dialogue.values import bare
from engine.dialogue.wording import say
from engine.evidence.tokens import tidy
from engine.evidence.vocabulary import typed
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.case import MAX_REPORT
from engine.model.evidence import State, Value

MAX_QUOTE = 300
MAX_ANSWER = 2_000
"""What is longer is a report: nobody answers yes in 2,000 characters."""
MAX_QUESTION = 120
"""A longer question also tells something."""
MAX_POINTER = 40
"""A sentence of at most this length that speaks of a file says nothing else ("see the attached log")."""
PASTED = "pasted"

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Colours and keys of a terminal, and characters that control one: they must not hide an answer."""
_ASSIGNMENT = re.compile(r"\s*(?P<id>[a-z][a-z0-9_.()-]{2,99})\s*[=:：](?P<value>.*)")
_FILE = re.compile(
    r"\b(?:see |the )?(?:attached|attachment|enclosed)\b|\b(?:i (?:have )?)?(?:uploaded|attaching)\b"
    r"|附件|已上传|见附|上传了",
    re.IGNORECASE,
)  # fmt: skip
_QUESTION = re.compile(
    r"[^\n.!?。！？;；]+(?:[?？]+|[吗呢么]\s*)"
    r"|(?:what|who|which|how|can you|could you|do you|are you|should (?:i|we)|tell me)\b[^\n]*"
    r"|(?:什么|谁|哪|怎么|如何|能否|请问|你)[^\n]*",
    re.IGNORECASE,
)
_WAYS = ("how", "why")
_STATES: dict[str, State] = {
    "yes": "present", "present": "present", "no": "absent", "absent": "absent", "unknown": "unknown",
}  # fmt: skip
_DID_IT = re.compile(
    r"(?:ok,? )?(?:done|finished|(?:i|we) (?:did|ran|have done|have run)(?: (?:it|that|this|the check))?)[.!]?"
    r"|做(?:完|好)了|查(?:完|过)了|完成了?|跑(?:完|过)了",
    re.IGNORECASE,
)


def understand(text: str, pending: Question | None, knowledge: Knowledge, lang: Lang) -> Turn:
    """What ``text`` means as the next message, after the question ``pending`` was asked in ``lang``.

    What was pasted never answers the question. Nothing raises: what has no meaning is kept as evidence or as not
    understood, and what may mean two things is asked back.
    """
    text = _CONTROL.sub("", text)
    parts = split(tidy(text))
    words, tail = parts.before, parts.after
    if parts.apart and head(words) is None and (not words or head(tail) is not None):
        words, tail = tail, words
    lang = language_of(f"{words}\n{tail}", lang)
    wanted, answered = _meaning(words, pending, knowledge, lang)
    if not text.strip():
        answered.unclear = say("empty", lang)
    lang = wanted.to or lang
    stated = _assignments(answered.rest, knowledge)
    report, not_understood = _report("\n".join(filter(None, (stated.rest, tail))), lang)
    expects_file = bool(_FILE.search(report[:MAX_ANSWER]))
    if expects_file and len(report) <= MAX_POINTER:
        report = ""
    unclear = wanted.unclear or answered.unclear
    if wanted.command is None and not parts.pasted and says_nothing(report, knowledge):
        if not answered.anything:  # "no, I looked" needs no second sentence
            unclear = unclear or say("says-nothing", lang, words=quoted(report))
        report = ""
    if _is_number(report):
        unclear, report = unclear or say("which-number", lang, words=quoted(report)), ""
    evidence: dict[str, Any] = {"report": report} if report else {}
    if parts.pasted:
        evidence["files"] = {PASTED: "\n".join(parts.pasted)}
    return Turn(
        text=quoted(text),
        lang=lang,
        asked=pending.id if pending is not None and answered.anything else None,
        findings=answered.findings | stated.findings,
        facts=answered.facts | stated.facts,
        passed=answered.passed,
        evidence=evidence,
        command=wanted.command,
        unclear=unclear,
        not_understood=(*answered.not_understood, *not_understood),
        expects_file=expects_file,
    )


def _meaning(words: str, pending: Question | None, knowledge: Knowledge, lang: Lang) -> tuple[Wanted, Answered]:
    """What the writer's own words wish for, and what they answer or leave."""
    if len(words) > MAX_ANSWER:
        return Wanted(), Answered(rest=words)
    if pending is not None and pending.kind == "check" and _DID_IT.fullmatch(words):
        return Wanted(), Answered(unclear=say("what-seen", lang))
    if pending is None or not names_option(words, pending):
        wanted = read_command(words, knowledge, lang)
        if wanted is not None:
            return wanted, _after_command(wanted.rest, lang)
    if pending is None:
        return Wanted(), _without_question(words, lang)
    if pending.kind != "opening" and _asks(words):
        return Wanted(), Answered(unclear=say("only-tells", lang))
    answered = read_answer(words, pending, knowledge, lang)
    if answered.anything and answered.rest:
        told = read_command(answered.rest, knowledge, lang)
        if told is not None and told.command is not None and answered.passed and told.command.kind in _WAYS:
            return told, Answered()  # "no idea, how can I tell?" asks for the way and passes nothing
        if told is not None and told.certain:  # "yes, it was the learning rate"
            answered.rest = ""
            return told, answered
    return Wanted(), answered


def _after_command(rest: str, lang: Lang) -> Answered:
    """What stands beside a command is evidence; an answer there would be one to a question not asked yet."""
    if rest and head(rest) is not None:
        return Answered(not_understood=(say("after-undo", lang, words=quoted(rest)),))
    return Answered(rest=rest)


def _report(text: str, lang: Lang) -> tuple[str, tuple[str, ...]]:
    """A report as long as a case document may hold, and what was left out of it."""
    if len(text) <= MAX_REPORT:
        return text, ()
    return text[:MAX_REPORT], (say("too-long", lang, limit=f"{MAX_REPORT:,}"),)


def quoted(text: str) -> str:
    """The beginning of a message, on one line."""
    line = " ".join(text[: 4 * MAX_QUOTE].split())
    return line if len(line) <= MAX_QUOTE else f"{line[: MAX_QUOTE - 1]}…"


def _asks(words: str) -> bool:
    """Whether the words are one question to us. At the beginning people report in questions, later they ask."""
    return len(words) <= MAX_QUESTION and _QUESTION.fullmatch(words.strip()) is not None and head(words) is None


def _without_question(words: str, lang: Lang) -> Answered:
    """An answer where nothing was asked is of no use; a bare number or option neither."""
    found = head(words)
    if found is not None and not found[1]:
        return Answered(unclear=say("nothing-asked", lang))
    return Answered(rest=words)


def _is_number(report: str) -> bool:
    """A number by itself, which says nothing of what it is the number of."""
    return (
        bool(report)
        and re.fullmatch(r"[-+]?[\d.,]+(?:e[-+]?\d+)?\s*%?[a-z]{0,3}", bare(report[:100]), re.IGNORECASE) is not None
    )


def _assignments(words: str, knowledge: Knowledge) -> Answered:
    """Facts and findings written out by id ("run.precision = fp16"), a line each; other lines are kept."""
    findings: dict[str, State] = {}
    facts: dict[str, Value] = {}
    rest: list[str] = []
    for line in words.splitlines():
        match = _ASSIGNMENT.fullmatch(line)
        name, value = (match["id"], match["value"].strip(" \t,;，；")) if match else ("", "")
        if name in knowledge.facts and (fact := typed(knowledge.facts[name], value).value) is not None:
            facts[name] = fact
        elif name in knowledge.findings and (state := _state(value)) is not None:
            findings[name] = state
        else:
            rest.append(line)
    return Answered(findings, facts, rest="\n".join(rest).strip())


def _state(value: str) -> State | None:
    found = head(value)
    said = found[0] if found is not None and not found[1] else value
    return _STATES.get(said)
