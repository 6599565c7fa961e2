"""Questions, rankings and endings in words: short paragraphs without any markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.dialogue.endings import MAX_PASSED, confirms
from engine.dialogue.model import Ending, Move, Question, Ranked, Remedy
from engine.dialogue.wording import RISK, joined, say
from engine.inference.wording import percent
from engine.model.base import Lang

TOLD = 3
"""So many causes of a ranking are read out; a reply holds more."""


def asked(question: Question, lang: Lang, in_full: bool = True) -> str:
    """A question with a line for each option and what would follow; in full, with the way to find out."""
    lines = [question.text]
    if in_full:
        if question.how:
            lines += [say("find-out", lang, how=question.how), *command_lines(question.commands)]
        if question.kind == "check":
            lines.append(say("takes", lang, minutes=f"{question.minutes:g}", risk=RISK[question.risk].get(lang)))
    for option in question.options:
        then = "".join(f" → {item.title} {percent(item.probability)}" for item in option.then)
        lines.append(f"{option.key}) {option.label}{then}")
    if question.value_label:
        lines.append(say("or-value", lang, label=question.value_label))
    return "\n".join(lines)


def command_lines(commands: Mapping[str, str]) -> list[str]:
    """The lines of commands, indented."""
    return [f"  {line}" for command in commands.values() for line in command.splitlines()]


def moved(moves: Sequence[Move], lang: Lang) -> str:
    """How the ranking moved, a line for each cause."""
    return "\n".join(_moved(move, lang) for move in moves) or say("not-moved", lang)


def _moved(move: Move, lang: Lang) -> str:
    numbers = {"title": move.title, "before": percent(move.before), "after": percent(move.after)}
    return say("moved-by", lang, **numbers, by=joined(move.by, lang)) if move.by else say("moved", lang, **numbers)


def ranked(ranking: Sequence[Ranked], unknown: float, lang: Lang) -> str:
    """The causes in front and what is left for unknown, in one sentence."""
    if not ranking:
        return say("nothing-yet", lang)
    causes = [
        say("ranked", lang, place=place, title=cause.title, percent=percent(cause.probability))
        for place, cause in enumerate(ranking[:TOLD], 1)
    ]
    return say("ranking", lang, causes=joined(causes, lang), unknown=percent(unknown))


def ended(ending: Ending, pending: Question | None, passed: int, lang: Lang) -> list[str]:
    """An ending: what it is, on what grounds, how to confirm it unless that is asked next, and what to do."""
    if ending.kind == "unknown":
        share = say("end-unknown", lang, percent=percent(ending.probability)) if ending.probability < 1 else ""
        return [share, ending.why, _would_help(ending, lang)]
    shown = {"title": ending.title, "percent": percent(ending.probability), "count": passed}
    if ending.kind == "open":
        return [say("end-passed" if passed >= MAX_PASSED else "end-open", lang, **shown), _would_help(ending, lang)]
    verdict = say("end-expected" if ending.expected else "end-cause", lang, **shown)
    paragraphs = [verdict, "\n".join(say("because", lang, because=ground) for ground in ending.evidence)]
    if ending.confirm is not None and not confirms(ending, pending):
        line = say("confirm", lang, title=ending.confirm.title, how=ending.confirm.how)
        paragraphs.append("\n".join([line, *command_lines(ending.confirm.commands)]))
    return [*paragraphs, *(remedy_told(remedy, lang) for remedy in ending.remedies)]


def remedy_told(remedy: Remedy, lang: Lang) -> str:
    """A remedy with its price, and how to undo it."""
    line = say("remedy", lang, do=remedy.do, minutes=f"{remedy.minutes:g}", risk=RISK[remedy.risk].get(lang))
    return "\n".join([line, say("undo", lang, undo=remedy.undo)] if remedy.undo else [line])


def _would_help(ending: Ending, lang: Lang) -> str:
    return say("would-help", lang, what=joined((*ending.would_help, say("evidence-helps", lang)), lang))
