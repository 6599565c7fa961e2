"""The reply: what was understood, how the ranking moved, what was wished for, and the next question or the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.dialogue.endings import MAX_PASSED, ending
from engine.dialogue.model import Ending, Move, Question, Ranked, Reply, Turn
from engine.dialogue.questions import cause_title, question
from engine.dialogue.wishes import granted
from engine.dialogue.wording import RISK, say
from engine.inference.wording import percent
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang

Diagnosed = Mapping[str, Any]

RANKED = 5
MOVES = 3
MIN_MOVE = 0.01
READ = 6
QUOTE = 80


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
        before, after: the diagnoses before and after the message, as ``Diagnoser.answer`` gives them; ``after`` in
            ``lang``.
        turn: what the message was understood to mean.
        passed: how many questions could not be answered so far; many of them end the dialogue.
        explained: what ``Diagnoser.why_not`` says of the cause that the message asks about.
        undone: whether there was something to take back, if that was wished for.
    """
    next_question = question(after, knowledge, lang)
    end = ending(after, next_question, passed, knowledge, lang)
    moved = _moves(before, after, knowledge, lang) if before is not None else ()
    understood = tuple(_understood(turn, before, after, knowledge, lang)) if turn is not None else ()
    paragraphs = ["\n".join(understood)] if understood else []
    if turn is not None and turn.unclear:
        paragraphs.append(turn.unclear)
    if turn is not None and turn.tells_anything and before is not None:
        paragraphs.append("\n".join(_told(move, lang) for move in moved) or say("not-moved", lang))
    if turn is not None and turn.command is not None:
        paragraphs += granted(turn.command, after, next_question, knowledge, lang, explained, undone)
    if turn is None or (turn.command is not None and turn.command.kind in ("ranking", "undo", "restart", "language")):
        paragraphs.append(ranking_line(after, knowledge, lang))
    paragraphs += _closing(before, end, next_question, turn, passed, knowledge, lang)
    return Reply(
        lang=lang,
        paragraphs=tuple(filter(None, paragraphs)),
        understood=understood,
        moved=moved,
        ranking=_ranking(after, knowledge, lang),
        unknown=after["unknown"]["probability"],
        question=next_question,
        ending=end,
    )


def _understood(
    turn: Turn, before: Diagnosed | None, after: Diagnosed, knowledge: Knowledge, lang: Lang
) -> Iterator[str]:
    words = turn.text if len(turn.text) <= QUOTE else f"{turn.text[: QUOTE - 1]}…"
    for finding, state in turn.findings.items():
        title = knowledge.findings[finding].title.get(lang)
        yield say("answered", lang, words=words, title=title, state=say(state, lang))
    for fact, value in turn.facts.items():
        shown = _value(value, knowledge.facts[fact].unit)
        yield say("stated", lang, words=words, title=knowledge.facts[fact].title.get(lang), value=shown)
    for passed in turn.passed:
        if passed not in turn.findings:
            check = knowledge.checks.get(passed)
            yield say("passed", lang, title=check.title.get(lang) if check else passed)
    if turn.evidence:
        read = list(_read(turn, before, after, lang))
        yield from read[:READ]
        if len(read) > READ:
            yield say("read-more", lang, count=len(read) - READ)
        if not read:
            yield say("read-nothing", lang, words=words)
    if turn.expects_file and not _more_files(before, after, turn):
        yield say("no-file", lang)
    for what in turn.not_understood:
        yield say("not-understood", lang, what=what)


def _read(turn: Turn, before: Diagnosed | None, after: Diagnosed, lang: Lang) -> Iterator[str]:
    """The findings and facts that are new since the message and were not answered outright."""
    known = _known(before) if before is not None else set()
    cited: set[str] = set()
    for finding in (*after["findings"], *after["context"]):
        if finding["id"] not in known and finding["id"] not in turn.findings:
            cited.update(finding["facts"])
            yield say("read", lang, because=finding["because"])
    for fact in after["facts"]:
        new = fact["id"] not in known and fact["id"] not in turn.facts and fact["id"] not in cited
        if new and not any(source["kind"] == "derived" for source in fact["sources"]):
            yield say("read-value", lang, title=fact["title"], value=_value(fact["value"], fact["unit"]))


def _known(diagnosis: Diagnosed) -> set[str]:
    return {item["id"] for key in ("findings", "context", "facts") for item in diagnosis[key]}


def _more_files(before: Diagnosed | None, after: Diagnosed, turn: Turn) -> bool:
    had = len(before["coverage"]["read"]) if before is not None else 0
    return len(after["coverage"]["read"]) > had or "files" in turn.evidence


def _value(value: object, unit: str | None) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:.6g} {unit}" if unit and unit != "count" else f"{value:.6g}"


def _moves(before: Diagnosed, after: Diagnosed, knowledge: Knowledge, lang: Lang) -> tuple[Move, ...]:
    """The causes in front before or after that moved, the biggest move first, with the new evidence that moved them."""
    was = {cause["id"]: cause for cause in before["causes"]}
    now = {cause["id"]: cause for cause in after["causes"]}
    front = dict.fromkeys([*list(now)[:MOVES], *list(was)[:MOVES]])
    moves = [
        Move(
            cause=cause,
            title=cause_title(cause, knowledge, lang),
            before=was[cause]["probability"] if cause in was else 0.0,
            after=now[cause]["probability"] if cause in now else 0.0,
            by=_by(was.get(cause), now.get(cause)),
        )
        for cause in front
    ]
    moves.sort(key=lambda move: (-abs(move.after - move.before), move.cause))
    return tuple(move for move in moves if abs(move.after - move.before) >= MIN_MOVE)[:MOVES]


