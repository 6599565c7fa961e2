"""Conditions and standing orders report nothing; what happened under a condition, or to two subjects at once, does."""

from __future__ import annotations

import pytest

from engine.evidence.text import TextReader
from engine.knowledge.knowledge import Knowledge
from engine.model.evidence import FactReading

SUPPOSED = [
    "If you see NaN, stop the job.",
    "In case of OOM we retry with a smaller batch.",
    "Should it hang, restart the workers.",
    "When the loss spikes, the callback rolls back to the last checkpoint.",
    "Unless the loss diverges we let it run.",
    "As soon as the gradient norm explodes, the watchdog kills the run.",
    "We stop the run once the loss becomes NaN.",
    "Stop if the loss is NaN or the gradient norm explodes.",
    "The script retries on CUDA out of memory.",
    "Our runbook says: on NaN, lower the learning rate.",
    "Even if it crashes, nothing is lost.",
    "The trainer has an option to skip steps with NaN gradients.",
    "Were the loss to diverge, we would lose a day.",
    "Had the job hung, we would have been paged.",
    "We alert on loss spikes.",
    "Guard: abort when loss is NaN.",
    "Assuming the loss plateaus, we will raise the learning rate.",
    "一旦出现 NaN 就停掉任务。",
    "一旦 loss 发散，脚本会回滚到上一个检查点。",
    "如果爆显存，我们会减小 batch 重试。",
    "若 loss 变成 NaN，请立即停止训练。",
    "万一卡住了就重启 worker。",
    "要是梯度爆炸，看门狗会杀掉任务。",
    "当 loss 出现尖峰时，回调会自动回滚。",
    "只要出现 OOM，调度器就会重新排队。",
    "倘若某个 rank 挂起，NCCL 会超时退出。",
    "除非 loss 发散，否则继续跑。",
    "假设 loss 停滞，我们会提高学习率。",
    "哪怕训练崩溃也不会丢数据。",
    "脚本会在 OOM 的时候自动重试。",
    "If any worker goes OOM, halve the micro batch.",
    "In the event of a hang, py-spy dumps are collected.",
    "Should the gradients explode, clip harder.",
    "Stop training as soon as the loss is NaN.",
    "Once the loss diverges, the launcher automatically restarts from the last good step.",
    "Unless a rank hangs, the barrier takes a second.",
    "Assuming a loss spike of that size, we would roll back.",
    "Had the loss diverged, the alert would have fired.",
    "If the loss goes NaN, grad norm will be NaN as well.",
    "The callback aborts on NaN loss.",
    "PagerDuty alerts on stalled jobs.",
    "Suppose the loss plateaus: we then raise the rate.",
    "There is a flag to stop on NaN.",
    "If throughput drops, the autoscaler adds a node.",
    "Provided that the loss stays at ln(vocab), something is wrong with the labels.",
    "若出现 OOM，则减小微批。",
    "一旦 loss 变 NaN，立即停止训练。",
    "如果卡死，会自动抓取 py-spy。",
    "假如梯度范数爆炸，就把裁剪调小。",
    "除非 rank 挂起，屏障只需一秒。",
    "倘若 loss 停滞，说明标签有问题。",
    "显存溢出的时候会自动重启。",
    "若是吞吐下降，自动扩容会加节点。",
]
HAPPENED = [
    ("The loss and the gradient norm are NaN from step 300 on.", {"loss.nan", "grad.norm-nan"}),
    ("Loss and grad norm are NaN.", {"loss.nan", "grad.norm-nan"}),
    ("Both the training loss and the grad norm became NaN.", {"loss.nan", "grad.norm-nan"}),
    ("The loss as well as the gradient norm went to NaN.", {"loss.nan", "grad.norm-nan"}),
    ("loss 和梯度范数都变成了 NaN。", {"loss.nan", "grad.norm-nan"}),
    ("loss 与 grad_norm 均为 NaN。", {"loss.nan", "grad.norm-nan"}),
    ("The loss spikes and the gradient norm explodes.", {"loss.spike", "grad.norm-explodes"}),
    ("The gradient norm and the loss both explode at step 900.", {"grad.norm-explodes", "loss.diverges"}),
    ("训练损失和评估损失都是 NaN。", {"loss.nan", "eval-loss.nan-too"}),
    ("Train and eval loss are both NaN.", {"loss.nan"}),
    ("When I resume from the checkpoint, the loss becomes NaN.", {"loss.nan"}),
    ("When the learning rate reaches its peak, the loss explodes.", {"loss.diverges"}),
    ("As soon as warmup ends the loss diverges.", {"loss.diverges"}),
    ("Once warmup was over, the loss became NaN.", {"loss.nan"}),
    ("Whenever an evaluation runs, the job hangs.", {"hang.no-progress"}),
    ("If I use bf16 it is fine, with fp16 the loss is NaN.", {"loss.nan"}),
    ("一到预热结束，loss 就发散了。", {"loss.diverges"}),
    ("每次恢复训练 loss 都会变成 NaN。", {"loss.nan"}),
    ("当学习率到达峰值时 loss 发散了。", {"loss.diverges"}),
    ("只要一开 fp16，loss 就变 NaN。", {"loss.nan"}),
    ("The training loss and the gradient norm both went NaN at step 12.", {"loss.nan", "grad.norm-nan"}),
    ("Loss plus grad norm: NaN since the resume.", {"loss.nan"}),
    ("梯度范数和 loss 同时爆炸。", {"grad.norm-explodes", "loss.diverges"}),
    ("If I turn on fp16 the loss becomes NaN.", {"loss.nan"}),
    ("If we train on more than 8 GPUs the job hangs.", {"hang.no-progress"}),
    ("When the second epoch starts, the loss spikes.", {"loss.spike"}),
    ("Every time we evaluate, it runs out of memory.", {"oom.cuda"}),
    ("As soon as I enable packing, the loss is NaN.", {"loss.nan"}),
    ("Once the learning rate peaked the loss diverged.", {"loss.diverges"}),
    ("The job hangs when saving a checkpoint.", {"hang.no-progress"}),
    ("如果我用 8 张卡训练，任务就卡死。", {"hang.no-progress"}),
    ("一开混合精度 loss 就变成 NaN。", {"loss.nan"}),
    ("当切换到第二个数据集时，loss 出现尖峰。", {"loss.spike"}),
    ("只要 batch 超过 16 就爆显存。", {"oom.cuda"}),
    ("每次评估的时候都会卡住。", {"hang.no-progress"}),
    ("When the loss became NaN we stopped the run.", {"loss.nan"}),
    ("We stopped the run because the loss diverged.", {"loss.diverges"}),
]


@pytest.fixture(scope="module")
def reader(real_reader: TextReader) -> TextReader:
    return real_reader


def said(reader: TextReader, text: str) -> set[str]:
    """What the text reports as present or true."""
    return {
        one.fact if isinstance(one, FactReading) else one.finding
        for one in reader.read(text)[0]
        if (one.value is True if isinstance(one, FactReading) else one.state == "present")
    }


@pytest.mark.parametrize("text", SUPPOSED)
def test_what_is_only_supposed(knowledge: Knowledge, reader: TextReader, text: str) -> None:
    found = [knowledge.findings[id_] for id_ in said(reader, text) if id_ in knowledge.findings]
    assert [one.id for one in found if one.role in ("symptom", "mechanism")] == []


@pytest.mark.parametrize(("text", "wanted"), HAPPENED)
def test_what_happened(reader: TextReader, text: str, wanted: set[str]) -> None:
    assert wanted <= said(reader, text)
