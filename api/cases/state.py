"""What the events of a case come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.cases.events import (
    Added,
    Answered,
    Answers,
    Doubted,
    Event,
    Evidence,
    FileRef,
    Opened,
    Outcome,
    Reopened,
    Resolved,
    Retracted,
    Said,
    Source,
)
from engine.dialogue import Turn
from engine.model.base import Lang

_LISTS = ("observations", "log", "series", "contrast")


@dataclass(frozen=True)
class CaseState:
    """A case after some of its events.

    Args:
        document: all evidence that holds, as one case document.
        files: all files that hold, each under a label of its own.
        facts: what was answered and stated: facts and findings by id.
        passed: ids of checks and questions that could not be answered.
        retracted: seq of the events that do not hold any more.
        doubted: causes that somebody ruled out.
        reply: the last reply of the dialogue.
    """

    opened: Opened
    revision: int
    document: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[FileRef, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    passed: frozenset[str] = frozenset()
    retracted: frozenset[int] = frozenset()
    outcome: Outcome | None = None
    doubted: tuple[str, ...] = ()
    reply: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        return self.opened.title

    @property
    def lang(self) -> Lang:
        return self.opened.lang

    @property
    def source(self) -> Source:
        return self.opened.source

    @property
    def is_resolved(self) -> bool:
        return self.outcome is not None


def state_of(events: Sequence[Event]) -> CaseState:
    """Fold the events of a case, which come in order and begin with its opening."""
    first = events[0].body
    assert isinstance(first, Opened)
    retracted = _retracted(events)
    holding = [event for event in events if event.seq not in retracted]
    pieces = [piece for event in holding if (piece := _evidence(event)) is not None and not piece.is_empty]
    facts, passed = known(answers for event in holding if (answers := _answers(event)) is not None)
    return CaseState(
        opened=first,
        revision=events[-1].seq,
        document=merged([piece.document for piece in pieces]),
        files=labelled([ref for piece in pieces for ref in piece.files]),
        facts=facts,
        passed=passed,
        retracted=retracted,
        outcome=_outcome(closing(events)),
        doubted=_doubted(holding),
        reply=next((e.body.reply for e in reversed(events) if isinstance(e.body, Said) and e.body.reply), None),
    )


def known(told: Iterable[Answers]) -> tuple[dict[str, Any], frozenset[str]]:
    """Facts and findings by id after answers in this order, and the ids that are not to be asked again."""
    facts: dict[str, Any] = {}
    passed: set[str] = set()
    for answers in told:
        _answer(answers, facts, passed)
    return facts, frozenset(passed)


def answers_of(turn: Turn) -> Answers:
    """What a message answers."""
    return Answers(
        asked=turn.asked if turn.findings or turn.facts else None,
        findings=dict(turn.findings),
        facts=dict(turn.facts),
        passed=turn.passed,
    )


def merged(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several case documents as one: lists and reports follow each other, of single values the last stands."""
    result: dict[str, Any] = {}
    for document in documents:
        for key, value in document.items():
            if key in _LISTS:
                result[key] = [*result.get(key, ()), *value]
            elif key == "report":
                result[key] = "\n\n".join(filter(None, (result.get(key, ""), value)))
            elif key == "files":
                result[key] = _beside(result.get(key, {}), value)
            elif key == "facts":
                result[key] = {**result.get(key, {}), **value}
            else:
                result[key] = value
    return result


def labelled(refs: Sequence[FileRef]) -> tuple[FileRef, ...]:
    """Each file once, and a number behind a name that stands for another file already."""
    names: dict[str, FileRef] = {}
    seen: set[str] = set()
    for ref in refs:
        if ref.sha256 not in seen:
            seen.add(ref.sha256)
            name = _free(ref.name, names)
            names[name] = ref.model_copy(update={"name": name})
    return tuple(names.values())


def _beside(have: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(have)
    for name, content in more.items():
        result[name if result.get(name) == content else _free(name, result)] = content
    return result


def _free(name: str, taken: Mapping[str, Any]) -> str:
    label, number = name, 2
    while label in taken:
        label, number = f"{name} ({number})", number + 1
    return label


def _answer(answers: Answers, facts: dict[str, Any], passed: set[str]) -> None:
    for finding, state in answers.findings.items():
        if state == "unknown":
            facts.pop(finding, None)
            passed.add(finding)
        else:
            facts[finding] = state == "present"
            passed.discard(finding)
    facts.update(answers.facts)
    passed.update(answers.passed)
    if answers.asked and not answers.facts and not any(state != "unknown" for state in answers.findings.values()):
        passed.add(answers.asked)


def _evidence(event: Event) -> Evidence | None:
    return event.body.evidence if isinstance(event.body, Opened | Added | Said) else None


def _answers(event: Event) -> Answers | None:
    return event.body.answers if isinstance(event.body, Answered | Said) else None


def _retracted(events: Sequence[Event]) -> frozenset[int]:
    """From the last to the first, because a retraction that was itself retracted takes nothing back."""
    gone: set[int] = set()
    for event in reversed(events):
        if event.seq not in gone:
            gone.update(_retracts(event))
    return frozenset(gone)


def _retracts(event: Event) -> tuple[int, ...]:
    if isinstance(event.body, Retracted):
        return (event.body.seq,)
    return event.body.retracts if isinstance(event.body, Said) else ()


def closing(events: Sequence[Event]) -> Event | None:
    """The event that resolved the case; None while it is open."""
    for event in reversed(events):
        if isinstance(event.body, Reopened):
            return None
        if _outcome(event) is not None:
            return event
    return None


def _outcome(event: Event | None) -> Outcome | None:
    return event.body.outcome if event is not None and isinstance(event.body, Resolved | Said) else None


def _doubted(events: Sequence[Event]) -> tuple[str, ...]:
    verdicts: dict[str, str] = {}
    for event in events:
        if isinstance(event.body, Doubted):
            verdicts[event.body.cause] = event.body.verdict
    return tuple(cause for cause, verdict in verdicts.items() if verdict == "wrong")
