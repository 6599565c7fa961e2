"""JSON lines: one record per line, as trainers, trackers and home-made loggers write them.

LLaMA-Factory's ``trainer_log.jsonl`` is one of them (2023 with explicit nulls, 2024 with the throughput as
text, 2025 with ``lr``); so are ``wandb-history.jsonl`` and metrics files of TRL, fairseq, OpenLM and torchtune.
Bare NaN and Infinity are numbers here. Lines that are no records, and records with a message, are log lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from engine.evidence.readers.console.ending import run_end
from engine.evidence.readers.console.events import Events
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, drawings, text_blocks
from engine.evidence.readers.names import canonical
from engine.evidence.readers.tables.axis import EPOCH_NAMES, STEP_NAMES, plain
from engine.evidence.readers.tables.flat import flat_columns
from engine.evidence.readers.tables.rows import CORE, TOO_MANY, Rows, own_name, value_of
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

_MESSAGES = (b'"message"', b'"msg"', b'"error"', b'"exception"', b'"traceback"')
_HEAD_LINES = 20


@dataclass(slots=True)
class _Reading:
    """What has been read of the file so far."""

    rows: Rows
    events: Events
    bad: list[int] = field(default_factory=list)  # lines that are no JSON
    last_line: int = 0
    last_record: Mapping[str, object] = field(default_factory=dict)


def read_json_lines(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the records; never raises on content."""
    notes = Notes([])
    # a counter that is off prints 0
    reading = _Reading(Rows(label, absent={"throughput": 0.0}), Events(limits))
    for number, text in text_blocks(stream, limits, notes):
        _take(reading, number, text)
        if reading.rows.full:
            notes.add(TOO_MANY)
            break
    if reading.bad:
        cut = reading.bad == [reading.last_line]
        notes.add(
            "the last line is cut short and was left out"
            if cut
            else f"{len(reading.bad)} lines are no JSON records, the first is line {reading.bad[0]}"
        )
    built = reading.rows.build()
    events = reading.events.all()
    config = {"max_steps": total} if (total := value_of(reading.last_record.get("total_steps"))) is not None else {}
    return RunRecord(
        read=ReadNote(label, "json_lines", reading.rows.count, reading.last_line),
        end=_end(reading, label) or run_end(events, reading.last_line, 0, label),
        series=built.series,
        events=events,
        config=config,
        segments=built.segments,
        times=built.times,
        run=run_of(label) if "_runtime" in reading.last_record else "",
        not_understood=(*notes.texts, *built.remarks),
    )


def run_of(label: str) -> str:
    """The key of a W&B run: its folder, whichever of its subfolders a file lies in."""
    parts = label.replace("\\", "/").split("/")[:-1]
    while parts and parts[-1] in {"files", "logs", "tmp"}:
        parts.pop()
    return "wandb:" + "/".join(parts)


def _take(reading: _Reading, number: int, text: bytes) -> None:
    flat = flat_columns(text, b"\n")
    if flat is not None and flat[0] == text.count(b"\n") + 1:
        reading.rows.add_columns(flat[1])
        reading.rows.add_lines(range(number, number + flat[0]))
        reading.last_line = number + flat[0] - 1
        reading.last_record = next(iter(_parsed([text[text.rfind(b"\n") + 1 :]])[0]), {})
    else:
        _take_lines(reading, *drawings(number, text))


def _take_lines(reading: _Reading, numbers: Sequence[int], lines: list[bytes]) -> None:
    reading.last_line = numbers[-1]
    places = [at for at, line in enumerate(lines) if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{")]
    records, read = _parsed([lines[at] for at in places])
    kept = [places[at] for at in read]
    reading.rows.add(records, [numbers[at] for at in kept])
    if records:
        reading.last_record = records[-1]
    block = b"\n".join(lines)
    told = any(word in block for word in _MESSAGES)
    if len(kept) == len(lines) and not told:
        return
    taken = set(kept)
    others = [at for at, line in enumerate(lines) if at not in taken and line.strip()]
    reading.bad += [numbers[at] for at in others][: 1000 - len(reading.bad)]
    if told:
        others += [at for at in kept if any(word in lines[at] for word in _MESSAGES)]
    reading.events.take(list(numbers), lines, sorted(others))


def _parsed(lines: list[bytes]) -> tuple[list[dict[str, object]], list[int]]:
    """The records and the places of their lines; the whole block is parsed at once if all of it is sound."""
    try:
        together = json.loads(b"[" + b",".join(lines) + b"]")
        if len(together) == len(lines) and set(map(type, together)) <= {dict}:
            return together, list(range(len(lines)))
    except (ValueError, RecursionError):
        pass
    records: list[dict[str, object]] = []
    places: list[int] = []
    for at, line in enumerate(lines):
        try:
            record = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
            places.append(at)
    return records, places


def _end(reading: _Reading, label: str) -> RunEnd | None:
    """LLaMA-Factory writes how many steps there will be: the last record of a whole run has reached them."""
    done = value_of(reading.last_record.get("current_steps"))
    planned = value_of(reading.last_record.get("total_steps"))
    if done is None or planned is None or not 0 < planned <= done:
        return None
    where = f"{label}:{reading.last_line}"
    return RunEnd("finished", Source("measured", where, f"current_steps {done:g} of total_steps {planned:g}"))


def _recognises(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n") if line.strip()][: _HEAD_LINES + 1]
    if len(lines) > 1 and len(head) >= 1 << 16 and len(lines) <= _HEAD_LINES:
        lines.pop()  # cut by the end of the head
    records, _ = _parsed([line for line in lines[:_HEAD_LINES] if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{")])
    if len(records) * 2 <= len(lines[:_HEAD_LINES]):
        return False
    if len(records) == 1:
        return _is_metrics(records[0]) and "step" in {plain(own_name(key)) for key in records[0]}
    return sum(map(_is_metrics, records)) * 4 >= len(records)


def _is_metrics(record: Mapping[str, object]) -> bool:
    """A record of a metrics file counts its steps or epochs and holds another number, or holds a known metric."""
    flat = dict(record)
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{key}/{inner}": number for inner, number in value.items()}
    numbers = [own_name(key) for key, value in flat.items() if value_of(value) is not None]
    counters = [name for name in numbers if plain(name) in STEP_NAMES or plain(name) in EPOCH_NAMES]
    known = [name for name in numbers if canonical(name).known and plain(name) not in EPOCH_NAMES]
    return (bool(counters) and len(numbers) > len(counters)) or any(canonical(name).name in CORE for name in known)


JSON_LINES = Format("json_lines", _recognises, read_json_lines)
