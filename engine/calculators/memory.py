"""Static training memory: request, result and the comparison of all ways to shard it."""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from engine.calculators import memory_notes
from engine.calculators.fields import Bytes, Degree, Fraction
from engine.calculators.state import (
    MASTER_BYTES,
    OPTIMIZER_STATE_BYTES,
    Mode,
    OptimizerName,
    Precision,
    ShardingStrategy,
    StaticBytes,
    shard_counts,
    static_bytes,
)
from engine.model.base import Frozen, Text

GB: Final = 1e9
FP32_BYTES: Final = 4.0
Fits = Literal["yes", "no", "too_close"]

HEADROOM: Final = 0.2
"""Share of a card to leave free for what is not counted. A convention of this project, not a measurement:
activations may need far more, so ``yes`` means the static state is no obstacle, not that the run fits."""

_COUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\+?\d+)?) ?([kmbt]?)", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_MIN_PARAMETERS, _MAX_PARAMETERS = 1e3, 1e15


def parse_parameters(value: Any) -> float:
    """``7e9``, ``"7B"``, ``"350M"`` or ``"7,000,000,000"`` as a number of parameters."""
    number = _as_number(value)
    if number is None:
        raise PydanticCustomError(
            "parameters",
            "Give the number of parameters, such as 7000000000, 7e9, '7B' or '350M'; for a mixture of "
            "experts the total over all experts, such as '46.7B'",
        )
    if not _MIN_PARAMETERS <= number <= _MAX_PARAMETERS:
        raise PydanticCustomError(
            "parameters",
            "The number of parameters must lie between 1000 and 1e15; for billions write '7B' or 7e9, not 7",
        )
    return number


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) <= _MAX_PARAMETERS else (float("inf") if value == value else None)
    if not isinstance(value, str) or len(value) > 40:
        return None
    match = _COUNT.fullmatch(value.strip().replace(",", "").replace("_", ""))
    return float(match[1]) * _UNITS[match[2].lower()] if match else None


Parameters = Annotated[float, BeforeValidator(parse_parameters, json_schema_input_type=float | str)]


