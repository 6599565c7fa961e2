"""What has to be said beside the memory figures, in both languages."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.calculators.state import OPTIMIZER_STATE_BYTES, OptimizerName
from engine.model.base import Text

NOT_COUNTED: Final = (
    Text(
        en="Activations: they grow with microbatch, sequence length and depth, and logits with the vocabulary.",
        zh="激活：随微批次、序列长度和层数增长，logits 随词表增长。",
    ),
    Text(
        en="Communication buffers: gradient buckets, gathered weights of the layers in work, NCCL channels.",
        zh="通信缓冲：梯度桶、正在计算的层所收集的权重、NCCL 通道。",
    ),
    Text(
        en="Fragmentation: memory the allocator holds in blocks that no request fits.",
        zh="碎片：分配器持有但没有请求放得下的零散块。",
    ),
    Text(
        en="Temporary workspace: cuBLAS, attention and fused-kernel scratch, and the CUDA context itself.",
        zh="临时工作区：cuBLAS、注意力和融合算子的暂存空间，以及 CUDA 上下文本身。",
    ),
    Text(
        en="Further copies of the model: a DPO or RLHF reference, a teacher, an exponential moving average.",
        zh="模型的其他副本：DPO 或 RLHF 的参考模型、教师模型、指数滑动平均权重。",
    ),
)
UNITS: Final = Text(
    en="GB is 10^9 bytes; a card sold as 80 GB reports about 79 GiB, which is slightly more.",
    zh="GB 按 10^9 字节计；标称 80 GB 的卡报告约 79 GiB，略大于 80×10^9 字节。",
)
EVEN_SPLIT: Final = Text(
    en="Tensor and pipeline parallelism are taken to cut the parameters evenly. In fact norms are replicated "
    "under TP, and the stages with the embedding and the head are heavier: plan for the heaviest card.",
    zh="假设张量并行和流水线并行把参数切得一样多。实际上 TP 会复制归一化层，含词嵌入和输出头的流水线段更重："
    "按最重的卡规划。",
)
SHARDING_COSTS: Final = Text(
    en="Sharding makes the state fit, it does not make the step faster: ZeRO-1 and ZeRO-2 send about as much "
    "as plain data parallelism, ZeRO-3 and full FSDP about half as much again, and they gather layer by "
    "layer. Memory, throughput and convergence are to be judged apart.",
    zh="分片让状态放得下，并不会让每步更快：ZeRO-1/2 的通信量与普通数据并行相当，ZeRO-3 和完全分片的 FSDP "
    "约为 1.5 倍，且逐层收集。显存、吞吐和收敛要分别评判。",
)
FSDP_PRECISION: Final = Text(
    en="FSDP mixed precision keeps one FP32 shard of the weights (no separate master) and FP32 gradient "
    "shards. With AdamW the sum is the same 16 bytes a parameter, only named differently.",
    zh="FSDP 混合精度只保留一份 FP32 权重分片（没有单独的主权重），梯度分片也是 FP32。用 AdamW "
    "时总和仍是每参数 16 字节，只是归类不同。",
)
SHARD_GRAD_OP: Final = Text(
    en="SHARD_GRAD_OP keeps the gathered weights from forward to backward; the figure is that peak, not the "
    "state between steps.",
    zh="SHARD_GRAD_OP 从前向到反向都保留收集后的完整权重；这里给出的是这个峰值，而不是两步之间的状态。",
)
HYBRID: Final = Text(
    en="Hybrid sharding saves only within a shard group: more groups add replicas, not memory. It keeps "
    "gathering inside the group and all-reduces gradient shards between groups.",
    zh="混合分片只在分片组内省显存：增加组数只增加副本。参数收集留在组内，组间对梯度分片做 all-reduce。",
)
ZERO_WITH_PIPELINE: Final = Text(
    en="DeepSpeed's pipeline engine refuses ZeRO-2 and ZeRO-3: gradients must stay whole over the pipeline's "
    "microbatches. Combine pipeline parallelism with ZeRO-1.",
    zh="DeepSpeed 的流水线引擎不接受 ZeRO-2 和 ZeRO-3：流水线的多个微批次之间梯度必须保持完整。"
    "流水线并行请与 ZeRO-1 搭配。",
)
FROZEN: Final = Text(
    en="Frozen weights have no gradient, master copy or optimizer state, but the backward pass still runs "
    "through them: activations shrink far less than this figure.",
    zh="冻结的权重没有梯度、主权重和优化器状态，但反向传播仍要穿过它们：激活的减少远不如这个数字明显。",
)

_STATE: Final[Mapping[OptimizerName, Text]] = MappingProxyType(
    {
        "adamw": Text(
            en="AdamW: two FP32 moments, 8 bytes a trainable parameter.",
            zh="AdamW：两个 FP32 动量，每个可训练参数 8 字节。",
        ),
        "adam8bit": Text(
            en="8-bit Adam: two one-byte moments, 2 bytes; block scales and small FP32 tensors (a few "
            "percent) left out.",
            zh="8-bit Adam：两个单字节动量，共 2 字节；块缩放系数和保留 FP32 的小张量（百分之几）未计。",
        ),
        "sgd": Text(en="SGD without momentum: no state.", zh="不带动量的 SGD：没有状态。"),
        "sgd_momentum": Text(
            en="SGD with momentum: one FP32 buffer, 4 bytes.", zh="带动量的 SGD：一个 FP32 缓冲，4 字节。"
        ),
        "adafactor": Text(
            en="Adafactor without first moment: a row and a column statistic per matrix, 0.002 bytes for "
            "matrices of about 4096 x 4096.",
            zh="不带一阶动量的 Adafactor：每个矩阵只存行、列统计量，4096×4096 左右的矩阵约为每参数 0.002 字节。",
        ),
        "lion": Text(en="Lion: one FP32 momentum, 4 bytes.", zh="Lion：一个 FP32 动量，4 字节。"),
    }
)


def optimizer_state(optimizer: OptimizerName, state_bytes: float) -> Text:
    """The assumption behind the optimizer's bytes, or that they were given."""
    if state_bytes == OPTIMIZER_STATE_BYTES[optimizer]:
        return _STATE[optimizer]
    return Text(
        en=f"Optimizer state as given: {state_bytes:g} bytes a trainable parameter.",
        zh=f"优化器状态按给定值：每个可训练参数 {state_bytes:g} 字节。",
    )


