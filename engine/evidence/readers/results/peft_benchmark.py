"""Result files of PEFT's method comparison: configuration, metrics over steps and the test score in one JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.results.document import mapping, number_of, object_of, text_of
from engine.evidence.readers.results.judge import record_of
from engine.evidence.readers.results.scores import Evaluation, Score
from engine.evidence.series import RunEnd, RunRecord
from engine.model.evidence import Source

# the file's name of a column -> the name of its series
_COLUMNS = {
    "train loss": "loss", "valid accuracy": "eval_accuracy", "tokens / sec": "tokens_per_second",
    "mem allocated avg": "gpu_memory_used", "grad norm": "grad_norm",
}  # fmt: skip

_GSM8K_TEST = 1319.0  # items of the test split: Cobbe et al. 2021


def read_peft_benchmark(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read series over steps and the test scores; the row with the test score repeats the last step."""
    notes = Notes([])
    document = object_of(text_of(stream, limits, notes), notes, ("run_info", "train_info"))
    run, train = mapping(document.get("run_info")), mapping(document.get("train_info"))
    given = train.get("metrics")
    rows = [mapping(row) for row in given] if isinstance(given, list) else []
    builder = SeriesBuilder(label)
    for column, name in _COLUMNS.items():
        points = [
            (step, value)
            for row in rows
            if "test accuracy" not in row
            and (step := number_of(row.get("step"))) is not None
            and (value := number_of(row.get(column))) is not None
        ]
        builder.add(name, np.array([step for step, _ in points]), np.array([value for _, value in points]), None)
    series, remarks = builder.build()
    for remark in remarks:
        notes.add(remark)
    datasets = mapping(mapping(document.get("meta_info")).get("dataset_info"))
    record = record_of(_evaluation(label, run, train, rows, datasets), "peft_benchmark", notes, series)
    settings = {key: run[key] for key in ("train_config", "peft_config") if key in run}
    return replace(record, config={**record.config, **settings}, end=_end(label, run, train))


def _evaluation(
    label: str,
    run: Mapping[str, object],
    train: Mapping[str, object],
    rows: list[Mapping[str, object]],
    datasets: Mapping[str, object],
) -> Evaluation:
    items = _GSM8K_TEST if "gsm8k" in datasets else None
    return Evaluation(
        label,
        "peft_benchmark",
        tuple(
            Score("test", key.removeprefix("test "), value, items=items)
            for row in rows
            for key, raw in row.items()
            if key.startswith("test ") and (value := number_of(raw)) is not None
        ),
        str(mapping(run.get("train_config")).get("model_id") or ""),
        str(run.get("experiment_name") or ""),
        _seconds(run.get("created_at")),
        number_of(train.get("num_total_params")),
    )


def _seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def _end(label: str, run: Mapping[str, object], train: Mapping[str, object]) -> RunEnd:
    status, error = str(train.get("status") or ""), str(run.get("error_msg") or "")
    kind = train.get("status")
    quote = f"status: {status}" + (f", {error[:200]}" if error else "")
    source = Source("measured", label, quote)
    if kind == "success":
        return RunEnd("finished", source)
    return RunEnd("cancelled" if kind == "cancelled" else "crashed" if kind == "failed" else "unknown", source)


def _recognises(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return start == b"{" and b'"run_info"' in head and (b'"train_info"' in head or b'"peft_config"' in head)


PEFT_BENCHMARK = Format("peft_benchmark", _recognises, read_peft_benchmark)