class MemoryRequest(Frozen):
    """A model, an optimizer and the way their state is spread."""

    parameters: Parameters = Field(
        description="All parameters of the model, frozen ones included: a number, or a string such as '7B' or '350M'."
    )
    gpus: Degree = Field(
        description="Ranks of the data-parallel group that replicates or shards the state (not all cards, if "
        "tensor or pipeline parallelism is used)."
    )
    mode: Mode = Field("dp", description="How the group holds the state: dp, zero1, zero2, zero3 or fsdp.")
    sharding_strategy: ShardingStrategy | None = Field(
        None, description="FSDP only: full (default), shard_grad_op, hybrid or no_shard."
    )
    shard_group_size: Degree | None = Field(
        None,
        description="FSDP hybrid only: ranks that share one copy, usually the cards of a node; divides gpus.",
    )
    optimizer: OptimizerName = Field("adamw", description="Sets the optimizer state per trainable parameter.")
    optimizer_state_bytes: Annotated[float, Field(ge=0, le=64, allow_inf_nan=False)] | None = Field(
        None,
        description="Optimizer state in bytes per trainable parameter, if it is not the optimizer's usual one.",
    )
    parameter_bytes: Bytes = Field(2.0, description="Bytes per trainable weight in compute precision (BF16 2, FP32 4).")
    gradient_bytes: Bytes = Field(2.0, description="Bytes per gradient (BF16 2, FP32 accumulation 4).")
    master_weights: bool | None = Field(
        None,
        description="Whether an FP32 copy of the weights is kept. Default: yes below FP32, no for FP32 weights.",
    )
    tensor_parallel: Degree = Field(1, description="Tensor parallel size; divides the parameters of a card.")
    pipeline_parallel: Degree = Field(1, description="Pipeline parallel size; divides the parameters of a card.")
    trainable_parameters: Parameters | None = Field(
        None, description="Parameters with gradients, for instance the LoRA weights. Default: all."
    )
    frozen_parameter_bytes: Bytes | None = Field(
        None,
        description="Bytes per frozen weight, for instance 0.5 for a 4-bit base. Default: parameter_bytes.",
    )
    card_memory_gb: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="Memory of a card in GB (10^9 bytes). Gives the verdict 'fits'."
    )
    headroom: Fraction = Field(
        HEADROOM,
        description="Share of the card to leave free for what is not counted; below it the verdict is too_close.",
    )

    @model_validator(mode="after")
    def _sharding_is_consistent(self) -> Self:
        if self.mode != "fsdp" and self.sharding_strategy is not None:
            raise ValueError(f"sharding_strategy belongs to mode fsdp, not to {self.mode}: leave it out, or use fsdp")
        if (self.sharding_strategy == "hybrid") != (self.shard_group_size is not None):
            raise ValueError(
                "shard_group_size and sharding_strategy hybrid go together: the ranks one copy is spread over"
            )
        if self.shard_group_size is not None and self.gpus % self.shard_group_size:
            raise ValueError(
                f"shard_group_size {self.shard_group_size} does not divide gpus {self.gpus}: hybrid sharding "
                "makes whole groups"
            )
        return self

    @model_validator(mode="after")
    def _weights_are_consistent(self) -> Self:
        if self.trainable_parameters is not None and self.trainable_parameters > self.parameters:
            raise ValueError(
                f"trainable_parameters {self.trainable_parameters:g} exceed parameters {self.parameters:g}: "
                "parameters counts base and adapter together"
            )
        if self.frozen_parameter_bytes is not None and self.trainable_parameters is None:
            raise ValueError("frozen_parameter_bytes needs trainable_parameters: without it nothing is frozen")
        if self.master_weights and self.parameter_bytes >= FP32_BYTES:
            raise ValueError(
                "master_weights with parameter_bytes 4 would count the FP32 weights twice: they are their "
                "own master; if the model computes in BF16, set parameter_bytes 2"
            )
        return self

    @property
    def precision(self) -> Precision:
        """Bytes per number, defaults filled in."""
        keeps_master = self.parameter_bytes < FP32_BYTES if self.master_weights is None else self.master_weights
        usual = OPTIMIZER_STATE_BYTES[self.optimizer]
        return Precision(
            parameter=self.parameter_bytes,
            gradient=self.gradient_bytes,
            master=MASTER_BYTES if keeps_master else 0.0,
            optimizer=usual if self.optimizer_state_bytes is None else self.optimizer_state_bytes,
            frozen=self.parameter_bytes if self.frozen_parameter_bytes is None else self.frozen_parameter_bytes,
        )

    @property
    def cards(self) -> int:
        """All cards that hold a piece of the state."""
        return self.gpus * self.tensor_parallel * self.pipeline_parallel


class ComponentMemory(Frozen):
    """GB (10^9 bytes), rounded to a thousandth; the total is rounded from exact bytes."""

    weights_gb: float = Field(description="Model weights in compute precision.")
    gradients_gb: float = Field(description="Gradients of the trainable weights.")
    master_gb: float = Field(description="FP32 master copy of the trainable weights.")
    optimizer_gb: float = Field(description="Optimizer states.")
    total_gb: float = Field(description="Sum of the four.")


class ModeMemory(Frozen):
    """One way to hold the same state."""

    mode: Mode = Field(description="dp, zero1, zero2, zero3 or fsdp.")
    sharding_strategy: ShardingStrategy | None = Field(description="Of FSDP; null otherwise.")
    per_card: ComponentMemory = Field(description="On one card.")
    cluster: ComponentMemory = Field(description="Over all cards, replicas counted each time.")
    percent_less_than_dp: float = Field(description="How much less a card holds than under dp, in percent.")
    fits: Fits | None = Field(
        description="yes: the state leaves the headroom free; too_close: it fits into the card but not into "
        "what the headroom leaves; no: it exceeds the card; null: no card_memory_gb given."
    )


class MemoryResult(ModeMemory):
    """The requested way, and beside it all others for the same input."""

    cards: int = Field(description="All cards: gpus * TP * PP.")
    bytes_per_parameter: float = Field(description="Unsharded state per trainable parameter, in bytes.")
    comparison: tuple[ModeMemory, ...] = Field(description="dp, zero1, zero2, zero3 and fsdp for the same input.")
    headroom_rule: Text = Field(description="How 'fits' is decided.")
    assumptions: tuple[Text, ...] = Field(description="What the figures take for granted.")
    not_counted: tuple[Text, ...] = Field(description="Memory that comes on top.")
    notes: tuple[Text, ...] = Field(description="What to keep in mind with these figures.")


