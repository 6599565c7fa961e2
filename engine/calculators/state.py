"""Bytes of static training state: what a card holds before any sample arrives.

Mixed precision keeps BF16 weights and gradients, and FP32 master weights and optimizer state; with AdamW that
is 2 + 2 + 4 + 4 + 4 = 16 bytes a parameter. Who shards what over a group of N ranks (Rajbhandari et al. 2020,
"ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", section 5):

====================================  ========  =========  =====================
mode                                  weights   gradients  master and optimizer
====================================  ========  =========  =====================
dp, FSDP no_shard                     whole     whole      whole
zero1                                 whole     whole      1/N
zero2, FSDP shard_grad_op             whole     1/N        1/N
zero3, FSDP full                      1/N       1/N        1/N
FSDP hybrid                           1/S each, S the shard group inside N
====================================  ========  =========  =====================

FSDP shard_grad_op stores sharded weights between steps, but holds them whole from forward to backward
(PyTorch, ``torch.distributed.fsdp.ShardingStrategy``); the peak is what counts here. FSDP mixed precision has
one FP32 shard in place of a BF16 weight and an FP32 master, and FP32 gradient shards: 16 with AdamW, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

Mode = Literal["dp", "zero1", "zero2", "zero3", "fsdp"]
ShardingStrategy = Literal["full", "shard_grad_op", "hybrid", "no_shard"]
OptimizerName = Literal["adamw", "adam8bit", "sgd", "sgd_momentum", "adafactor", "lion"]

MASTER_BYTES: Final = 4.0
"""An FP32 copy of a trainable weight."""

OPTIMIZER_STATE_BYTES: Final[Mapping[OptimizerName, float]] = MappingProxyType(
    {"adamw": 8.0, "adam8bit": 2.0, "sgd": 0.0, "sgd_momentum": 4.0, "adafactor": 0.002, "lion": 4.0}
)
"""Bytes of optimizer state per trainable parameter.

* ``adamw``: two FP32 moments (Kingma and Ba 2015; Loshchilov and Hutter 2019).
* ``adam8bit``: two moments of one byte each (Dettmers et al. 2022, arXiv 2110.02861). Their per-block scales
  (four bytes a moment and block: 1.6 % more at a block of 256) and small tensors kept in FP32 are left out.
* ``sgd``: none. ``sgd_momentum``: one FP32 buffer.
* ``adafactor``: no first moment; the second as one FP32 number per row and one per column (Shazeer and Stern
  2018, arXiv 1804.04235), ``4 * (rows + columns) / (rows * columns)``; 0.002 assumes matrices of about
  4096 x 4096. With a first moment it is 4 bytes more.
* ``lion``: one FP32 momentum (Chen et al. 2023, arXiv 2302.06675).
"""


@dataclass(frozen=True, slots=True)
class StaticBytes:
    """Bytes by component."""

    weights: float
    gradients: float
    master: float
    optimizer: float

    @property
    def total(self) -> float:
        """Sum of the four."""
        return self.weights + self.gradients + self.master + self.optimizer


@dataclass(frozen=True, slots=True)
class Precision:
    """Bytes per number of each part of the state; ``frozen`` is for weights that are not trained."""

    parameter: float = 2.0
    gradient: float = 2.0
    master: float = MASTER_BYTES
    optimizer: float = OPTIMIZER_STATE_BYTES["adamw"]
    frozen: float = 2.0


@dataclass(frozen=True, slots=True)
class ShardCounts:
    """Into how many pieces each part is cut over the data-parallel group; 1 is whole."""

    weights: int
    gradients: int
    optimizer: int


def data_parallel(
    world_size: int, tensor_parallel: int = 1, pipeline_parallel: int = 1, context_parallel: int = 1
) -> int | None:
    """Number of ranks that read different samples; ``None`` where the sizes do not divide the world."""
    sizes = (world_size, tensor_parallel, pipeline_parallel, context_parallel)
    if min(sizes) < 1:
        return None
    replicas, rest = divmod(world_size, tensor_parallel * pipeline_parallel * context_parallel)
    return replicas if rest == 0 else None


def input_tokens_per_update(data_parallel: int, microbatch: int, sequence_length: int, accumulation: int) -> int:
    """Positions that enter the model between two optimizer steps, over all ranks (padding included)."""
    return data_parallel * microbatch * sequence_length * accumulation


def shard_counts(
    mode: Mode, gpus: int, strategy: ShardingStrategy = "full", shard_group_size: int | None = None
) -> ShardCounts:
    """How ``mode`` cuts the state over ``gpus`` ranks; hybrid needs its group size."""
    if mode == "dp" or (mode == "fsdp" and strategy == "no_shard"):
        return ShardCounts(1, 1, 1)
    if mode == "zero1":
        return ShardCounts(1, 1, gpus)
    if mode == "zero2" or (mode == "fsdp" and strategy == "shard_grad_op"):
        return ShardCounts(1, gpus, gpus)
    if mode == "fsdp" and strategy == "hybrid":
        if shard_group_size is None:
            raise ValueError("hybrid sharding needs shard_group_size, the ranks one copy is spread over")
        return ShardCounts(shard_group_size, shard_group_size, shard_group_size)
    return ShardCounts(gpus, gpus, gpus)


def static_bytes(parameters: float, trainable: float, precision: Precision, shards: ShardCounts) -> StaticBytes:
    """Bytes on one card. ``parameters`` counts its model-parallel slice, ``trainable`` what learns of it.

    Frozen weights carry no gradient, master copy or optimizer state.
    """
    frozen = parameters - trainable
    return StaticBytes(
        weights=(trainable * precision.parameter + frozen * precision.frozen) / shards.weights,
        gradients=trainable * precision.gradient / shards.gradients,
        master=trainable * precision.master / shards.optimizer,
        optimizer=trainable * precision.optimizer / shards.optimizer,
    )


def static_bytes_per_card(
    parameters: float,
    gpus: int,
    mode: Mode,
    optimizer: OptimizerName = "adamw",
    *,
    parameter_bytes: float = 2.0,
    gradient_bytes: float = 2.0,
    master_weights: bool = True,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    trainable_parameters: float | None = None,
) -> float:
    """Static bytes a card holds, on plain numbers; ``fsdp`` means full sharding.

    Raises ``ValueError`` if mode or optimizer is not one of ours, or a number cannot be: counts below one,
    more trainable than total parameters.
    """
    if mode not in get_args(Mode) or optimizer not in OPTIMIZER_STATE_BYTES:
        raise ValueError(
            f"unknown mode {mode!r} or optimizer {optimizer!r}; modes: {', '.join(get_args(Mode))}; "
            f"optimizers: {', '.join(OPTIMIZER_STATE_BYTES)}"
        )
    trainable = parameters if trainable_parameters is None else trainable_parameters
    if min(gpus, tensor_parallel, pipeline_parallel) < 1:
        raise ValueError("gpus, tensor_parallel and pipeline_parallel count cards and are at least 1")
    if not 0 <= trainable <= parameters:
        raise ValueError("trainable parameters are between 0 and all parameters")
    precision = Precision(
        parameter=parameter_bytes,
        gradient=gradient_bytes,
        master=MASTER_BYTES if master_weights else 0.0,
        optimizer=OPTIMIZER_STATE_BYTES[optimizer],
        frozen=parameter_bytes,
    )
    pieces = tensor_parallel * pipeline_parallel
    return static_bytes(parameters / pieces, trainable / pieces, precision, shard_counts(mode, gpus)).total
