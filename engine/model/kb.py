"""The objects of the knowledge base, one class a kind of file."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints, model_validator

from engine.model.base import Kept, Text
from engine.model.conditions import Condition

FactId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$", max_length=80)]
FindingId = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)*(\([a-z0-9-]+\))?$", max_length=100)
]
CauseId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*/[a-z0-9][a-z0-9-]*$", max_length=100)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=80)]

Frequency = Literal["always", "usually", "often", "sometimes", "rarely"]
Prior = Literal["common", "usual", "uncommon", "rare"]
Leak = Literal["frequent", "occasional", "rare", "very_rare"]
Role = Literal["symptom", "mechanism", "context", "normal"]
Status = Literal["draft", "trial", "stable", "retired"]
Risk = Literal["none", "low", "medium", "high"]
Station = Literal[
    "read", "batch", "forward", "loss", "backward", "sync", "optimizer", "checkpoint", "serve", "platform"
]
Paradigm = Literal["pretrain", "finetune", "sft", "dpo", "rlhf", "contrastive", "embedding", "eval", "release", "any"]
Severity = Literal["blocker", "major", "minor", "info"]

PARADIGM_ALIASES: dict[str, Paradigm] = {
    "pretraining": "pretrain",
    "continued_pretraining": "pretrain",
    "lora_sft": "sft",
    "embedding_finetune": "embedding",
    "ppo": "rlhf",
    "grpo": "rlhf",
    "evaluation": "eval",
}
PARADIGM_NAMES: tuple[str, ...] = tuple(sorted({*get_args(Paradigm), *PARADIGM_ALIASES}))


class Reference(Kept):
    """A public document behind a fact or a threshold."""

    title: str
    url: Annotated[str, StringConstraints(pattern=r"^https://")] | None = None


class Phrases(Kept):
    """How people say it. Words in CAPITALS are concepts of the lexicon; ``any`` holds phrases made of concepts only.

    All parts of a phrase must stand in one clause of a sentence, in any order; a part in 'quotes' is literal.
    """

    any: tuple[str, ...] = ()
    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()

    def all(self) -> tuple[str, ...]:
        return self.any + self.en + self.zh


class Concept(Kept):
    """One idea and its words. English forms match whole words; a trailing ``*`` lets any ending follow."""

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()


class Fact(Kept):
    """A typed, named thing that can be known about a run or a checkpoint."""

    id: FactId
    type: Literal["number", "bool", "text", "choice"]
    title: Text
    unit: str | None = None
    values: dict[str, tuple[str, ...]] | None = None
    aliases: tuple[str, ...] = ()
    derive: str | None = None
    ask: Text | None = None
    phrases: Phrases | None = None
    at_least: float | None = None
    at_most: float | None = None
    reference: Reference | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Fact:
        if (self.type == "choice") != (self.values is not None):
            raise ValueError("a fact of type choice lists its values, any other type has none")
        if self.unit is not None and self.type != "number":
            raise ValueError("only a number has a unit")
        if self.phrases is not None and self.type != "bool":
            raise ValueError("phrases set a fact to true, so the fact must be of type bool")
        return self


class Parameter(Kept):
    """The closed list a parametrised finding is expanded over; ``{value}`` in its texts is the value's own text."""

    name: Slug
    values: dict[Slug, ParameterValue]


class ParameterValue(Kept):
    """One value: its words in the texts, and how people say it."""

    title: Text
    phrases: Phrases = Phrases()
    denied_by: Phrases = Phrases()


class Finding(Kept):
    """Something abnormal or discriminating, concluded by a rule, a phrase, a signature or an answer."""

    id: FindingId
    title: Text
    when: Condition | None = None
    because: Text | None = None
    role: Role = "symptom"
    group: Slug | None = None
    leak: Leak = "rare"
    visible: bool = True
    mention_ok: bool = False
    reassures: Annotated[
        bool, Field(description="A normal finding that says the run does well, not that a part is as it was.")
    ] = False
    phrases: Phrases = Phrases()
    denied_by: Phrases = Phrases()
    ask: Text | None = None
    absent_if: Literal["log_complete"] | None = None
    parameter: Parameter | None = None
    reference: Reference | None = None


class Link(Kept):
    """A finding that a cause shows, and how often."""

    finding: FindingId
    how: Frequency


class Exclusion(Kept):
    """A finding whose state speaks strongly against the cause."""

    finding: FindingId
    is_: Literal["present", "absent"] = Field(alias="is")


class Remedy(Kept):
    """What to do about a cause. ``repairs``: how often it cures, given that the cause is right."""

    do: Text
    repairs: Frequency = "usually"
    minutes: Annotated[float, Field(gt=0, le=100_000)] = 10.0
    risk: Risk = "low"
    undo: Text | None = None


class Confusion(Kept):
    """A rival cause, and the sentence that separates the two."""

    cause: CauseId
    boundary: Text


