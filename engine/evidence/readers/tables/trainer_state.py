"""``trainer_state.json`` of the Hugging Face Trainer (all versions) and exports of its log history.

Training and evaluation records share steps but stand in separate rows; predictions have no step; the last
record of a finished run is its summary. Bare NaN and Infinity are read. A file cut short gives the records
before the cut. The history is streamed: files of 100 MB are known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, bounded
from engine.evidence.readers.tables.json_stream import ArrayStream, Columns
from engine.evidence.readers.tables.rows import TOO_MANY, Rows, value_of
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

_OPENING = re.compile(r'\A\s*\[|"(?:log_history|training_history|history)"\s*:\s*\[')
_SUMMARY = "train_runtime"
_MEANS = frozenset({"train_loss", "training_loss"})  # a mean over the run: no last loss


def read_trainer_state(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the state; never raises on content, ``not_understood`` says what is wrong with it."""
    notes = Notes([])
    array, rows = ArrayStream(_OPENING, _all_have_steps), Rows(label)
    summary: Mapping[str, object] | None = None
    too_large = f"JSON document larger than {limits.json_bytes} bytes: only its beginning was read"
    for block in array.blocks(bounded(stream, limits, notes, limits.json_bytes, too_large)):
        if isinstance(block, tuple):
            rows.add_columns(block[1])
            rows.count += block[0]
        else:
            for record in block:
                summary = record if _SUMMARY in record else summary
            rows.add([record for record in block if _SUMMARY not in record and _has_step(record)])
        if rows.full:
            notes.add(TOO_MANY)
            break
    head = _head(array, notes)
    config = {key: value for key, value in head.items() if isinstance(value, str | int | float | bool)}
    if summary is not None:
        config |= {key: value for key, value in summary.items() if isinstance(value, int | float) and key not in _MEANS}
    built = rows.build()
    return RunRecord(
        read=ReadNote(label, "trainer_state", rows.count + (summary is not None), 0),
        end=_end(head, summary, label),
        series=built.series,
        config=config,
        segments=built.segments,
        not_understood=tuple(notes.texts + (built.remarks if rows.count else [])),
    )


def _has_step(record: Mapping[str, object]) -> bool:
    return value_of(record.get("step", record.get("current_steps"))) is not None


def _all_have_steps(columns: Columns) -> bool:
    """Whether these are the columns of records like those that are kept of others, and of no summary."""
    count, by_name = columns
    steps = by_name.get("step", by_name.get("current_steps"))
    return steps is not None and len(steps[0]) == count and _SUMMARY not in by_name


def _head(array: ArrayStream, notes: Notes) -> Mapping[str, object]:
    """The fields beside the history; what is wrong with the document goes to the notes."""
    document: object = None
    try:
        document = json.loads(array.rest) if array.rest else {}
    except RecursionError:
        array.fault = array.fault or "JSON is nested too deeply"
    except ValueError as error:
        array.fault = array.fault or f"JSON is damaged or cut short ({error}); its records were read"
    if array.fault:
        notes.add(array.fault)
    elif not _OPENING.search(array.rest):
        notes.add("JSON holds no log history (log_history, training_history, history)")
    return document if isinstance(document, dict) else {}


def _end(head: Mapping[str, object], summary: Mapping[str, object] | None, label: str) -> RunEnd:
    if summary is not None:
        return RunEnd("finished", Source("measured", label, "summary record with train_runtime"))
    done, planned = value_of(head.get("global_step")), value_of(head.get("max_steps"))
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