def headroom_rule(headroom: float) -> Text:
    """How the verdict is reached; the share is our convention."""
    return Text(
        en=f"yes: the static state leaves at least {headroom:.0%} of the card for what is not counted; "
        "too_close: it is smaller than the card but leaves less; no: it exceeds the card. The share is a "
        "convention: a profiler on one real step decides.",
        zh=f"yes：静态状态之外至少还剩 {headroom:.0%} 的显存给未计部分；too_close：放得下但剩余不足；no："
        "超过显存。这个比例是约定值，最终以真实一步的 profiler 结果为准。",
    )


def accumulation(dp_gb: float, card_memory_gb: float | None) -> Text:
    """Accumulation changes activations only, so it cannot make the static state fit."""
    if card_memory_gb is not None and dp_gb > card_memory_gb:
        return Text(
            en=f"Under plain data parallelism the state alone takes {dp_gb:g} GB and a card has "
            f"{card_memory_gb:g} GB: no microbatch is small enough and more accumulation cannot help. Shard "
            "the state, split the model or train fewer parameters.",
            zh=f"普通数据并行下，仅状态就要 {dp_gb:g} GB，而单卡只有 {card_memory_gb:g} GB：微批次再小、"
            "累积再多也无济于事。需要分片状态、切分模型，或减少可训练参数。",
        )
    return Text(
        en="Accumulation does not change this figure: it trades activations only. If the state does not fit "
        "a card under plain data parallelism, more accumulation cannot help.",
        zh="累积不会改变这个数字，它只影响激活。若普通数据并行下状态本身就放不进单卡，增加累积没有用。",
    )
