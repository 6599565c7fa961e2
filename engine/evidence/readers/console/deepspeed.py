"""DeepSpeed: step, throughput, pipeline and overflow lines, and the records of DeepSpeed-Chat.

The counter ``skipped`` runs from the start of the job. The running average of the throughput hides changes and is not
read. An overflow line carries no step and takes that of the step line before it; it stays an event as well.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.readers.columns import Columns
from engine.evidence.readers.console.records import Dialect, Table, pattern
from engine.evidence.series import Floats


def _settle(table: Table, steps: Floats) -> Columns:
    settled = dict(table.columns)
    for name in ("skipped", "lr"):
        if name in settled:  # two engines (actor and critic) that write in turn: the first of a step is read
            index, values = settled[name]
            first = np.concatenate([[True], np.diff(steps[index]) != 0])
            settled[name] = (index[first], values[first])
    if "skipped" in settled:
        index, total = settled.pop("skipped")
        grown = np.diff(total, prepend=0.0)
        settled["skipped iterations"] = (index, np.where(grown < 0, total, grown))
    return settled


def _settle_chat(table: Table, steps: Floats) -> Columns:
    del steps
    settled = dict(table.columns)
    if "step_time" in settled:  # the first builds the kernels
        index, values = settled["step_time"]
        settled["step_time"] = (index[1:], values[1:])
    return settled


DEEPSPEED = Dialect(
    "deepspeed",
    pattern(
        rb"\[Rank \d+\] step=(?P<step>\d+), skipped=(?P<skipped>\d+), lr=\[(?P<lr>NUMBER)",
        rb"(?:global_step=|\s\d+/)(?P<step>\d+), (?:RunningAvgSamplesPerSec=NUMBER, )?CurrSamplesPerSec="
        rb"(?P<samples_per_second>NUMBER)(?:, MemAllocated=NUMBERGB, MaxMemAllocated=(?P<max_allocated_gb>NUMBER)GB)?",
        rb"steps: (?P<step>\d+) loss: (?P<loss>NUMBER) iter time \(s\): (?P<step_time>NUMBER)"
        rb" samples/sec: (?P<samples_per_second>NUMBER)",
        rb"OVERFLOW! Rank \d+ Skipping step\. Attempted loss scale: NUMBER, reducing to (?P<loss_scale>NUMBER)",
        rb"OVERFLOW! Rank \d+ Skipping step\. Attempted loss scale: (?P<loss_scale>NUMBER)",
        rb"Increasing dynamic loss scale from NUMBER to (?P<loss_scale>NUMBER)",
    ),
    _settle,
    event=b"OVERFLOW!",
)
DEEPSPEED_CHAT = Dialect(
    "deepspeed_chat",
    pattern(
        rb"epoch: (?P<epoch>\d+)\|step: (?P<step>\d+)\|ppo_ep: ?\d+\|act_loss: ?(?P<actor_loss>NUMBER)"
        rb"\|cri_loss: ?(?P<critic_loss>NUMBER)",
        rb"Epoch: (?P<epoch>\d+) \| Step: (?P<step>\d+) \| PPO Epoch: \d+ \| Actor Loss: (?P<actor_loss>NUMBER)"
        rb" \| Critic Loss: (?P<critic_loss>NUMBER)",
        rb"[Aa]verage reward score: (?P<reward>NUMBER)",
        rb"^\|E2E latency=(?P<step_time>NUMBER)s ",
        rb"chosen_last_scores \(higher is better\) : (?P<eval_chosen_score>NUMBER),"
        rb".*acc \(higher is better\) : (?P<eval_accuracy>NUMBER)",
        rb"^ppl: (?P<eval_perplexity>NUMBER)(?:, loss: (?P<eval_loss>NUMBER))?",
    ),
    _settle_chat,
)
