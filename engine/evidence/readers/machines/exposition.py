"""The text exposition of Prometheus: what an exporter answers at ``/metrics`` at one moment."""

from __future__ import annotations

import re
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, line_blocks
from engine.evidence.readers.machines.metrics import Sample, is_gpu_metric, judge_samples
from engine.evidence.readers.machines.snapshot import record
from engine.evidence.series import RunRecord

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_META = re.compile(rb"^# (?:HELP|TYPE) [a-zA-Z_:][\w:]* ", re.MULTILINE)


def parse_sample(text: str, line: int) -> Sample | None:
    """One line; None for comments and what is no sample. ``NaN``, ``+Inf`` and ``-Inf`` are values."""
    found = _SAMPLE.match(text)
    if found is None:
        return None
    try:
        value = float(found[3])
    except ValueError:
        return None
    labels = {
        key: _ESCAPE.sub(lambda m: {"n": "\n"}.get(m[1], m[1]), raw) for key, raw in _LABEL.findall(found[2] or "")
    }
    return Sample(found[1], labels, value, line)


def read_exposition(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the samples that are known; the count of all is kept."""
    notes = Notes([])
    samples: list[Sample] = []
    count = last = 0
    for numbers, lines in line_blocks(stream, limits, notes):
        for number, line in zip(numbers, lines, strict=True):
            last = number
            if not line or line.startswith(b"#"):
                continue
            count += 1
            name = line.split(b"{", 1)[0].split(b" ", 1)[0].decode("ascii", "replace")
            if is_gpu_metric(name) or name.startswith("node_memory_Mem"):
                sample = parse_sample(line.decode("utf-8", "replace"), number)
                if sample is not None:
                    samples.append(sample)
    if not samples:
        notes.add("none of these metrics is one of GPUs or host memory that is known")
    return record("prometheus_text", label, count, last, judge_samples(samples, label), notes=notes.texts)


EXPOSITION = Format("prometheus_text", lambda head: _META.search(head) is not None, read_exposition)
