"""nanoGPT and its descendants llm.c and modded-nanogpt.

nanoGPT times an iteration with the evaluation before it, and the first with the compilation: those times are left
out. modded-nanogpt prints the time since the start and its running mean, which hides a change of speed: the
differences of the former are the times of the steps.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.readers.columns import Columns
from engine.evidence.readers.console.records import Dialect, Table, pattern
from engine.evidence.series import Floats

_MFU_UNKNOWN = -100.0


def _settle_nanogpt(table: Table, steps: Floats) -> Columns:
    settled = dict(table.columns)
    if "loss" not in settled and "eval_train_loss" in settled:  # only the evaluations were kept
        settled["loss"] = settled.pop("eval_train_loss")
    evaluated = steps[settled["eval_loss"][0]] if "eval_loss" in settled else np.zeros(0)
    if "step_time_ms" in settled:
        index, values = settled["step_time_ms"]
        keep = ~np.isin(steps[index], evaluated) & (np.arange(len(index)) > 0)
        settled["step_time_ms"] = (index[keep], values[keep])
    if "mfu" in settled:
        index, values = settled["mfu"]
        settled["mfu"] = (index[values != _MFU_UNKNOWN], values[values != _MFU_UNKNOWN])
    return settled


def _settle_modded(table: Table, steps: Floats) -> Columns:
    settled = {name: pair for name, pair in table.columns.items() if not name.startswith("elapsed")}
    for name, unit in (("elapsed_ms", "ms"), ("elapsed_s", "s")):
        if name in table.columns:
            index, elapsed = table.columns[name]
            taken, passed = np.diff(elapsed), np.diff(steps[index])
            good = (taken > 0) & (passed > 0)  # the clock is set back after the first ten steps
            settled[f"step_time_{unit}"] = (index[1:][good], taken[good] / passed[good])
    return settled


NANOGPT = Dialect(
    "nanogpt",
    pattern(
        rb"^(?:\S+ )?iter (?P<step>\d+): loss (?P<loss>NUMBER), time (?P<step_time_ms>NUMBER)ms"
        rb"(?:, mfu (?P<mfu>NUMBER)%)?",
        rb"^(?:\S+ )?step (?P<step>\d+): train loss (?P<eval_train_loss>NUMBER), val loss (?P<eval_loss>NUMBER)",
    ),
    _settle_nanogpt,
)
LLM_C = Dialect(
    "llm.c",
    pattern(
        rb"^s:(?P<step>\d+) (?:trl:(?P<loss>NUMBER)|tel:(?P<eval_loss>NUMBER))"
        rb"(?: lr:(?P<lr>NUMBER))?(?: norm:(?P<grad_norm>NUMBER))?",
        rb"^step\s+(?P<step>\d+)/(?P<total>\d+)\s*\|\s*(?:train )?loss (?P<loss>NUMBER)[^|]*"
        rb"\|\s*norm (?P<grad_norm>NUMBER)[^|]*\|\s*lr (?P<lr>NUMBER)\s*\|\s*(?P<step_time_ms>NUMBER) ms\s*"
        rb"(?:\|\s*(?P<mfu>NUMBER)% \S+ MFU\s*)?(?:\|\s*(?P<tps>NUMBER) tok/s)?",
        rb"^val loss (?P<eval_loss>NUMBER)\s*$",
    ),
)
MODDED = Dialect(
    "modded_nanogpt",
    pattern(
        rb"^step:(?P<step>\d+)/(?P<total>\d+) "
        rb"(?:val_loss:(?P<eval_loss>NUMBER) |(?:avg_)?train_loss:(?P<loss>NUMBER) )?"
        rb"(?:train_)?time:(?:(?P<elapsed_ms>NUMBER)ms|(?P<elapsed_s>NUMBER)s) step_avg:",
    ),
    _settle_modded,
)
