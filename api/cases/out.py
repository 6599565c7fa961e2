"""What the service says about cases."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field
from pydantic_core import to_json

from api.cases.events import Actor, Note, Outcome, Source
from engine.dialogue import Reply
from engine.model.base import Frozen, Lang
from engine.model.diagnosis import Diagnosis, Probability
from engine.model.kb import CauseId

if TYPE_CHECKING:
    from api.cases.view import CaseView
    from api.store.cases import Head

Status = Literal["open", "resolved"]


class CaseSummary(Frozen):
    """A case in a list."""

    id: str
    title: str
    status: Status
    cause: str | None = Field(
        None, description="The confirmed cause; of an open case the one that leads, unknown included."
    )
    revision: int = Field(description="Number of its last event.")
    created: str = Field(description="RFC 3339, UTC.")
    updated: str


class CaseOut(CaseSummary):
    """A case as it stands."""

    lang: Lang = Field(description="Language it was opened in.")
    opened_by: Actor
    source: Source
    outcome: Outcome | None = Field(None, description="What it was in the end; null while it is open.")
    doubted: list[str] = Field(description="Causes that somebody held for wrong.")
    answered: dict[str, Any] = Field(description="Facts and findings that were answered or stated, by id.")
    passed: list[str] = Field(description="Checks and questions that could not be answered; they are not asked again.")
    diagnosis: Diagnosis


class CasePage(Frozen):
    """Some of the cases, those changed last first."""

    items: list[CaseSummary]
    next: str | None = Field(None, description="Relative URL of the next page; null on the last.")


class Lead(Frozen):
    """A cause in a ranking of the past."""

    cause: str
    title: str
    probability: Probability


class Moment(Frozen):
    """An event, and the ranking after it."""

    seq: int
    at: str = Field(description="RFC 3339, UTC.")
    by: Actor
    kind: str
    what: str = Field(description="What happened, in words.")
    retracted: bool
    lead: list[Lead] = Field(description="The first three causes after it.")
    unknown: Probability
    kb_digest: str
    digest: str = Field(description="SHA-256 of the diagnosis in both languages, as it was answered.")


class Timeline(Frozen):
    """Everything that happened to a case."""

    id: str
    moments: list[Moment]


class Replayed(Frozen):
    """One ranking, worked out once more."""

    revision: int
    kept: str = Field(description="Digest of the ranking as it was answered.")
    replayed: str = Field(description="Digest of the same by the knowledge in use.")
    same: bool
    lead: str | None = Field(None, description="The cause in the lead then.")
    leads_now: str | None = None


class Replay(Frozen):
    """Every ranking of a case worked out once more from its events."""

    id: str
    same: bool = Field(description="Whether every byte is the same. It has to be, if knowledge and engine are.")
    same_knowledge: bool = Field(description="Whether all were answered by the knowledge and the engine now in use.")
    kb_digest: str
    rankings: list[Replayed]


class Retraction(Frozen):
    """What is taken back."""

    seq: int = Field(ge=1, description="Number of the event, from the timeline.")
    reason: Note = Field("", description="Why.")


class Message(Frozen):
    """What somebody says about a case."""

    text: str = Field(
        min_length=1,
        max_length=200_000,
        description="yes, no, don't know, a number, log lines, free text, or a wish such as why?, undo, it was X.",
    )


class MessageOut(Frozen):
    """What the dialogue says to it."""

    revision: int = Field(description="Number of the event that the message became.")
    reply: Reply


class Feedback(Frozen):
    """What somebody thinks of a ranked cause."""

    cause: CauseId = Field(description="Id of the cause.")
    verdict: str = Field("wrong", pattern="^(wrong|right)$", description="wrong or right.")
    note: Note = Field("", description="Why.")


def moment(seconds: float) -> str:
    """RFC 3339 to the millisecond, UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def summary(head: Head) -> CaseSummary:
    """A case for a list."""
    values = {name: getattr(head, name) for name in ("id", "title", "status", "cause", "revision")}
    return CaseSummary(**values, created=moment(head.created), updated=moment(head.updated))


def case_text(view: CaseView, lang: Lang) -> bytes:
    """A :class:`CaseOut` as JSON; the diagnosis in it is, byte for byte, the one that was kept."""
    state = view.state
    rest = {
        **summary(view.head).model_dump(),
        "lang": state.lang,
        "opened_by": view.events[0].by,
        "source": state.source,
        "outcome": state.outcome,
        "doubted": list(state.doubted),
        "answered": dict(state.facts),
        "passed": sorted(state.passed),
    }
    return to_json(rest, inf_nan_mode="null")[:-1] + b',"diagnosis":' + view.ranked.texts[lang] + b"}"


def cursor(head: Head) -> str:
    """What asks for the cases after this one."""
    return base64.urlsafe_b64encode(json.dumps([head.updated, head.id]).encode()).decode().rstrip("=")


def after(text: str) -> tuple[float, str] | None:
    """What :func:`cursor` wrote; None if it is none."""
    try:
        updated, case_id = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return float(updated), str(case_id)
    except (ValueError, TypeError, binascii.Error):
        return None
