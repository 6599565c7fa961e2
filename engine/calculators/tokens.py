"""Tokens that one optimizer update consumes, and the words that hide which batch is meant.

Packed samples of equal length make ``DP * microbatch * T * accumulation`` input tokens an update, with
``DP = world / (TP * PP * CP)``: the ranks of a tensor, pipeline or context parallel group work on the same
samples, so the number of cards is not DP.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from engine.calculators import token_notes
from engine.calculators.fields import BatchCount, Degree, Fraction, taught
from engine.calculators.state import data_parallel, input_tokens_per_update
from engine.model.base import Frozen, Text
from engine.model.kb import Paradigm

Meaning = Literal["micro", "accumulated", "global"]


class TokensRequest(Frozen):
    """How a run cuts its batch."""

    data_parallel: Degree | None = Field(
        None, description="Ranks that read different samples. Give this or world_size, not both."
    )
    world_size: Degree | None = Field(
        None, description="All cards of the run; data parallelism follows as world / (TP * PP * CP)."
    )
    tensor_parallel: Degree = Field(1, description="Tensor parallel size (TP): cards that share every layer.")
    pipeline_parallel: Degree = Field(1, description="Pipeline parallel size (PP): number of stages.")
    context_parallel: Degree = Field(1, description="Context parallel size (CP): cards that share every sequence.")
    microbatch: BatchCount | None = Field(
        None,
        description="Samples per data-parallel rank in one forward pass. May be left out if batch_size_said is given.",
    )
    sequence_length: BatchCount = Field(description="Positions per sample (T), padding included.")
    accumulation: BatchCount = Field(1, description="Forward/backward passes per optimizer update.")
    batch_size_said: BatchCount | None = Field(
        None, description="The number somebody called 'the batch size', as said."
    )
    batch_size_means: Meaning | Literal["unknown"] = Field(
        "unknown",
        description="What batch_size_said counts: micro (a rank, one forward), accumulated (a rank, one "
        "update), global (all ranks, one update); unknown lists all readings and asks.",
    )
    supervised_fraction: Fraction | None = Field(
        None, description="Share of input positions that carry a loss. Excludes the two fractions below."
    )
    padding_fraction: Fraction | None = Field(None, description="Share of input positions that are padding.")
    unlabelled_fraction: Fraction | None = Field(
        None,
        description="Share of all input positions that are text without a loss (prompt, other speakers).",
    )
    token_budget: Annotated[
        int | None,
        Field(ge=1, le=10**18),
        taught("Give input tokens as a whole number, for instance 10000000000."),
    ] = Field(None, description="Input tokens the run may consume in all.")
    paradigm: Paradigm | None = Field(None, description="Adds the notes that hold only for this kind of training.")

    @model_validator(mode="after")
    def _ranks_add_up(self) -> Self:
        if (self.data_parallel is None) == (self.world_size is None):
            raise ValueError(
                "give exactly one of data_parallel and world_size: world_size counts cards, data_parallel "
                "only the ranks that read different samples"
            )
        sizes = (self.tensor_parallel, self.pipeline_parallel, self.context_parallel)
        if self.world_size is not None and data_parallel(self.world_size, *sizes) is None:
            raise ValueError(
                f"world_size {self.world_size} is not divisible by tensor_parallel * pipeline_parallel * "
                f"context_parallel = {self.cards_per_replica}: every replica needs that many cards, so "
                f"change one of the sizes or use a multiple of {self.cards_per_replica} cards"
            )
        if self.sequence_length % self.context_parallel:
            raise ValueError(
                f"sequence_length {self.sequence_length} is not divisible by context_parallel "
                f"{self.context_parallel}: each of its cards takes an equal piece of the sequence; pad the "
                "length"
            )
        return self

    @model_validator(mode="after")
    def _fractions_agree(self) -> Self:
        parts = (self.padding_fraction, self.unlabelled_fraction)
        if self.supervised_fraction is not None and parts != (None, None):
            raise ValueError(
                "give supervised_fraction, or padding_fraction and unlabelled_fraction, not both: supervised "
                "= 1 - padding - unlabelled"
            )
        if sum(part or 0.0 for part in parts) > 1.0:
            raise ValueError(
                f"padding_fraction {parts[0]} and unlabelled_fraction {parts[1]} exceed 1 together: both are "
                "shares of all input positions, so unlabelled counts no padding"
            )
        return self

    @model_validator(mode="after")
    def _batch_is_said(self) -> Self:
        if self.microbatch is None and self.batch_size_said is None:
            raise ValueError("give microbatch (samples per rank per forward), or batch_size_said and what it means")
        if self.batch_size_said is None:
            if self.batch_size_means != "unknown":
                raise ValueError("batch_size_means explains batch_size_said: give that number too")
            return self
        if self.batch_size_means == "unknown":
            return self
        derived = self.microbatch_if(self.batch_size_means)
        if derived is None:
            raise ValueError(
                f"batch_size_said {self.batch_size_said} as {self.batch_size_means} batch is not a multiple "
                f"of {self.samples_per_unit(self.batch_size_means)}, which a microbatch of one already "
                "makes: another meaning, accumulation or data parallelism is right"
            )
        if self.microbatch not in (None, derived):
            raise ValueError(
                f"microbatch {self.microbatch} contradicts batch_size_said {self.batch_size_said} read as "
                f"{self.batch_size_means}, which makes a microbatch of {derived}"
            )
        return self

    @property
    def cards_per_replica(self) -> int:
        """Cards that work on the same samples."""
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel

    @property
    def replicas(self) -> int:
        """Ranks that read different samples; whole, since the request refuses sizes that do not divide."""
        return self.data_parallel or (self.world_size or 0) // self.cards_per_replica

    def samples_per_unit(self, meaning: Meaning) -> int:
        """Samples that a microbatch of one makes of the batch so meant."""
        factor = {
            "micro": 1,
            "accumulated": self.accumulation,
            "global": self.accumulation * self.replicas,
        }
        return factor[meaning]

    def microbatch_if(self, meaning: Meaning) -> int | None:
        """The microbatch that ``batch_size_said`` implies; ``None`` if it would not be whole."""
        if self.batch_size_said is None:
            return None
        microbatch, rest = divmod(self.batch_size_said, self.samples_per_unit(meaning))
        return microbatch if rest == 0 else None


class TokenFigures(Frozen):
    """What one way of cutting the batch comes to."""

    microbatch: int = Field(description="Samples per rank per forward pass.")
    tokens_per_forward_per_replica: int = Field(
        description="microbatch * T: positions in one forward pass of one replica."
    )
    tokens_per_forward_per_card: int = Field(description="The same on one card: divided by the context parallel size.")
    tokens_per_global_microstep: int = Field(description="Positions in one forward pass over all replicas.")
    samples_per_update: int = Field(description="microbatch * DP * accumulation.")
    input_tokens_per_update: int = Field(description="DP * microbatch * T * accumulation, padding included.")
    supervised_tokens_per_update: int | None = Field(
        description="Positions with a loss per update, rounded; null if no fraction was given."
    )
    optimizer_updates: int | None = Field(description="Whole updates the token budget pays for; null without a budget.")
    token_budget_left: int | None = Field(description="Tokens of the budget that make no further whole update.")


class Reading(Frozen):
    """One thing that 'batch size' may have meant."""

    means: Meaning = Field(description="What the number would count.")
    text: Text = Field(description="The reading in words.")
    figures: TokenFigures | None = Field(description="What it comes to; null if the number does not divide that way.")
    agrees_with_microbatch: bool | None = Field(
        description="Whether it gives the microbatch that was stated; null if none was stated."
    )


class TokensResult(Frozen):
    """Tokens per update, or the question that must be answered first."""

    world_size: int = Field(description="All cards: DP * TP * PP * CP.")
    data_parallel: int = Field(description="Ranks that read different samples.")
    cards_per_replica: int = Field(description="Cards that work on the same samples: TP * PP * CP.")
    figures: TokenFigures | None = Field(description="The result; null while the meaning of the batch size is open.")
    readings: tuple[Reading, ...] = Field(description="The three readings of an unexplained batch size; else empty.")
    question: Text | None = Field(description="What to ask; null if nothing is open.")
    notes: tuple[Text, ...] = Field(description="What to keep in mind with these figures.")


def tokens_per_update(request: TokensRequest) -> TokensResult:
    """Tokens and samples per optimizer update; an unexplained batch size is asked about, never guessed."""
    replicas = request.replicas
    microbatch, unexplained = request.microbatch, request.batch_size_said
    if request.batch_size_means != "unknown":
        microbatch, unexplained = request.microbatch_if(request.batch_size_means), None
    return TokensResult(
        world_size=replicas * request.cards_per_replica,
        data_parallel=replicas,
        cards_per_replica=request.cards_per_replica,
        figures=None if microbatch is None else _figures(request, replicas, microbatch),
        readings=() if unexplained is None else _readings(request, replicas),
        question=None if unexplained is None else token_notes.ask_meaning(unexplained),
        notes=_notes(request, replicas, microbatch),
    )


def _figures(request: TokensRequest, replicas: int, microbatch: int) -> TokenFigures:
    per_replica = microbatch * request.sequence_length
    per_update = input_tokens_per_update(replicas, microbatch, request.sequence_length, request.accumulation)
    supervised = _supervised_fraction(request)
    updates, left = divmod(request.token_budget, per_update) if request.token_budget else (None, None)
    return TokenFigures(
        microbatch=microbatch,
        tokens_per_forward_per_replica=per_replica,
        tokens_per_forward_per_card=per_replica // request.context_parallel,
        tokens_per_global_microstep=per_replica * replicas,
        samples_per_update=microbatch * replicas * request.accumulation,
        input_tokens_per_update=per_update,
        supervised_tokens_per_update=None if supervised is None else round(per_update * supervised),
        optimizer_updates=updates,
        token_budget_left=left,
    )


def _supervised_fraction(request: TokensRequest) -> float | None:
    """A part that was not stated counts as zero; the notes then call the figure an upper bound."""
    if request.supervised_fraction is not None:
        return request.supervised_fraction
    if request.padding_fraction is None and request.unlabelled_fraction is None:
        return None
    return max(0.0, 1.0 - (request.padding_fraction or 0.0) - (request.unlabelled_fraction or 0.0))


def _readings(request: TokensRequest, replicas: int) -> tuple[Reading, ...]:
    readings = []
    meanings: tuple[Meaning, ...] = ("micro", "accumulated", "global")
    for meaning in meanings:
        microbatch = request.microbatch_if(meaning)
        readings.append(
            Reading(
                means=meaning,
                text=token_notes.READINGS[meaning],
                figures=None if microbatch is None else _figures(request, replicas, microbatch),
                agrees_with_microbatch=None if request.microbatch is None else microbatch == request.microbatch,
            )
        )
    return tuple(readings)


def _notes(request: TokensRequest, replicas: int, microbatch: int | None) -> tuple[Text, ...]:
    notes = [token_notes.BATCH_SIZE]
    if request.cards_per_replica > 1:
        notes.append(token_notes.gpus_are_not_dp(replicas * request.cards_per_replica, replicas))
    if request.supervised_fraction is None:
        one_missing = request.padding_fraction is None or request.unlabelled_fraction is None
        notes.append(token_notes.SUPERVISED_BOUND if one_missing else token_notes.SUPERVISED_COUNT)
    if request.accumulation > 1:
        notes += [token_notes.accumulation_sync(request.accumulation), token_notes.ACCUMULATION_LIMITS]
    if request.paradigm in ("contrastive", "embedding"):
        notes += [token_notes.NEGATIVES, token_notes.PAIRS]
        if microbatch is not None:
            notes.append(token_notes.negatives_per_query(microbatch, replicas))
    if request.paradigm == "dpo":
        notes.append(token_notes.PAIRS)
    return tuple(notes)