def _by(was: Diagnosed | None, now: Diagnosed | None) -> tuple[str, ...]:
    """The evidence for and against a cause that was not there before, the strongest first."""
    if now is None:
        return ()
    old = {(item["finding"], item["state"]) for item in _evidence(was)} if was is not None else set()
    new = [item for item in _evidence(now) if (item["finding"], item["state"]) not in old]
    new.sort(key=lambda item: -abs(item["bits"]))
    return tuple(item["because"] if item["state"] == "absent" else item["title"] for item in new[:2])


def _evidence(cause: Diagnosed) -> list[Diagnosed]:
    return [*cause["evidence_for"], *cause["evidence_against"]]


def _told(move: Move, lang: Lang) -> str:
    numbers = {"title": move.title, "before": percent(move.before), "after": percent(move.after)}
    return say("moved-by", lang, **numbers, by="; ".join(move.by)) if move.by else say("moved", lang, **numbers)


def _ranking(diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang) -> tuple[Ranked, ...]:
    return tuple(
        Ranked(
            cause=cause["id"],
            title=cause_title(cause["id"], knowledge, lang),
            probability=cause["probability"],
            reasons=tuple(item["because"] for item in _evidence(cause)[:2]),
        )
        for cause in diagnosis["causes"][:RANKED]
    )


def ranking_line(diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang) -> str:
    """The causes in front and what is left for unknown, in one sentence."""
    causes = diagnosis["causes"][:RANKED]
    if not causes:
        return say("nothing-yet", lang)
    ranked = [
        say("ranked", lang, place=n, title=cause_title(c["id"], knowledge, lang), percent=percent(c["probability"]))
        for n, c in enumerate(causes, 1)
    ]
    joined = ("; " if lang == "en" else "；").join(ranked)
    return say("ranking", lang, causes=joined, unknown=percent(diagnosis["unknown"]["probability"]))


def _closing(
    before: Diagnosed | None,
    end: Ending | None,
    pending: Question | None,
    turn: Turn | None,
    passed: int,
    knowledge: Knowledge,
    lang: Lang,
) -> list[str]:
    """The end, told in full where it is new, and the next question."""
    command = turn.command.kind if turn is not None and turn.command is not None else None
    if command in ("stop", "resolve"):
        return []
    if end is None:
        return [asked(pending, lang)] if pending is not None else []
    earlier = None
    if before is not None and turn is not None and command not in ("ranking", "language"):
        earlier = ending(before, question(before, knowledge, lang), passed - len(turn.passed), knowledge, lang)
    if end.cause is not None and earlier is not None and (earlier.kind, earlier.cause) == (end.kind, end.cause):
        paragraphs = [say("still", lang, title=end.title, percent=percent(end.probability))]
    else:
        paragraphs = ended(end, passed, lang)
    return [*paragraphs, say("optional", lang, ask=asked(pending, lang))] if pending is not None else paragraphs


def ended(end: Ending, passed: int, lang: Lang) -> list[str]:
    """An ending in words: what it is, on what grounds, how to confirm it, and what to do."""
    if end.cause is None:
        return [say("end-unknown", lang, percent=percent(end.probability)), _would_help(end, lang)]
    shown = {"title": end.title, "percent": percent(end.probability)}
    if end.kind == "open":
        key = "end-passed" if passed >= MAX_PASSED else "end-open"
        first = say(key, lang, **shown, count=passed)
    else:
        first = say("end-expected" if end.expected else "end-cause", lang, **shown)
    paragraphs = [first, "\n".join(say("because", lang, because=because) for because in end.evidence)]
    if end.confirm is not None:
        lines = [say("confirm", lang, title=end.confirm.title, how=end.confirm.how), *_indented(end.confirm.commands)]
        paragraphs.append("\n".join(lines))
    for remedy in end.remedies:
        risk = RISK[remedy.risk].get(lang)
        lines = [say("remedy", lang, do=remedy.do, minutes=f"{remedy.minutes:g}", risk=risk)]
        paragraphs.append("\n".join(lines + ([say("undo", lang, undo=remedy.undo)] if remedy.undo else [])))
    return paragraphs + ([_would_help(end, lang)] if end.kind == "open" else [])


def _would_help(end: Ending, lang: Lang) -> str:
    what = (*end.would_help, say("evidence-helps", lang))
    return say("would-help", lang, what=("; " if lang == "en" else "；").join(what))


def _indented(commands: Mapping[str, str]) -> list[str]:
    return [f"  {line}" for command in commands.values() for line in command.splitlines()]


def asked(asked_question: Question, lang: Lang) -> str:
    """A question in words: how to find out, and a line for each option with what would follow."""
    lines = [asked_question.text]
    if asked_question.how:
        lines.append(say("find-out", lang, how=asked_question.how))
        lines += _indented(asked_question.commands)
    if asked_question.kind == "check":
        minutes = f"{asked_question.minutes:g}"
        lines.append(say("takes", lang, minutes=minutes, risk=RISK[asked_question.risk].get(lang)))
    for option in asked_question.options:
        then = "".join(f" → {item.title} {percent(item.probability)}" for item in option.then)
        lines.append(f"{option.key}) {option.label}{then}")
    if asked_question.value_label:
        lines.append(say("or-value", lang, label=asked_question.value_label))
    return "\n".join(lines)
