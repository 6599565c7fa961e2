"""A small vocabulary of the tests' own, so that they hold whatever the knowledge base says."""

from __future__ import annotations

from typing import Any

import pytest

from engine.evidence.text import TextReader
from engine.evidence.vocabulary import Vocabulary
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Text
from engine.model.kb import Concept, Fact, Finding, Phrases

TEXT = Text(en="text", zh="文本")

LEXICON = {
    "LOSS": (["loss", "training loss"], ["损失", "loss"]),
    "CRITIC_LOSS": (["critic loss", "value loss"], ["价值损失"]),
    "NAN": (["nan", "nans", "not a number"], ["nan", "非数"]),
    "GROW": (["grow*", "rise*", "goes up"], ["上升", "增长"]),
    "FALL": (["fall*", "goes down"], ["下降"]),
    "SPIKE": (["spik*"], ["尖峰"]),
    "STUCK": (["stuck", "does not fall", "does not go down"], ["卡在", "不下降"]),
    "HANG": (["hang", "hangs", "is stuck at"], ["卡住", "卡死"]),
    "OOM": (["oom", "out of memory"], ["oom", "爆显存"]),
    "NEVER_STOPS": (["never stops", "does not stop"], ["停不下来"]),
    "OUTPUT": (["output", "answer", "generation"], ["输出", "回答"]),
    "NORMAL": (["normal", "fine", "ok", "works", "good", "right"], ["正常", "没问题"]),
    "CURES": (["cures", "fixed", "fixes", "helped"], ["解决", "就好了"]),
    "NO_EFFECT": (["no effect", "did not help"], ["没用", "没有效果"]),
    "LR": (["lr", "learning rate", "learning rates"], ["学习率"]),
    "TEMPLATE": (["template", "chat template"], ["模板"]),
    "SEED": (["seed"], ["种子"]),
    "SINGLE_GPU": (["single gpu", "one gpu"], ["单卡"]),
    "MULTI_GPU": (["8 gpus", "several gpus"], ["多卡", "8卡"]),
    "FP16": (["fp16"], ["半精度", "fp16"]),
    "FP32": (["fp32", "full precision"], ["单精度", "fp32"]),
    "BF16": (["bf16"], ["bf16"]),
    "VERSION": (["version", "older version", "upgrade"], ["版本", "旧版本"]),
    "QUERY_PREFIX": (["query:"], []),
    "BOS": (["<s>"], []),
    "HOST_SYNC": ([".item()"], []),
}


def finding(
    id_: str, *, any_: tuple[str, ...] = (), en: tuple[str, ...] = (), zh: tuple[str, ...] = (), **more: Any
) -> Finding:
    return Finding(id=id_, title=TEXT, phrases=Phrases(any=any_, en=en, zh=zh), **more)


FINDINGS = [
    finding("loss.nan", any_=("LOSS NAN", "NAN"), denied_by=Phrases(en=("losses stay finite",))),
    finding("loss.rises", any_=("LOSS GROW",)),
    finding("critic.rises", any_=("CRITIC_LOSS GROW",)),
    finding("loss.spikes", any_=("LOSS SPIKE", "SPIKE")),
    finding("loss.stuck", any_=("LOSS STUCK",)),
    finding("loss.falls", any_=("LOSS FALL",)),
    finding("hang", any_=("HANG",)),
    finding("oom", any_=("OOM",)),
    finding("output.never-stops", any_=("OUTPUT NEVER_STOPS", "NEVER_STOPS")),
    finding("data.contaminated", en=("contamination",), zh=("数据污染",)),
    finding("grad.not-combined", en=("gradients not combined",), zh=("梯度 没有 合并",)),
    finding("template.wrong", en=("TEMPLATE wrong",), zh=("TEMPLATE 错",)),
    finding("prompt.prefix", any_=("QUERY_PREFIX",)),
    finding("bos.doubled", any_=("BOS",)),
    finding("host.sync", any_=("HOST_SYNC",)),
    finding("gradient.shards", en=("'gradient shard' lost",)),
    finding("context.quantised", en=("quantisation", "8bit"), zh=("量化",), role="context", mention_ok=True),
    finding("context.fp16", any_=("FP16",), role="context"),
    finding("context.fp32", any_=("FP32",), role="context"),
    finding("normal.loss", any_=("LOSS NORMAL",), role="normal"),
    finding("normal.single-gpu", any_=("SINGLE_GPU NORMAL",), role="normal"),
    finding("contrast(ranks)", any_=("SINGLE_GPU", "MULTI_GPU")),
    finding("contrast(precision)", any_=("FP32", "FP16", "BF16")),
    finding("contrast(version)", any_=("VERSION NORMAL",)),
    finding("contrast(sharding)", en=("ZeRO-2", "ZeRO-3"), zh=("ZeRO-2", "ZeRO-3")),
    finding("responds(lr)", any_=("LR CURES",)),
    finding("responds(seed)", any_=("SEED",)),
    finding("responds(template)", any_=("TEMPLATE",)),
    finding("responds(workers)", en=("workers", "num_workers")),
    finding("responds(p2p)", en=("NCCL_P2P_DISABLE",), zh=("NCCL_P2P_DISABLE",)),
    finding("unchanged(code)", en=("code",), zh=("代码",)),
]


