"""What a message means: answers to the pending question, values, evidence, and wishes of its writer."""

from __future__ import annotations

import re
from typing import Any

from engine.dialogue.answers import Answered, names_option, read_answer
from engine.dialogue.commands import read_command
from engine.dialogue.model import Question, Turn
from engine.dialogue.pasted import Parts, split
from engine.dialogue.phrasing import head, language_of
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

_ASSIGNMENT = re.compile(r"\s*(?P<id>[a-z][a-z0-9_.()-]{2,99})\s*[=:：](?P<value>.*)")
_FILE = re.compile(
    r"\b(?:see |the )?(?:attached|attachment|enclosed)\b|\b(?:i (?:have )?)?(?:uploaded|attaching)\b"
    r"|附件|已上传|见附|上传了",
    re.IGNORECASE,
)  # fmt: skip
_QUESTION = re.compile(r"[^\n.!?。！？;；]+(?:[?？]+|[吗呢么]\s*)", re.IGNORECASE)
_DID_IT = re.compile(
    r"(?:ok,? )?(?:done|finished|(?:i|we) (?:did|ran|have done|have run)(?: (?:it|that|this|the check))?)[.!]?"
    r"|做(?:完|好)了|查(?:完|过)了|完成了?|跑(?:完|过)了",
    re.IGNORECASE,
)
_STATES: dict[bool, State] = {True: "present", False: "absent"}


def understand(text: str, pending: Question | None, knowledge: Knowledge, lang: Lang) -> Turn:
    """What ``text`` means as the next message, after the question ``pending`` was asked in ``lang``.

    What was pasted never answers the question. Nothing raises: what has no meaning is kept as evidence or as not
    understood, and what may mean two things is asked back.
    """
    parts = split(tidy(text))
    lang = language_of(f"{parts.before}\n{parts.after}", lang)
    turn: dict[str, Any] = {"text": quoted(text), "lang": lang}
    words, tail = parts.before, parts.after
    if parts.apart and head(words) is None and (not words or head(tail) is not None):
        words, tail = tail, words
    chosen = pending is not None and names_option(words, pending)
    wanted = read_command(words, knowledge, lang) if words and not chosen else None
    if pending is not None and pending.kind == "check" and _DID_IT.fullmatch(words):
        return _with_evidence(turn, Answered(unclear=say("what-seen", lang)), tail, parts, knowledge)
    if wanted is not None:
        turn |= {"command": wanted.command, "unclear": wanted.unclear, "lang": wanted.to or lang}
        if wanted.rest and head(wanted.rest) is not None:
            turn["not_understood"] = (say("after-undo", lang, words=quoted(wanted.rest)),)
            wanted = None
        return _with_evidence(turn, Answered(rest=wanted.rest if wanted else ""), tail, parts, knowledge)
    answered = Answered(rest=words)
    if pending is not None and pending.kind != "opening" and _asks(words):
        return _with_evidence(turn, Answered(unclear=say("only-tells", lang)), tail, parts, knowledge)
    if words and pending is not None and len(words) <= MAX_ANSWER:
        answered = read_answer(words, pending, knowledge, lang)
        if answered.anything:
            turn["asked"] = pending.id
    elif words and len(words) <= MAX_ANSWER:
        answered = _without_question(words, lang)
    if not text.strip():
        answered.unclear = say("empty", lang)
    return _with_evidence(turn, answered, tail, parts, knowledge)


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


def _with_evidence(turn: dict[str, Any], answered: Answered, tail: str, parts: Parts, knowledge: Knowledge) -> Turn:
    """The turn with what was answered, what was written out by id, and the rest as a case document."""
    lang: Lang = turn["lang"]
    stated = _assignments(answered.rest, knowledge)
    report = "\n".join(filter(None, (stated.rest, tail)))
    evidence: dict[str, Any] = {}
    if len(report) > MAX_REPORT:
        turn["not_understood"] = (say("too-long", lang, limit=f"{MAX_REPORT:,}"),)
        report = report[:MAX_REPORT]
    expects_file = bool(_FILE.search(report[:MAX_ANSWER]))
    if expects_file and len(report) <= MAX_POINTER:
        report = ""
    if _is_number(report):
        answered.unclear = answered.unclear or say("which-number", lang, words=quoted(report))
    elif report:
        evidence["report"] = report
    if parts.pasted:
        evidence["files"] = {PASTED: "\n".join(parts.pasted)}
    return Turn(
        **turn | {"unclear": turn.get("unclear") or answered.unclear},
        findings=answered.findings | stated.findings,
        facts=answered.facts | stated.facts,
        passed=answered.passed,
        evidence=evidence,
        expects_file=expects_file,
    )


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
    if value in ("present", "absent", "unknown"):
        return value  # type: ignore[return-value]
    found = head(value)
    if found is None or found[1] or found[0] not in ("yes", "no", "unknown"):
        return None
    return "unknown" if found[0] == "unknown" else _STATES[found[0] == "yes"]
