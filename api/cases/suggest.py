"""Resolved cases as case files for review, and whether the probabilities that were told have come true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from api.cases.events import Event
from api.cases.ranking import Ranked
from api.cases.state import CaseState, closing, state_of
from api.store import cases
from engine.evaluate.score import expected_calibration_error
from engine.evidence.inputs import EvidenceFile
from engine.model.case import Case

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from engine.diagnose import Diagnoser
    from engine.knowledge.knowledge import Knowledge

INLINE = 64 * 1024  # bytes of a text file that may stand in a case file


@dataclass(frozen=True)
class Closed:
    """A resolved case as the store holds it, with the ranking that people had before they resolved it."""

    id: str
    title: str
    state: CaseState
    before: Ranked
    files: tuple[EvidenceFile, ...]


@dataclass(frozen=True)
class Suggestion:
    """A resolved case, ready to be reviewed.

    Args:
        cause: confirmed cause; None if the knowledge base had none for it.
        document: the case file, in the form of an incident.
        then, now: place of the confirmed cause in the ranking before the resolution and by the knowledge in use; 0 if
            it was not listed.
        told: probability that the cause in the lead had then.
        right: whether it was the confirmed one.
        left_out: names of files that are too large, or no text.
    """

    id: str
    title: str
    cause: str | None
    document: dict[str, Any]
    then: int
    now: int
    told: float
    right: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Drift:
    """What was told against what was confirmed; the calibration drifts if the first two differ."""

    count: int
    told: float
    right: float
    ece: float
    brier: float


def closed_cases(connection: Connection, tenant: str) -> list[Closed]:
    """Every resolved case of a tenant, those changed last first."""
    found: list[Closed] = []
    after: tuple[float, str] | None = None
    while True:
        page = cases.heads(connection, tenant, cases.Asked(status="resolved", after=after, limit=100))
        found += [_closed(connection, head) for head in page[:100]]
        if len(page) <= 100:
            return found
        after = page[99].updated, page[99].id


def suggest(closed: Closed, diagnoser: Diagnoser) -> Suggestion:
    """The case file of a resolved case, and where its cause stood and stands."""
    outcome = closed.state.outcome
    assert outcome is not None
    knowledge = diagnoser.knowledge
    document, left_out = _document(closed)
    now = diagnoser.diagnose(Case.model_validate(document), [f for f in closed.files if f.name in left_out], limit=50)
    before = closed.before.data("en")["causes"]
    return Suggestion(
        id=closed.id,
        title=closed.title,
        cause=outcome.cause,
        document={"id": closed.id, "case": document, "truth": _truth(closed, knowledge)},
        then=_place([cause["id"] for cause in before], outcome.cause),
        now=_place([cause.id for cause in now.causes], outcome.cause),
        told=before[0]["probability"] if before else 0.0,
        right=bool(before) and before[0]["id"] == outcome.cause,
        left_out=left_out,
    )


def example(suggestion: Suggestion) -> dict[str, Any]:
    """The same as an example for the file beside its cause."""
    return {
        "name": suggestion.title,
        "kind": "fires",
        "case": suggestion.document["case"],
        "expect": {"rank": max(1, suggestion.now)},
    }


def drift(suggestions: Sequence[Suggestion]) -> Drift | None:
    """How the probabilities that were told for the leading cause have come true; None without any."""
    told = np.array([suggestion.told for suggestion in suggestions if suggestion.told])
    right = np.array([suggestion.right for suggestion in suggestions if suggestion.told], dtype=float)
    if not len(told):
        return None
    return Drift(
        len(told),
        float(told.mean()),
        float(right.mean()),
        expected_calibration_error(told, right),
        float(((told - right) ** 2).mean()),
    )


def _closed(connection: Connection, head: cases.Head) -> Closed:
    events = [Event.read(text) for text in cases.events(connection, head.id)]
    state = state_of(events)
    end = closing(events)
    kept = cases.ranking(connection, head.id, end.seq) if end is not None else None
    assert kept is not None  # of resolved cases alone
    files = tuple(
        EvidenceFile(ref.name, data=b"".join(cases.pieces(connection, head.id, ref.sha256))) for ref in state.files
    )
    return Closed(head.id, head.title, state, Ranked.of(kept), files)


def _document(closed: Closed) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The case with its answers as facts and its small text files as fragments; names of the other files."""
    document = dict(closed.state.document)
    if closed.state.facts:
        document["facts"] = {**document.get("facts", {}), **closed.state.facts}
    inline, left_out = {}, []
    for file in closed.files:
        text = _text(file)
        if text is None:
            left_out.append(file.name)
        else:
            inline[file.name] = text
    if inline:
        document["files"] = {**inline, **document.get("files", {})}
    return document, tuple(left_out)


def _text(file: EvidenceFile) -> str | None:
    data = file.data or b""
    if len(data) > INLINE:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _truth(closed: Closed, knowledge: Knowledge) -> dict[str, Any]:
    outcome = closed.state.outcome
    assert outcome is not None
    cause = knowledge.causes.get(outcome.cause) if outcome.cause else None
    return {
        "family": cause.family if cause else None,
        "cause_id": outcome.cause,
        "cause": cause.title.en if cause else outcome.other,
        "fix": outcome.remedy,
        "discriminating_check": outcome.confirmed_by,
        "note": outcome.note,
        "difficulty": "?",
    }


def _place(ids: Sequence[str], cause: str | None) -> int:
    return list(ids).index(cause) + 1 if cause is not None and cause in ids else 0


def by_cause(suggestions: Sequence[Suggestion]) -> Iterator[tuple[str, list[Suggestion]]]:
    """The suggestions of each confirmed cause, in order of id."""
    for cause in sorted({suggestion.cause for suggestion in suggestions if suggestion.cause}):
        yield cause, [suggestion for suggestion in suggestions if suggestion.cause == cause]
