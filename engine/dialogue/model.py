"""What is said in a dialogue, as plain data: questions, what a message means, and replies. Every face renders these."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engine.model.base import Frozen, Lang
from engine.model.evidence import State

CommandKind = Literal[
    "why", "why-not", "how", "remedy", "undo", "more", "ranking", "resolve", "help", "restart", "language", "stop"
]


class Expected(Frozen):
    """A cause, and its probability after an answer."""

    cause: str
    title: str
    probability: float


class Option(Frozen):
    """One way to answer: ``key`` is what a person types or clicks, ``answers`` what is known then, by finding."""

    key: str
    label: str
    answers: dict[str, State] = {}
    passes: bool = Field(False, description="It cannot be answered, and is not to be asked again.")
    then: tuple[Expected, ...] = Field(default=(), description="The leading causes after this answer.")


class Question(Frozen):
    """What is asked next.

    ``question`` is about one finding, ``check`` is something to do first, ``opening`` asks what is wrong at all. With
    ``several`` more than one option may be chosen, and for a check what is left out then counts as not seen.
    """

    id: str
    kind: Literal["question", "check", "opening"]
    text: str
    title: str = Field("", description="What is asked or to be done, without how to answer in words: for a form.")
    how: str = Field("", description="How to find out.")
    commands: dict[str, str] = {}
    minutes: float = 0.0
    risk: str = "none"
    asks: tuple[str, ...] = Field(default=(), description="Ids of the findings that an answer settles.")
    options: tuple[Option, ...] = ()
    several: bool = False
    value: str | None = Field(None, description="Id of the fact whose value answers the question as well.")
    value_label: str = ""


class Command(Frozen):
    """Something a person wants of the dialogue. ``place`` is a cause by its place in the ranking, from 1."""

    kind: CommandKind
    cause: str | None = None
    place: int | None = None
    words: str = Field("", description="The cause in the person's words, where it is none of the knowledge base.")


class Turn(Frozen):
    """What a message means: answers, values, evidence and a command, and what it would be a guess to take it for.

    ``findings``, ``facts`` and ``passed`` follow from answers to the pending question ``asked`` and from ids written
    out; ``evidence`` is a case document with what is left: free text, log lines, tables and configurations.
    """

    text: str
    lang: Lang
    asked: str | None = None
    findings: dict[str, State] = {}
    facts: dict[str, float | bool | str] = {}
    passed: tuple[str, ...] = Field(default=(), description="Checks and questions that could not be answered.")
    evidence: dict[str, Any] = Field(default={}, description="A case document: report, files.")
    command: Command | None = None
    unclear: str = Field("", description="A question back, where the message may mean two things.")
    not_understood: tuple[str, ...] = ()
    expects_file: bool = Field(False, description="The message speaks of an attached file.")

    @property
    def tells_anything(self) -> bool:
        """Whether the message changes the case."""
        return bool(self.findings or self.facts or self.passed or self.evidence)


class Move(Frozen):
    """How a cause moved, and the findings that moved it, strongest first."""

    cause: str
    title: str
    before: float
    after: float
    by: tuple[str, ...] = ()


class Ranked(Frozen):
    """A cause in the ranking, with the strongest reasons for and against it."""

    cause: str
    title: str
    probability: float
    reasons: tuple[str, ...] = ()


class Remedy(Frozen):
    """What to do about it, with its price and the way back."""

    do: str
    minutes: float
    risk: str
    undo: str | None = None


class Confirmation(Frozen):
    """The check that confirms a cause."""

    id: str
    title: str
    how: str
    commands: dict[str, str] = {}
    minutes: float
    risk: str


class Ending(Frozen):
    """Where questions have led: a decided cause, several that no question separates, or an honest unknown."""

    kind: Literal["cause", "open", "unknown"]
    cause: str | None = None
    title: str = ""
    probability: float = 0.0
    expected: bool = Field(False, description="True: harmless, expected behaviour that looks like a fault.")
    why: str = Field("", description="Why it is unknown.")
    evidence: tuple[str, ...] = ()
    confirm: Confirmation | None = None
    remedies: tuple[Remedy, ...] = ()
    would_help: tuple[str, ...] = Field(default=(), description="What would lower the unknown.")


class Reply(Frozen):
    """The answer to a message. ``paragraphs`` say all of it in plain words; the other fields are the same as data."""

    lang: Lang
    paragraphs: tuple[str, ...]
    understood: tuple[str, ...] = ()
    wished: tuple[str, ...] = Field(default=(), description="Questions back, and what the writer wished to be told.")
    moved: tuple[Move, ...] = ()
    ranking: tuple[Ranked, ...] = ()
    unknown: float = 1.0
    question: Question | None = None
    ending: Ending | None = None

    @property
    def text(self) -> str:
        """All paragraphs, an empty line between them."""
        return "\n\n".join(self.paragraphs)
