"""Summaries the Hugging Face example scripts and LLaMA-Factory write: all_results.json and its parts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.results.document import number_of, object_of, text_of
from engine.evidence.readers.results.judge import fact, record_of
from engine.evidence.readers.results.scores import Evaluation, Score, rises
from engine.evidence.series import RunEnd, RunRecord
from engine.model.evidence import Reading, Source

_SCORE = re.compile(r"(eval|predict|test)_(?!loss|runtime|samples|steps|model_preparation|mem|jit|gen_len)(.+)")
_MARKS = (b'"train_runtime"', b'"eval_runtime"', b'"predict_runtime"', b'"eval_samples"', b'"predict_samples"')


def read_hf_results(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the flat summary. ``train_loss`` in it is the mean over the run, so it is no last loss."""
    notes = Notes([])
    numbers = {
        key: number
        for key, value in object_of(text_of(stream, limits, notes), notes).items()
        if (number := number_of(value)) is not None
    }
    scores = tuple(
        Score(found[1], found[2], value, higher_is_better=rises(found[2]), items=numbers.get(f"{found[1]}_samples"))
        for key, value in numbers.items()
        if (found := _SCORE.fullmatch(key))
    )
    evaluation = Evaluation(label, "hugging_face", scores)
    record = record_of(
        evaluation, "hf_results", Notes(notes.texts) if scores else Notes([]), more=_facts(evaluation, numbers)
    )
    finished = "train_runtime" in numbers
    end = RunEnd("finished", Source("measured", label, "summary with train_runtime")) if finished else record.end
    samples = {"train_samples": numbers["train_samples"]} if "train_samples" in numbers else {}
    remarks = notes.texts if numbers else [*notes.texts, "holds no numbers"]
    return replace(
        record, read=replace(record.read, records=1 if numbers else 0), end=end,
        config={**record.config, **samples}, not_understood=tuple(remarks),
    )  # fmt: skip


def _facts(evaluation: Evaluation, numbers: Mapping[str, float]) -> list[Reading]:
    found: list[Reading] = []
    for key, last, broken in (("eval_loss", "eval_loss.last", "eval_loss.nan"), ("train_loss", "", "loss.nan")):
        value = numbers.get(key)
        if value is not None and not math.isfinite(value):
            found.append(fact(evaluation, broken, value=True, quote=f"{key}: {value}"))
        elif value is not None and last:
            found.append(fact(evaluation, last, value, f"{key}: {value:g}"))
    if (epochs := numbers.get("epoch", 0.0)) > 0 and "train_runtime" in numbers:
        found.append(fact(evaluation, "data.epochs", epochs, f"epoch: {epochs:g}"))
    return found


def _recognises(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return start[:1] == b"{" and head.count(b"{") == 1 and b"[" not in head and any(mark in head for mark in _MARKS)


HF_RESULTS = Format("hf_results", _recognises, read_hf_results)
