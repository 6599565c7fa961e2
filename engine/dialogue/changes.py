"""What a message changed: what of it was understood, and how the ranking moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.dialogue.model import Move, Turn
from engine.dialogue.questions import cause_title
from engine.dialogue.wording import say
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang

Diagnosed = Mapping[str, Any]

MOVES = 3
MIN_MOVE = 0.01
MIN_LIKENESS = 0.5
"""Bits by which the likeness of the words must have grown to be a reason."""

SHOWN_READ = 6
SHOWN_BY = 2
QUOTE = 80


@dataclass(frozen=True, slots=True)
class Change:
    """A message between two diagnoses; there is none before the first message of a case."""

    before: Diagnosed | None
    after: Diagnosed
    turn: Turn
    knowledge: Knowledge
    lang: Lang

    def understood(self) -> Iterator[str]:
        """A line for everything that was understood, and for what was not."""
        turn, knowledge, lang = self.turn, self.knowledge, self.lang
        words = _cut(turn.text)
        for finding, state in turn.findings.items():
            title = knowledge.findings[finding].title.get(lang)
            yield say("answered", lang, words=words, title=title, state=say(state, lang))
        for name, value in turn.facts.items():
            fact = knowledge.facts[name]
            yield say("stated", lang, words=words, title=fact.title.get(lang), value=_shown(value, fact.unit, lang))
        for passed in turn.passed:
            if passed in knowledge.checks:
                yield say("passed", lang, title=knowledge.checks[passed].title.get(lang))
        yield from self._evidence()
        yield from self._contradictions()
        for what in turn.not_understood:
            yield say("not-understood", lang, what=what)

    def _evidence(self) -> Iterator[str]:
        if self.turn.evidence:
            read = list(self._read())
            yield from read[:SHOWN_READ]
            if len(read) > SHOWN_READ:
                yield say("read-more", self.lang, count=len(read) - SHOWN_READ)
            if not read:
                yield say("read-nothing", self.lang, words=_cut(self.turn.evidence.get("report") or self.turn.text))
        if self.turn.expects_file and not self._files_came():
            yield say("no-file", self.lang)

    def _read(self) -> Iterator[str]:
        """The findings and facts that are new since the message and were not answered outright."""
        known = _known(self.before) if self.before is not None else set()
        known |= self.turn.findings.keys() | self.turn.facts.keys()
        for finding in (*self.after["findings"], *self.after["context"]):
            if finding["id"] not in known:
                known.update(finding["facts"])
                yield say("read", self.lang, because=finding["because"])
        for item in _absent(self.after):
            if item["finding"] not in known:
                known.update([item["finding"], *item["facts"]])
                yield say("read", self.lang, because=item["because"])
        for fact in self.after["facts"]:
            derived = any(source["kind"] == "derived" for source in fact["sources"])
            if fact["id"] not in known and not derived:
                yield say(
                    "read-value", self.lang, title=fact["title"], value=_shown(fact["value"], fact["unit"], self.lang)
                )

    def _contradictions(self) -> Iterator[str]:
        """Answers that something more trusted says otherwise since the message."""
        before = _overruled(self.before) if self.before is not None else {}
        for name, title in _overruled(self.after).items():
            if name not in before:
                yield say("contradiction", self.lang, title=title)

    def _files_came(self) -> bool:
        had = len(self.before["coverage"]["read"]) if self.before is not None else 0
        return "files" in self.turn.evidence or len(self.after["coverage"]["read"]) > had

    def moves(self) -> tuple[Move, ...]:
        """The causes in front before or after that moved, the biggest move first."""
        was = {cause["id"]: cause for cause in self.before["causes"]} if self.before is not None else {}
        now = {cause["id"]: cause for cause in self.after["causes"]}
        moves = [
            Move(
                cause=cause,
                title=cause_title(cause, self.knowledge, self.lang),
                before=was[cause]["probability"] if cause in was else 0.0,
                after=now[cause]["probability"] if cause in now else 0.0,
                by=self._by(cause, was.get(cause), now.get(cause)),
            )
            for cause in dict.fromkeys([*list(now)[:MOVES], *list(was)[:MOVES]])
        ]
        moves.sort(key=lambda move: (-abs(move.after - move.before), move.cause))
        return tuple(move for move in moves if abs(move.after - move.before) >= MIN_MOVE)[:MOVES]

    def _by(self, cause: str, was: Diagnosed | None, now: Diagnosed | None) -> tuple[str, ...]:
        """The evidence that is new for or against a cause, strongest first; else what was answered of its findings."""
        old = {(item["finding"], item["state"]) for item in evidence_of(was)} if was is not None else set()
        new = [item for item in evidence_of(now) if (item["finding"], item["state"]) not in old] if now else []
        new.sort(key=lambda item: -abs(item["bits"]))
        told = [self._state(item["title"], item["state"]) for item in new[:SHOWN_BY]] or self._answered_of(cause)
        if not told and now and now["resembles"] - (was["resembles"] if was else 0.0) >= MIN_LIKENESS:
            told = [say("more-alike", self.lang)]
        return tuple(told[:SHOWN_BY])

    def _answered_of(self, cause: str) -> list[str]:
        definition = self.knowledge.causes.get(cause)
        if definition is None:
            return []
        own = {link.finding for link in definition.shows} | {rule.finding for rule in definition.rules_out}
        return [
            self._state(self.knowledge.findings[finding].title.get(self.lang), state)
            for finding, state in self.turn.findings.items()
            if finding in own and state != "unknown"
        ]

    def _state(self, title: str, state: str) -> str:
        return title if state == "present" else say("not-so", self.lang, title=title)


def _cut(words: str) -> str:
    return words if len(words) <= QUOTE else f"{words[: QUOTE - 1]}…"


def _absent(diagnosis: Diagnosed) -> list[Diagnosed]:
    """What was found not to be so, of all that speaks for or against a cause, each finding once."""
    items = [item for cause in diagnosis["causes"] for item in evidence_of(cause) if item["state"] == "absent"]
    return list({item["finding"]: item for item in items}.values())


def evidence_of(cause: Diagnosed) -> list[Diagnosed]:
    """What speaks for and against a cause of a diagnosis."""
    return [*cause["evidence_for"], *cause["evidence_against"]]


def grounds(item: Diagnosed, lang: Lang) -> str:
    """Why a piece of evidence holds; of what was answered first the title says it, and the quote would be an id."""
    if item["sources"] and is_answer(item["sources"][0]):
        return str(item["title"]) if item["state"] == "present" else say("not-so", lang, title=item["title"])
    return str(item["because"])


def _overruled(diagnosis: Diagnosed) -> dict[str, str]:
    """The titles of facts and present findings of which an answer says otherwise than what counts, by id."""
    found = {finding["id"]: finding for finding in diagnosis["findings"]}
    against = {name: list(finding["contradicted_by"]) for name, finding in found.items()}
    for fact in diagnosis["facts"]:
        found.setdefault(fact["id"], fact)
        against.setdefault(fact["id"], []).extend(item["source"] for item in fact["contradicted_by"])
    return {name: found[name]["title"] for name, sources in against.items() if any(map(is_answer, sources))}


def is_answer(source: Diagnosed) -> bool:
    """Whether a source is what a person answered or stated outright."""
    return source["kind"] in ("stated", "answer")


def _known(diagnosis: Diagnosed) -> set[str]:
    known = {item["id"] for key in ("findings", "context", "facts") for item in diagnosis[key]}
    return known | {item["finding"] for item in _absent(diagnosis)}


def _shown(value: object, unit: str | None, lang: Lang) -> str:
    if isinstance(value, bool):
        return say("yes" if value else "no", lang)
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:.6g} {unit}" if unit and unit != "count" else f"{value:.6g}"
