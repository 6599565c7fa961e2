"""The events a case is made of. They are kept as they happened; everything else about a case follows from them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from engine.model.base import Frozen, Lang

State = Literal["present", "absent", "unknown"]
Note = Annotated[str, StringConstraints(max_length=10_000)]
Title = Annotated[str, StringConstraints(max_length=200)]


class Actor(Frozen):
    """Who did it: the caller's id and name."""

    id: str
    name: str


class Source(Frozen):
    """Where something came from: a face of the service, and what it calls the thing there."""

    kind: str = "api"
    ref: str = ""
    url: str = ""


class FileRef(Frozen):
    """A kept file; its bytes lie beside the events under their digest."""

    name: str
    sha256: str
    size: int


class Evidence(Frozen):
    """A case document as it was sent (keys of ``Case``), and files."""

    document: dict[str, Any] = {}
    files: tuple[FileRef, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.document and not self.files


class Answers(Frozen):
    """What somebody found out. ``unknown`` takes back an earlier answer, and means that it could not be told."""

    asked: str | None = Field(None, description="Id of the check or question that was proposed, if one was answered.")
    findings: dict[str, State] = Field(default={}, max_length=200, description="Findings by id.")
    facts: dict[str, Any] = Field(default={}, max_length=200, description="Facts by id, with their values.")
    passed: tuple[str, ...] = Field(
        default=(), max_length=50, description="Ids of checks and questions that cannot be answered: not asked again."
    )
    note: Note = ""

    @property
    def is_empty(self) -> bool:
        return not (self.asked or self.findings or self.facts or self.passed)


class Outcome(Frozen):
    """What it was in the end: a cause of the knowledge base, or in words what it does not know."""

    cause: str | None = Field(None, description="Id of the confirmed cause, as in /v1/causes; null if it is none.")
    other: Note = Field("", description="The cause in words, where no cause of the knowledge base is it.")
    confirmed_by: Note = Field("", description="The check, or what else, that confirmed it.")
    remedy: Note = Field("", description="What was done about it.")
    note: Note = ""


class Opened(Frozen):
    """The first event of every case."""

    kind: Literal["opened"] = "opened"
    title: Title
    lang: Lang
    source: Source
    evidence: Evidence


class Added(Frozen):
    """More evidence."""

    kind: Literal["evidence"] = "evidence"
    evidence: Evidence
    source: Source = Source()


class Answered(Frozen):
    """A check or a question was answered, or something was stated outright."""

    kind: Literal["answer"] = "answer"
    answers: Answers


class Retracted(Frozen):
    """What an earlier event said does not hold."""

    kind: Literal["retraction"] = "retraction"
    seq: int
    reason: Note = ""


class Said(Frozen):
    """A message of the dialogue with everything it brought, and the reply it got; a mere notice gets none."""

    kind: Literal["message"] = "message"
    text: str
    lang: Lang
    evidence: Evidence = Evidence()
    answers: Answers = Answers()
    retracts: tuple[int, ...] = ()
    outcome: Outcome | None = None
    reply: dict[str, Any] = {}


class Resolved(Frozen):
    """The cause is known, or nobody looks any more."""

    kind: Literal["resolution"] = "resolution"
    outcome: Outcome


class Reopened(Frozen):
    """The resolution does not hold."""

    kind: Literal["reopening"] = "reopening"
    note: Note = ""


class Doubted(Frozen):
    """Somebody who knows says that a cause it ranked is not it."""

    kind: Literal["feedback"] = "feedback"
    cause: str
    verdict: Literal["wrong", "right"] = "wrong"
    note: Note = ""


Body = Annotated[
    Opened | Added | Answered | Retracted | Said | Resolved | Reopened | Doubted, Field(discriminator="kind")
]


class Event(Frozen):
    """One event; ``seq`` counts from 1 within the case, ``at`` is seconds since 1970, UTC."""

    seq: int
    at: float
    by: Actor
    body: Body

    def text(self) -> bytes:
        """The event as it is kept: JSON in which NaN and infinity are numbers, since evidence may hold them."""
        return json.dumps(self.model_dump(), ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def read(cls, text: bytes) -> Event:
        """The event that :meth:`text` wrote."""
        return cls.model_validate(json.loads(text))
