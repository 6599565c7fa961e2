"""The file store of MLflow: a folder per run with ``meta.yaml`` and a file for each metric, parameter and tag.

A line of a metric is ``<unix ms> <value> <step>``; the oldest releases wrote no step, the newest may add the name and
digest of a data set. The name of the metric is the path of its file below ``metrics/``.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import replace
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.columns import number
from engine.evidence.readers.console.reader import read_console
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, line_blocks
from engine.evidence.readers.tables.rows import own_name, paced, times_of
from engine.evidence.series import EndKind, ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

MOST_LINES = 5_000_000
_POINT = re.compile(rb"\d{10,16} \S{1,40}(?: -?\d{1,15}(?: \S+ \S+)?)?\r?")
_FIELD = re.compile(rb"(?m)^(\w+): *(.*?)\r?$")
_WORD = re.compile(rb"[A-Za-z0-9_.,:;/+@%~-]{1,200}")
_PARTS = ("metrics", "params", "tags")
# RunStatus of MLflow by number (file store) and by name (database)
_ENDS: dict[str, EndKind] = {"3": "finished", "4": "crashed", "5": "cancelled"}
STATUS_NAMES = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}


def read_metric(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the file of one metric; never raises on content."""
    notes = Notes([])
    times, values, steps, places = (array("d") for _ in range(4))
    wrong = 0
    for numbers, lines in line_blocks(stream, limits, notes):
        for at, line in zip(numbers, lines, strict=True):
            point = _point(line.split(), len(steps) + 1.0)
            if point is None:
                wrong += bool(line.strip())
                continue
            for column, value in zip((times, values, steps, places), (*point, at), strict=True):
                column.append(value)
        if len(values) >= MOST_LINES:
            notes.add(f"more than {MOST_LINES} values: the rest was left out")
            break
    if wrong:
        notes.add(f"{wrong} lines are no time, value and step")
    run, _, name = place(label)
    builder = SeriesBuilder(label)
    builder.add(own_name(name), np.array(steps), np.array(values), np.array(places, dtype=np.int64))
    series, remarks = builder.build()
    if series and series[0].name == "loss" and len(series[0]) == len(times):
        series += paced(series[0].steps, np.array(times), label, remarks)
    return RunRecord(
        read=ReadNote(label, "mlflow_metric", len(values), int(places[-1]) if places else 0),
        end=RunEnd("unknown", Source("measured", label, "a metric does not say how the run ended")),
        series=series,
        segments=segments_of(next((one for one in series if one.name == "loss"), None), [], []),
        run=run,
        times=times_of(np.array(times)),
        not_understood=(*notes.texts, *remarks),
    )


def _point(parts: list[bytes], count: float) -> tuple[float, float, float] | None:
    """(time, value, step) of a line; a line without a step counts itself."""
    if len(parts) not in {2, 3, 5}:
        return None
    time, value, step = number(parts[0]), number(parts[1]), number(parts[2]) if len(parts) > 2 else count
    return None if time is None or value is None or step is None else (time, value, step)


def read_meta(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read how a run ended from its ``meta.yaml``."""
    notes = Notes([])
    found = {
        key.decode(): value.decode("utf-8", "replace").strip("'\" ")
        for _, lines in line_blocks(stream, limits, notes)
        for key, value in _FIELD.findall(b"\n".join(lines))
    }
    run = place(label)[0]
    return RunRecord(
        read=ReadNote(label, "mlflow_run", 1, 0),
        end=end_of(found.get("status", ""), label),
        run=run,
        not_understood=tuple(notes.texts),
    )


def end_of(status: str, where: str) -> RunEnd:
    """The end that a status (its number, or its name) says."""
    number_ = next((key for key, name in STATUS_NAMES.items() if status.upper() == name), status)
    name = STATUS_NAMES.get(number_, status or "missing")
    quote = f"status {name}" if number_ in _ENDS else f"status {name}: still running, or died without a word"
    return RunEnd(_ENDS.get(number_, "unknown"), Source("measured", where, quote))


def read_value(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read a file of one word: a parameter of an MLflow run if it lies in ``params/``, else a log of one word."""
    run, part, name = place(label)
    if part not in {"params", "tags"}:
        record = read_console(stream, label, limits)
        return replace(record, read=replace(record.read, format="single_value"))
    value = stream.read(limits.line_bytes).decode("utf-8", "replace").strip()
    return RunRecord(
        read=ReadNote(label, "single_value", 1, 1),
        end=RunEnd("unknown", Source("measured", label, "one value")),
        config={name: value} if part == "params" and value != "None" else {},
        run=run,
    )


def place(label: str) -> tuple[str, str, str]:
    """(key of the run, "metrics" or "params" or "tags" or "", name below it) of a file by its path."""
    parts = label.replace("\\", "/").split("/")
    at = max((at for at, part in enumerate(parts[:-1]) if part in _PARTS), default=len(parts) - 1)
    known = parts[at] in _PARTS and at < len(parts) - 1
    return "mlflow:" + "/".join(parts[:at]), parts[at] if known else "", "/".join(parts[at + known :])


def _is_metric(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n") if line][:20]
    whole = lines[:-1] if len(lines) > 1 else lines
    return bool(whole) and all(_POINT.fullmatch(line) for line in whole)


def _is_meta(head: bytes) -> bool:
    keys = {key for key, _ in _FIELD.findall(head[:4096])}
    return b"artifact_uri" in keys and bool(keys & {b"run_id", b"run_uuid"})


def _is_value(head: bytes) -> bool:
    return _WORD.fullmatch(head) is not None


MLFLOW_METRIC = Format("mlflow_metric", _is_metric, read_metric)
MLFLOW_RUN = Format("mlflow_run", _is_meta, read_meta)
SINGLE_VALUE = Format("single_value", _is_value, read_value)
