"""Composer and LLM Foundry: a header ``[batch=10/20]:``, then one line a value, each with a rank in front under srun.

Values have four decimals: a learning rate of 6e-05 is printed 0.0000, which says nothing. ``loss/train/total`` may be
per token and is the loss only where no cross-entropy is logged.
"""

from __future__ import annotations

import re

import numpy as np

from engine.evidence.readers.columns import Columns, Spans
from engine.evidence.readers.console.records import NUMBER, Dialect, Table
from engine.evidence.series import Floats

_HEADER = re.compile(rb"^(?:\s*\d+: )?\[(?:epoch=(\d+)(?:/\d+)?\]\[)?batch=(\d+)/(\d+)\]:")
_VALUE = re.compile(rb"^(?:\d+: )?\s+(Train|Eval) ([^\s:][^:]*): (" + NUMBER + rb")\s*$")
_COUNTERS = ("time/", "trainer/")
_NAMES = {
    "metrics/train/LanguageCrossEntropy": "loss",
    "metrics/eval/LanguageCrossEntropy": "eval_loss",
    "l2_norm/grad/global": "grad_norm",
    "throughput/tokens_per_sec": "tokens_per_second",
    "throughput/samples_per_sec": "samples_per_second",
    "throughput/batches_per_sec": "steps_per_second",
    "throughput/device/mfu": "mfu",
    "memory/peak_allocated_mem": "gpu_memory_used (GB)",
    "memory/alloc_retries": "alloc_retries",
}


def _spans(row: bytes) -> Spans:
    header = _HEADER.match(row)
    if header is not None:
        found = [("step", *header.span(2)), ("total", *header.span(3))]
        return found if header[1] is None else [*found, ("epoch", *header.span(1))]
    value = _VALUE.match(row)
    if value is None or value[2].startswith(tuple(map(str.encode, _COUNTERS))):
        return []
    raw = value[2].decode("utf-8", "replace")
    name = "learning_rate" if raw.startswith("lr-") else _NAMES.get(raw, raw)
    return [(f"eval_{name}" if value[1] == b"Eval" and not name.startswith("eval_") else name, *value.span(3))]


def _settle(table: Table, steps: Floats) -> Columns:
    del steps
    settled = dict(table.columns)
    if "loss" not in settled and "loss/train/total" in settled:
        settled["loss"] = settled.pop("loss/train/total")
    return {name: pair for name, pair in settled.items() if name != "learning_rate" or bool(np.any(pair[1]))}


COMPOSER = Dialect("composer", _spans, _settle)
