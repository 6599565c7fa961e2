"""The numbers behind the knowledge base's words. They stand in kb/calibration.yaml and nowhere else."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.model.base import Kept
from engine.model.evidence import SourceKind
from engine.model.kb import Frequency, Leak, Prior, Risk

Share = Annotated[float, Field(gt=0, lt=1)]


class Reliability(Kept):
    """How far a kind of source is to be believed: P(reported | so) and P(reported | not so)."""

    hit: Share
    false: Share


class Caps(Kept):
    """Limits in bits: of a context finding in favour, and of all prose together for a cause."""

    context_bits: Annotated[float, Field(gt=0)]
    prose_bits: Annotated[float, Field(gt=0)]
    prose_beyond: Annotated[float, Field(ge=0, lt=1)]
    rules_out_bits: Annotated[float, Field(gt=0)]


class Resemblance(Kept):
    """What a likeness in words is worth: ``bits`` a point of BM25 beyond ``noise`` points a term.

    All of it together is that. How it is shared out follows ``by_cause`` of the differences of these bits and
    ``by_family`` of the bits by which learnt weights of words prefer a family, half of it for ``half_at`` terms.

    At most ``cap``, and at most ``per_term`` a different term that some cause has, so that a short report says little;
    ``yields`` bits less of the cap for each bit by which more than prose speaks for some cause.
    Where nothing was found, neither abnormal nor in order, causes are listed from ``listed_from`` bits on; where only
    what reassures was found, from ``listed_despite`` on.
    """

    bits: Annotated[float, Field(ge=0)]
    noise: Annotated[float, Field(ge=0)]
    per_term: Annotated[float, Field(ge=0)]
    cap: Annotated[float, Field(ge=0)]
    yields: Annotated[float, Field(ge=0)]
    by_cause: Annotated[float, Field(ge=0)]
    by_family: Annotated[float, Field(ge=0)]
    half_at: Annotated[float, Field(gt=0)]
    listed_from: Annotated[float, Field(gt=0)]
    listed_despite: Annotated[float, Field(gt=0)]


class Search(Kept):
    """How many hypotheses of several causes are looked at, and the bits a further cause must explain to be one."""

    pairs_of: Annotated[int, Field(ge=0, le=100)]
    triples_from: Annotated[int, Field(ge=0, le=50)]
    member_bits: Annotated[float, Field(ge=0)]


class Costs(Kept):
    """What a check costs, in minutes of a person's time or what is worth as much."""

    fixed: Annotated[float, Field(ge=0)]
    question: Annotated[float, Field(gt=0)]
    accelerator: Annotated[float, Field(ge=0)]
    risk: dict[Risk, Annotated[float, Field(ge=0)]]


class Calibration(Kept):
    """See kb/calibration.yaml for what each number means and how it was found."""

    links: dict[Frequency, Share]
    leaks: dict[Leak, Share]
    context_leak: Share
    priors: dict[Prior, Annotated[float, Field(gt=0)]]
    known_share: Share
    another_fault: Share
    other_paradigm: Annotated[float, Field(gt=0, le=1)]
    sources: dict[SourceKind, Reliability]
    caps: Caps
    resemblance: Resemblance
    search: Search
    costs: Costs
    temperature: Annotated[float, Field(gt=0, le=2)]
    damping: Annotated[float, Field(gt=0, le=1)]
    shown_from: Share
    abstain_above: Share
