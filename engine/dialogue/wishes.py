"""What the dialogue answers to a wish of its writer: why, why not, how, undo, what else, done, help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.dialogue.changes import grounds
from engine.dialogue.endings import remedies_of
from engine.dialogue.lead import decided
from engine.dialogue.model import Command, Question
from engine.dialogue.questions import cause_title
from engine.dialogue.speech import command_lines, remedy_told
from engine.dialogue.wording import joined, say
from engine.inference.wording import percent
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang

Diagnosed = Mapping[str, Any]

REASONS = 4
MISSING = 3
MORE = 4
_PLAIN = ("help", "language", "restart", "stop")


def cause_meant(command: Command, diagnosis: Diagnosed) -> str | None:
    """The cause a command is about: by name, by its place in the ranking, or for *why* the one in front."""
    if command.cause is not None or command.words:
        return command.cause
    causes = diagnosis["causes"]
    place = command.place or (1 if command.kind in ("why", "why-not") else 0)
    return causes[place - 1]["id"] if 1 <= place <= len(causes) else None


def granted(
    command: Command,
    diagnosis: Diagnosed,
    pending: Question | None,
    knowledge: Knowledge,
    lang: Lang,
    explained: Diagnosed | None,
    undone: bool,
) -> list[str]:
    """The paragraphs that answer the command; the ranking is told elsewhere."""
    if command.kind in _PLAIN:
        return [say(command.kind, lang)]
    if command.kind == "undo":
        return [say("undone" if undone else "nothing-undone", lang)]
    if command.kind == "how":
        return [_how(pending, lang)]
    if command.kind == "remedy":
        return _remedies(diagnosis, knowledge, lang)
    if command.kind == "more":
        return [_more(diagnosis, knowledge, lang)]
    if command.kind == "resolve":
        return [_resolved(command, diagnosis, knowledge, lang)]
    if command.kind in ("why", "why-not"):
        return [_why(command, diagnosis, knowledge, lang, explained)]
    return []


def _how(pending: Question | None, lang: Lang) -> str:
    if pending is None or not pending.how:
        return say("no-way", lang)
    return "\n".join([say("find-out", lang, how=pending.how), *command_lines(pending.commands)])


def _remedies(diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang) -> list[str]:
    """What to do about the cause in front, and that it is not decided, where it is not."""
    if not diagnosis["causes"]:
        return [say("nothing-yet", lang)]
    lead = diagnosis["causes"][0]
    key = "if-decided" if decided(diagnosis) else "if-it-is"
    title = cause_title(lead["id"], knowledge, lang)
    told = [remedy_told(remedy, lang) for remedy in remedies_of(lead)]
    return [say(key, lang, title=title, percent=percent(lead["probability"])), *told]


def _more(diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang) -> str:
    """The causes behind the first, and the checks behind the question that is asked."""
    causes = [
        say("ranked", lang, place=place, title=cause_title(item["id"], knowledge, lang),
            percent=percent(item["probability"]))
        for place, item in enumerate(diagnosis["causes"][1 : 1 + MORE], 2)
    ]  # fmt: skip
    checks = [check["title"] for check in diagnosis["next_checks"][1 : 1 + MORE]]
    lines = [say("more-causes", lang, causes=joined(causes, lang))] if causes else []
    lines += [say("more", lang, checks=joined(checks, lang))] if checks else []
    return "\n".join(lines) or say("no-more", lang)


def _resolved(command: Command, diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang) -> str:
    cause = cause_meant(command, diagnosis)
    if cause is not None:
        return say("resolved", lang, title=cause_title(cause, knowledge, lang))
    return say("resolved-other", lang, words=command.words) if command.words else say("resolve-which", lang)


def _why(command: Command, diagnosis: Diagnosed, knowledge: Knowledge, lang: Lang, explained: Diagnosed | None) -> str:
    cause = cause_meant(command, diagnosis)
    if cause is None:
        known = diagnosis["causes"] and command.place
        return say("no-place", lang, place=command.place) if known else say("nothing-yet", lang)
    title = cause_title(cause, knowledge, lang)
    listed = next((item for item in diagnosis["causes"] if item["id"] == cause), None)
    if explained is not None and explained["cause"] == cause and (listed is None or command.kind == "why-not"):
        return "\n".join([say("why", lang, title=title, percent=percent(explained["probability"])),
                          *_reasons(explained["supporting"], explained["opposing"], lang),
                          *_lacking(explained, knowledge, lang)])  # fmt: skip
    if listed is None:
        return say("not-in-ranking", lang, title=title)
    lines = [say("why", lang, title=title, percent=percent(listed["probability"]))]
    lines += _reasons(listed["evidence_for"], listed["evidence_against"], lang)
    if listed["resembles"] > 0:
        lines.append(say("likeness", lang, bits=f"{listed['resembles']:.1f}"))
    return "\n".join(lines)


def _reasons(supporting: list[Diagnosed], opposing: list[Diagnosed], lang: Lang) -> list[str]:
    lines = [say("for", lang, because=grounds(item, lang), bits=f"{item['bits']:.1f}") for item in supporting[:REASONS]]
    return lines + [
        say("against", lang, because=grounds(item, lang), bits=f"{item['bits']:.1f}") for item in opposing[:REASONS]
    ]


def _lacking(explained: Diagnosed, knowledge: Knowledge, lang: Lang) -> list[str]:
    lines = [say("missing", lang, title=item["title"]) for item in explained["missing"][:MISSING]]
    return lines + [
        say("outweighed", lang, title=cause_title(item["cause"], knowledge, lang), percent=percent(item["probability"]))
        for item in explained["outweighed_by"][:1]
    ]
