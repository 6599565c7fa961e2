"""A dialogue in memory, and a simulated person who knows the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.diagnose import Diagnoser
from engine.dialogue import Reply, Turn, cause_meant, question, reply, understand
from engine.dialogue.model import Option, Question
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.case import Case
from engine.model.kb import Cause

MAX_QUESTIONS = 60


@dataclass
class Talker:
    """Keeps what was said of one case and answers, as a face of the service does."""

    diagnoser: Diagnoser
    start: dict[str, Any] = field(default_factory=dict)
    lang: Lang = "en"
    told: list[Turn] = field(default_factory=list)
    last: Reply | None = None
    _known: tuple[object, dict[str, Any]] | None = None

    def begin(self) -> Reply:
        self.last = reply(None, self.diagnose(), None, self.diagnoser.knowledge, self.lang)
        return self.last

    def say(self, message: str) -> Reply:
        knowledge = self.diagnoser.knowledge
        before = self.diagnose()
        turn = understand(message, question(before, knowledge, self.lang), knowledge, self.lang)
        if turn.lang != self.lang:
            self.lang = turn.lang
            before = self.diagnose()
        undone = bool(self.told)
        if turn.command is not None and turn.command.kind == "undo" and self.told:
            self.told.pop()
        explained = None
        if turn.command is not None and (cause := cause_meant(turn.command, before)) is not None:
            explained = self.diagnoser.why_not(Case(**self.start), cause, lang=self.lang).model_dump()
        if turn.tells_anything:
            self.told.append(turn)
        self.last = reply(
            before, self.diagnose(), turn, knowledge, self.lang,
            passed=len(self.passed), explained=explained, undone=undone,
        )  # fmt: skip
        return self.last

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(id_ for turn in self.told for id_ in turn.passed)

    def diagnose(self) -> dict[str, Any]:
        """The diagnosis of everything told; worked out once while nothing changes."""
        key = (self.lang, tuple(id(turn) for turn in self.told))
        if self._known is None or self._known[0] != key:
            self._known = key, self._diagnose()
        return self._known[1]

    def _diagnose(self) -> dict[str, Any]:
        reports, files = [self.start.get("report", "")], dict(self.start.get("files", {}))
        facts = dict(self.start.get("facts", {}))
        for number, turn in enumerate(self.told):
            reports.append(turn.evidence.get("report", ""))
            files |= {f"{name} {number}": text for name, text in turn.evidence.get("files", {}).items()}
            facts |= {name: state == "present" for name, state in turn.findings.items() if state != "unknown"}
            facts |= turn.facts
        case = Case(**self.start | {"report": "\n\n".join(filter(None, reports)), "files": files, "facts": facts})
        return self.diagnoser.answer(self.diagnoser.collect(case), lang=self.lang, passed=self.passed)


def answer_of(asked: Question, truth: frozenset[str]) -> str:
    """What somebody types who knows which findings are there."""
    if asked.several:
        seen = [option.key for option in asked.options if _is_true(option, truth)]
        none = (option.label for option in asked.options if set(option.answers.values()) == {"absent"})
        return ", ".join(seen) or next(none, asked.options[-1].label)
    state = "present" if asked.asks[0] in truth else "absent"
    return next(option.label for option in asked.options if option.answers.get(asked.asks[0]) == state)


def _is_true(option: Option, truth: frozenset[str]) -> bool:
    return any(state == "present" and finding in truth for finding, state in option.answers.items())


def telling_start(cause: Cause, knowledge: Knowledge, shown_by: Mapping[str, int]) -> str | None:
    """Of the symptoms of a cause that a person can see the one that most causes show: the hardest beginning."""
    told = [link for link in cause.shows if knowledge.findings[link.finding].ask is not None]
    symptoms = [link for link in told if knowledge.findings[link.finding].role == "symptom"]
    often = [link for link in symptoms if link.how in ("always", "usually", "often")]
    mechanisms = [link for link in told if knowledge.findings[link.finding].role == "mechanism"]
    names = [link.finding for link in often or symptoms or mechanisms]
    return max(names, key=lambda finding: (shown_by[finding], finding), default=None)
