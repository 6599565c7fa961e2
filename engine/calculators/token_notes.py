"""What has to be said beside the token figures, in both languages."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.model.base import Text

BATCH_SIZE: Final = Text(
    en="'Batch size' is said of the microbatch, of what one rank accumulates and of the global step. Name "
    "the one you mean whenever you compare two runs.",
    zh="“batch size”可能指微批次、单个 rank 累积后的批次，也可能指全局一步的批次。比较两次训练时，要说清是哪一个。",
)
SUPERVISED_BOUND: Final = Text(
    en="Input tokens are an upper bound on supervised tokens: padding and every position without a loss "
    "still have to be subtracted. A share that was not given is taken as zero.",
    zh="输入 token 数只是监督 token 数的上限：填充和不计损失的位置还要扣除。没有给出的比例按零处理。",
)
SUPERVISED_COUNT: Final = Text(
    en="Supervised tokens leave out padding and positions without a loss. They, not the input tokens, weigh "
    "the gradient.",
    zh="监督 token 已扣除填充和不计损失的位置。决定梯度权重的是它，而不是输入 token 数。",
)
ACCUMULATION_LIMITS: Final = Text(
    en="With microbatch and total samples fixed, more accumulation means fewer optimizer updates and more "
    "forward/backward rounds in each. It saves memory only against a larger microbatch, through smaller "
    "saved activations; what it does for throughput depends on communication and scheduling. It never "
    "shrinks weights, gradients or optimizer state.",
    zh="微批次和样本总量不变时，累积步数越多，优化器更新次数越少，每次更新里的前向/反向轮数越多。"
    "它只是相对更大的微批次省下保存的激活；吞吐能否提高取决于通信和调度。权重、梯度和优化器状态不会因此变小。"
    "",
)
NEGATIVES: Final = Text(
    en="Accumulation does not enlarge the pool of in-batch negatives: each microbatch only contrasts with "
    "itself (and with what it gathers from other ranks). A larger pool needs a larger microbatch, a "
    "cross-rank gather, a cached-embedding loss or a memory bank.",
    zh="梯度累积不会扩大批内负样本池：每个微批次只和自己（以及跨 rank 收集来的向量）对比。要扩大负样本池，"
    "需要更大的微批次、跨 rank gather、缓存向量的损失（GradCache）或记忆库。",
)
PAIRS: Final = Text(
    en="Here a sample may be a pair, that is two sequences. The figures count sequences of length T: if your "
    "microbatch counts pairs, the model sees twice as many tokens.",
    zh="这里一个样本可能是一对，也就是两条序列。以上数字按长度为 T 的序列计算：如果微批次数的是“对”，"
    "模型实际处理的 token 是两倍。",
)
READINGS: Final[Mapping[str, Text]] = MappingProxyType(
    {
        "micro": Text(
            en="Samples one data-parallel rank puts through one forward pass.",
            zh="单个数据并行 rank 一次前向处理的样本数。",
        ),
        "accumulated": Text(
            en="Samples one data-parallel rank sees in one update, all its accumulation passes together.",
            zh="单个数据并行 rank 在一次更新内（所有累积步合计）处理的样本数。",
        ),
        "global": Text(
            en="Samples all ranks together see in one update.",
            zh="所有 rank 在一次更新内处理的样本总数。",
        ),
    }
)


def ask_meaning(said: int) -> Text:
    """The question behind an unexplained batch size."""
    return Text(
        en=f"Which batch is the {said}: per rank and forward pass (micro), per rank and update "
        "(accumulated), or over all ranks per update (global)?",
        zh=f"这个 {said} 指哪一个批次：每个 rank 每次前向（micro）、每个 rank 每次更新（accumulated），"
        "还是所有 rank 每次更新合计（global）？",
    )


def gpus_are_not_dp(world_size: int, replicas: int) -> Text:
    """Cards of one model-parallel group share their samples."""
    return Text(
        en=f"{world_size} cards, but only {replicas} read different samples: the ranks of a tensor, pipeline "
        "or context parallel group work on the same ones. Multiplying by the number of cards overstates the "
        f"batch {world_size // replicas} times.",
        zh=f"共 {world_size} 张卡，但只有 {replicas} 路读取不同样本：同一个张量、流水线或上下文并行组内的 "
        f"rank 处理相同样本。按卡数相乘会把批次高估 {world_size // replicas} 倍。",
    )


def accumulation_sync(accumulation: int) -> Text:
    """When plain DDP talks, and how to make it talk once."""
    return Text(
        en="Accumulation alone does not cut communication: plain DDP synchronises in every backward pass, "
        f"here {accumulation} times an update. Run forward and backward of the first {accumulation - 1} "
        "under no_sync and synchronise in the last. Sharded gradients (ZeRO-2/3, FSDP) either pay a "
        "reduce-scatter each time or hold unsharded gradients meanwhile.",
        zh=f"仅靠累积并不减少通信：普通 DDP 每次反向都会同步，这里每次更新同步 {accumulation} 次。前 "
        f"{accumulation - 1} 个微步的前向和反向都要放在 no_sync 里，最后一个才同步。梯度分片时（ZeRO-2/3、"
        "FSDP），要么每次都做 reduce-scatter，要么期间保留未分片的梯度。",
    )


def negatives_per_query(microbatch: int, replicas: int) -> Text:
    """In-batch negatives of one query, one positive each, whatever the accumulation."""
    return Text(
        en=f"With one positive per query and {microbatch} pairs in a microbatch, a query meets "
        f"{microbatch - 1} negatives, or {microbatch * replicas - 1} if embeddings are gathered over "
        f"{replicas} ranks.",
        zh=f"每个查询一个正样本、微批次含 {microbatch} 对时，一个查询有 {microbatch - 1} 个负样本；若跨 "
        f"{replicas} 个 rank 收集向量，则有 {microbatch * replicas - 1} 个。",
    )
