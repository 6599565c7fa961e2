"""``trainer_state.json`` of the Hugging Face Trainer (all versions) and exports of its log history.

Training and evaluation records share steps but stand in separate rows; predictions have no step; the last
record of a finished run is its summary. Bare NaN and Infinity are read. A file cut short gives the records
before the cut.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import IO, cast

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.columns import number
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, chunks
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

_HISTORIES = ("log_history", "training_history", "history")
_HISTORY = re.compile(r'"(?:log_history|training_history|history)"\s*:\s*\[')
_NOT_METRICS = frozenset({"step", "total_flos", "current_steps", "total_steps"})


def read_trainer_state(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the state; never raises on content, ``not_understood`` says what is wrong with it."""
    notes = Notes([])
    head, history = _parse(_text(stream, limits, notes), notes)
    builder = SeriesBuilder(label)
    config = {key: value for key, value in head.items() if isinstance(value, str | int | float | bool)}
    summary: Mapping[str, object] | None = None
    columns: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    step = 0.0
    for record in history:
        given = _step(record)
        step = given if given is not None else step
        if "train_runtime" in record:
            summary = record
        elif given is not None:
            for key, value in record.items():
                parsed = _value(value)
                if key not in _NOT_METRICS and parsed is not None:
                    columns[key][0].append(step)
                    columns[key][1].append(parsed)
    for key, (steps, values) in columns.items():
        builder.add(key, np.array(steps), np.array(values), None)
    if summary is not None:
        config |= {key: value for key, value in summary.items() if isinstance(value, int | float)}
    series, remarks = builder.build()
    axis = next((one for one in series if one.name in {"loss", "learning_rate"}), None)
    return RunRecord(
        read=ReadNote(label, "trainer_state", len(history), 0),
        end=_end(head, summary, label),
        series=series,
        config=config,
        segments=segments_of(axis, [], []),
        not_understood=tuple(notes.texts + remarks),
    )


def _text(stream: IO[bytes], limits: Limits, notes: Notes) -> str:
    parts: list[bytes] = []
    size = 0
    for piece in chunks(stream, limits, notes):
        parts.append(piece[: limits.json_bytes - size])
        size += len(parts[-1])
        if size >= limits.json_bytes:
            notes.add(f"JSON document larger than {limits.json_bytes} bytes: only its beginning was read")
            break
    return b"".join(parts).decode("utf-8-sig", "replace")


def _parse(text: str, notes: Notes) -> tuple[Mapping[str, object], list[Mapping[str, object]]]:
    """Return the head fields and the history; falls back to the records in front of a fault."""
    try:
        document = json.loads(text)
    except RecursionError:
        notes.add("JSON is nested too deeply")
        return {}, []
    except ValueError as error:
        notes.add(f"JSON is damaged or cut short ({error}); the records in front of the fault were read")
        return {}, _salvaged(text)
    if isinstance(document, list):
        return {}, [record for record in document if isinstance(record, dict)]
    if isinstance(document, dict):
        for key in _HISTORIES:
            if isinstance(document.get(key), list):
                return document, [record for record in document[key] if isinstance(record, dict)]
    notes.add("JSON holds no log history (log_history, training_history, history)")
    return {}, []


def _salvaged(text: str) -> list[Mapping[str, object]]:
    start = _HISTORY.search(text)
    at = start.end() if start is not None else len(text)
    decoder = json.JSONDecoder()
    records: list[Mapping[str, object]] = []
    while (brace := text.find("{", at)) >= 0 and not text[at:brace].strip(" \t\r\n,"):
        try:
            record, at = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            break
        records.append(cast("Mapping[str, object]", record))
    return records


def _step(record: Mapping[str, object]) -> float | None:
    step = _value(record.get("step", record.get("current_steps")))
    return step if step is not None and np.isfinite(step) else None


def _value(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return number(value) if isinstance(value, str) else float(value)
    except OverflowError:
        return float("inf")


def _end(head: Mapping[str, object], summary: Mapping[str, object] | None, label: str) -> RunEnd:
    if summary is not None:
        return RunEnd("finished", Source("measured", label, "summary record with train_runtime"))
    done, planned = _value(head.get("global_step")), _value(head.get("max_steps"))
    if done is not None and planned is not None and 0 < planned <= done:
        return RunEnd("finished", Source("measured", label, f"global_step {done:g} of max_steps {planned:g}"))
    return RunEnd("unknown", Source("measured", label, "no summary record: written inside the run"))


def _recognises(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        return b'"step"' in head and (b'"loss"' in head or b'"eval_loss"' in head)
    if start != b"{":
        return False
    return b'"log_history"' in head or b'"training_history"' in head or (b'"history"' in head and b'"step"' in head)


TRAINER_STATE = Format("trainer_state", _recognises, read_trainer_state)