def fact(id_: str, type_: str, *aliases: str, **more: Any) -> Fact:
    return Fact(id=id_, type=type_, title=TEXT, aliases=aliases, **more)  # type: ignore[arg-type]


FACTS = [
    fact("loss.last", "number", "loss", "train_loss", "lm loss"),
    fact("loss.nan", "bool", "loss_nan"),
    fact("grad_norm.last", "number", "grad_norm"),
    fact("grad_norm.nonfinite", "bool"),
    fact("lr.last", "number", "lr", "learning_rate", "学习率", at_least=0),
    fact(
        "batch.micro", "number", "micro_batch_size", "micro_batch", "per_device_train_batch_size", "mbs",
        unit="samples", at_least=1,
    ),
    fact("batch.global", "number", "global_batch_size", unit="samples"),
    fact("batch.sequence_length", "number", "sequence_length", "max_length", unit="tokens"),
    fact("parallel.world_size", "number", "num_gpus", "gpus", unit="count", at_least=1),
    fact("parallel.nodes", "number", "nodes", unit="count"),
    fact("model.parameters", "number", "num_parameters", "params", unit="count"),
    fact("model.hidden_size", "number", "hidden_size", unit="count"),
    fact("memory.free", "number", "free_memory", unit="GB"),
    fact("gpu.utilisation", "number", "gpu_util", unit="ratio", at_least=0, at_most=1),
    fact("step_time.mean", "number", "step_time", unit="s"),
    fact("run.name", "text", "run_name"),
    fact("run.packing", "bool", "packing"),
    fact(
        "run.precision", "choice", "precision", "dtype",
        values={"fp16": ("float16", "半精度"), "bf16": ("bfloat16",), "fp32": ("float32",)},
    ),
    fact(
        "parallel.sharding", "choice", "zero_stage", "zero",
        values={"none": ("no sharding",), "zero2": ("zero-2", "zero stage 2"), "zero3": ("zero-3", "zero stage 3")},
    ),
    fact("loss.reduction", "choice", "loss_reduction", values={"mean": (), "sum": ()}),
    fact("optimizer.name", "choice", "optimizer", values={"adamw": ("AdamW",), "sgd": ("SGD",)}),
    fact("optimizer.param_dtype", "choice", "param_dtype", values={"fp16": ("float16",), "bf16": ("bfloat16",)}),
    fact("run.oom_said", "bool", phrases=Phrases(any=("OOM",))),
]  # fmt: skip


@pytest.fixture(scope="session")
def small_vocabulary() -> Vocabulary:
    concepts = {name: Concept(en=tuple(en), zh=tuple(zh)) for name, (en, zh) in LEXICON.items()}
    return Vocabulary({f.id: f for f in FACTS}, {f.id: f for f in FINDINGS}, concepts)


@pytest.fixture(scope="session")
def reader(small_vocabulary: Vocabulary) -> TextReader:
    return TextReader(small_vocabulary)


@pytest.fixture(scope="session")
def real_vocabulary(knowledge: Knowledge) -> Vocabulary:
    return Vocabulary(knowledge.facts, knowledge.findings, knowledge.lexicon)


@pytest.fixture(scope="session")
def real_reader(real_vocabulary: Vocabulary) -> TextReader:
    return TextReader(real_vocabulary)