def training_memory(request: MemoryRequest) -> MemoryResult:
    """Static memory per card and over the cluster, by component."""
    strategy: ShardingStrategy | None = request.sharding_strategy or ("full" if request.mode == "fsdp" else None)
    fsdp_strategy: ShardingStrategy = strategy or "full"
    modes: tuple[Mode, ...] = ("dp", "zero1", "zero2", "zero3", "fsdp")
    rows = {mode: _row(request, mode, fsdp_strategy if mode == "fsdp" else None) for mode in modes}
    chosen = rows[request.mode]
    precision = request.precision
    return MemoryResult(
        **dict(chosen),
        cards=request.cards,
        bytes_per_parameter=precision.parameter + precision.gradient + precision.master + precision.optimizer,
        comparison=tuple(rows.values()),
        headroom_rule=memory_notes.headroom_rule(request.headroom),
        assumptions=_assumptions(request),
        not_counted=memory_notes.NOT_COUNTED,
        notes=_notes(request, rows["dp"], strategy),
    )


def _row(request: MemoryRequest, mode: Mode, strategy: ShardingStrategy | None) -> ModeMemory:
    mine = _bytes(request, mode, strategy)
    baseline = _bytes(request, "dp", None).total
    return ModeMemory(
        mode=mode,
        sharding_strategy=strategy,
        per_card=_components(mine, 1),
        cluster=_components(mine, request.cards),
        percent_less_than_dp=round(100.0 * (1.0 - mine.total / baseline), 1),
        fits=_fits(mine.total, request.card_memory_gb, request.headroom),
    )


def _bytes(request: MemoryRequest, mode: Mode, strategy: ShardingStrategy | None) -> StaticBytes:
    trainable = request.parameters if request.trainable_parameters is None else request.trainable_parameters
    pieces = request.tensor_parallel * request.pipeline_parallel
    shards = shard_counts(mode, request.gpus, strategy or "full", request.shard_group_size)
    return static_bytes(request.parameters / pieces, trainable / pieces, request.precision, shards)


def _components(held: StaticBytes, cards: int) -> ComponentMemory:
    def gb(amount: float) -> float:
        return round(amount * cards / GB, 3)

    return ComponentMemory(
        weights_gb=gb(held.weights),
        gradients_gb=gb(held.gradients),
        master_gb=gb(held.master),
        optimizer_gb=gb(held.optimizer),
        total_gb=gb(held.total),
    )


def _fits(held: float, card_memory_gb: float | None, headroom: float) -> Fits | None:
    if card_memory_gb is None:
        return None
    card = card_memory_gb * GB
    if held > card:
        return "no"
    return "too_close" if held > card * (1.0 - headroom) else "yes"


def _assumptions(request: MemoryRequest) -> tuple[Text, ...]:
    state = memory_notes.optimizer_state(request.optimizer, request.precision.optimizer)
    split = request.tensor_parallel * request.pipeline_parallel > 1
    return (memory_notes.UNITS, state) + ((memory_notes.EVEN_SPLIT,) if split else ())


def _notes(request: MemoryRequest, dp: ModeMemory, strategy: ShardingStrategy | None) -> tuple[Text, ...]:
    notes = [memory_notes.accumulation(dp.per_card.total_gb, request.card_memory_gb)]
    if request.mode != "dp" and strategy != "no_shard":
        notes.append(memory_notes.SHARDING_COSTS)
    if request.mode == "fsdp" and strategy != "no_shard":
        notes.append(memory_notes.FSDP_PRECISION)
    if strategy == "shard_grad_op":
        notes.append(memory_notes.SHARD_GRAD_OP)
    if strategy == "hybrid":
        notes.append(memory_notes.HYBRID)
    if request.mode in ("zero2", "zero3") and request.pipeline_parallel > 1:
        notes.append(memory_notes.ZERO_WITH_PIPELINE)
    if request.trainable_parameters is not None:
        notes.append(memory_notes.FROZEN)
    return tuple(notes)