class Cause(Kept):
    """What is wrong: one cause, one file, whose path is its id."""

    id: CauseId
    family: str
    title: Text
    status: Status
    station: Station
    paradigms: Annotated[tuple[Paradigm, ...], Field(min_length=1)] = ("any",)
    meaning: Text
    impact: Text
    prior: Prior
    presentation: dict[Literal["en", "zh"], tuple[str, ...]]
    shows: Annotated[tuple[Link, ...], Field(min_length=2, max_length=14)]
    checks: Annotated[tuple[Slug, ...], Field(min_length=1)]
    remedies: Annotated[tuple[Remedy, ...], Field(min_length=1)]
    rules_out: tuple[Exclusion, ...] = ()
    confused_with: tuple[Confusion, ...] = ()
    blind_spots: Text
    expected: bool = False
    references: tuple[Reference, ...] = ()


class Check(Kept):
    """Something a person can do or measure that makes unknown findings known."""

    id: Slug
    title: Text
    how: Text
    commands: dict[str, str] = {}
    minutes: Annotated[float, Field(gt=0, le=10_000)]
    accelerators: Annotated[int, Field(ge=0)] = 0
    risk: Risk = "none"
    settles: Annotated[tuple[FindingId, ...], Field(min_length=1, max_length=8)]


class Milder(Kept):
    """A failure that weighs less when ``when`` holds."""

    severity: Severity
    when: Condition


class Gate(Kept):
    """One item of a release audit: passes when ``passes`` is true, fails when it is false, else undecided.

    Args:
        stage: of the release checklist, 1 to 4; the audit of the files themselves belongs to stage 4.
        applies: where this is false the gate is not applicable; where it is unknown the evidence is not enough.
        follows: gates whose failure explains a failure of this one, which is then no root.
        asked: a person can state the facts, so the checklist of a diagnosis shows the gate, too.
    """

    id: CauseId
    title: Text
    stage: Annotated[int, Field(ge=1, le=4)]
    severity: Severity
    asked: bool = False
    requires: Text
    applies: Condition | None = None
    passes: Condition
    milder: Milder | None = None
    because: Text
    follows: tuple[CauseId, ...] = ()
    checks: tuple[Slug, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    leads_to: tuple[CauseId, ...] = ()
    paradigms: Annotated[tuple[Paradigm, ...], Field(min_length=1)] = ("any",)
    references: tuple[Reference, ...] = ()


class Policy(Kept):
    """Which gates a release needs evidence for. The first policy in order of id that fits is used, most specific first.

    Args:
        kinds, paradigms, release_kinds: what it is for; empty fits everything.
        requires: gates that must not lack evidence; one that is not applicable is no lack.
        stages: stages of the checklist that are required, too; stage 4 is what ``requires`` lists.
    """

    id: Slug
    title: Text
    kinds: tuple[str, ...] = ()
    paradigms: tuple[Paradigm, ...] = ()
    release_kinds: tuple[Literal["downstream", "index_rebuild", "resume", "internal"], ...] = ()
    requires: tuple[CauseId, ...] = ()
    stages: tuple[Annotated[int, Field(ge=1, le=3)], ...] = ()
    because: Text


class Signature(Kept):
    """A log line worth knowing. ``pattern`` is RE2; ``unless`` guards against harmless look-alikes on the same line.

    ``explains`` are findings that are a consequence when a signature reports them later, on the same device.
    ``explained_as`` is the finding of a line that is a consequence itself: a scheduler cancels in the same words for a
    person and after a failure.
    """

    id: Slug
    pattern: str
    unless: str | None = None
    role: Literal["root", "cascade", "teardown", "context"]
    finding: FindingId | None = None
    fact: FactId | None = None
    fields: dict[str, FactId] = {}
    explains: tuple[FindingId, ...] = ()
    explained_as: FindingId | None = None
    examples: Annotated[tuple[str, ...], Field(min_length=1)]
    counter_examples: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _sets_something(self) -> Signature:
        if self.finding is None and self.fact is None and not self.fields:
            raise ValueError("a signature sets a finding, a fact or fields")
        return self


class StationEntry(Kept):
    """One of the eight stations of a training step: what goes in, happens, comes out, and what usually breaks."""

    station: Station
    title: Text
    input: Text
    action: Text
    output: Text
    cpu: Text
    accelerator: Text
    network: Text
    check: Text
    failure: Text
    findings: tuple[FindingId, ...] = ()


class Followed(Kept):
    """The four things followed along the stations."""

    tokens: Text
    memory: Text
    synchronised: Text
    evaluation: Text


class Pipeline(Kept):
    """A paradigm's training step, station by station, in order."""

    paradigm: Paradigm
    title: Text
    follows: Followed
    stations: Annotated[tuple[StationEntry, ...], Field(min_length=8, max_length=8)]


class CaseExpectation(Kept):
    """What a case must give; ``rank`` is of the cause the file belongs to, ``present`` and ``absent`` are findings."""

    rank: Annotated[int, Field(ge=1, le=10)] | None = None
    not_first: bool = False
    silent: bool = False
    unknown: bool = False
    first: CauseId | None = None
    present: tuple[FindingId, ...] = ()
    absent: tuple[FindingId, ...] = ()


class Reports(Kept):
    """How people who met a cause first told of it: what a report is compared with, never a rule."""

    cause: CauseId
    said: Annotated[tuple[Annotated[str, StringConstraints(min_length=10, max_length=1_000)], ...], Field(min_length=1)]


class KnowledgeCase(Kept):
    """An example beside a cause: input as a user would send it, and what must come out."""

    name: str
    kind: Literal["fires", "near_miss", "healthy"]
    case: dict[str, object]
    expect: CaseExpectation
