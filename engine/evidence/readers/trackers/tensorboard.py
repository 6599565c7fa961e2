"""TensorBoard event files: scalars in every encoding, without TensorFlow or tensorboard.

An event holds a wall time, a step and a summary of tagged values. A scalar is a ``simple_value`` (torch, TensorFlow
1) or a tensor of one number (TensorFlow 2, file names end in ``.v2``). Texts, images, histograms, graphs and
hyperparameters are passed over. The file may end within a record: it is still being written, or the process died.
Sources: event.proto, summary.proto and tensor.proto of TensorFlow.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, chunks
from engine.evidence.readers.names import canonical
from engine.evidence.readers.tables.rows import (
    MOST_COLUMNS,
    MOST_VALUES,
    PACE,
    SPEEDS,
    TOO_MANY,
    own_name,
    paced,
    rank,
    times_of,
)
from engine.evidence.readers.trackers.protobuf import DamagedError, fields, real, signed, text
from engine.evidence.readers.trackers.tfrecord import HEAD_BYTES, TfRecords
from engine.evidence.series import Floats, ReadNote, RunEnd, RunRecord, Series, Times
from engine.model.evidence import Source

# fields of Event, Summary.Value and TensorProto
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_TAG, _SIMPLE, _TENSOR = 1, 2, 8
_DTYPE, _CONTENT, _FLOATS, _DOUBLES, _INTS, _LONGS, _HALVES = 1, 4, 5, 6, 7, 10, 13
_DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # DataType to what numpy calls it
_BFLOAT16 = 14
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")
# An event with one simple_value, as torch writes a scalar: wall time, step, summary of a tag and a float
_PLAIN = re.compile(
    rb"\x09(.{8})\x10([\x80-\xff]{0,9}[\0-\x7f])\x2a([\0-\x7f])\x0a([\0-\x7f])\x0a([\0-\x7f])(.*)\x15(.{4})", re.DOTALL
)
_EVALUATIONS = frozenset({"validation", "val", "valid", "eval", "evaluation", "test"})
_SUMMARY_MARK = "train_runtime"


@dataclass(slots=True)
class _Tag:
    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class _Read:
    """Scalars by tag, and the times between which the file was written."""

    tags: dict[str, _Tag] = field(default_factory=dict)
    values: int = 0
    others: int = 0
    broken: int = 0
    left_out: bool = False
    last_time: float = 0.0

    def keep(self, tag: str, step: int, value: float, time: float) -> None:
        """Keep a scalar, unless there are too many tags."""
        kept = self.tags.get(tag)
        if kept is None:
            if len(self.tags) >= MOST_COLUMNS:
                self.left_out = True
                return
            kept = self.tags[tag] = _Tag()
        kept.steps.append(step)
        kept.values.append(value)
        kept.times.append(time)
        self.values += 1


def read_tensorboard(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the scalars; never raises on content."""
    notes = Notes([])
    records, read = TfRecords(limits.json_bytes), _Read()
    for payload in records.read(chunks(stream, limits, notes)):
        _event(payload, read)
        if read.values >= MOST_VALUES:
            notes.add(TOO_MANY)
            break
    _say(records, read, notes)
    run, phase = _place(label)
    series, config, remarks, times = _series(read, label, phase)
    pace = next((one for want in PACE for one in series if one.name == want), None)
    return RunRecord(
        read=ReadNote(label, "tensorboard", read.values, 0),
        end=_end(read, config, label),
        series=series,
        config=config,
        segments=segments_of(pace, [], []),
        run=run,
        times=times,
        not_understood=(*notes.texts, *remarks),
    )


def _event(payload: bytes, read: _Read) -> None:
    if not _plain_event(payload, read):
        _any_event(payload, read)


def _plain_event(payload: bytes, read: _Read) -> bool:
    """Read the event if it is one scalar of torch: a tenth of the time of taking the message apart."""
    match = _PLAIN.fullmatch(payload)
    if match is None:
        return False
    time, step, *sizes, tag, value = match.groups()
    if [size[0] for size in sizes] != [len(tag) + 9, len(tag) + 7, len(tag)]:
        return False
    wall_time = _DOUBLE.unpack(time)[0]
    read.last_time = max(read.last_time, wall_time)
    read.keep(tag.decode("utf-8", "replace"), signed(next(_varints(step))), _FLOAT.unpack(value)[0], wall_time)
    return True


def _any_event(payload: bytes, read: _Read) -> None:
    wall_time, step, summaries = 0.0, 0, []
    try:
        for number, value in fields(payload):
            if number == _WALL_TIME:
                wall_time = real(value) or 0.0
            elif number == _STEP:
                step = signed(value)
            elif number == _SUMMARY and isinstance(value, bytes):
                summaries.append(value)
        read.last_time = max(read.last_time, wall_time)
        for summary in summaries:
            for _, value in fields(summary):
                if isinstance(value, bytes):
                    _value(value, step, wall_time, read)
    except DamagedError:
        read.broken += 1


def _value(value: bytes, step: int, wall_time: float, read: _Read) -> None:
    tag, scalar = "", None
    for number, content in fields(value):
        if number == _TAG:
            tag = text(content)
        elif number == _SIMPLE:
            scalar = real(content)
        elif number == _TENSOR and isinstance(content, bytes) and len(content) <= 256:
            scalar = _scalar(content)
    if scalar is None or not tag:
        read.others += 1
        return
    read.keep(tag, step, scalar, wall_time)


def _scalar(tensor: bytes) -> float | None:
    """The number of a tensor with one element, as its raw content or in the field of its type."""
    dtype, found = 0, None
    for number, content in fields(tensor):
        if number == _DTYPE and isinstance(content, int):
            dtype = content
        elif number == _CONTENT and isinstance(content, bytes):
            found = _raw(content, dtype)
        elif number in {_FLOATS, _DOUBLES}:
            found = real(content)
        elif number in {_INTS, _LONGS}:
            found = float(signed(content)) if isinstance(content, int) else _packed(content)
        elif number == _HALVES:
            bits = content if isinstance(content, int) else next(_varints(content), 0)
            found = _raw(struct.pack("<H", bits & 0xFFFF), dtype)
    return found


def _raw(content: bytes, dtype: int) -> float | None:
    if dtype == _BFLOAT16 and len(content) == 2:
        return real(b"\0\0" + content)
    kind = _DTYPES.get(dtype)
    if kind is None or len(content) != np.dtype(kind).itemsize:
        return None
    return float(np.frombuffer(content, dtype=kind)[0])


def _packed(content: bytes) -> float | None:
    numbers = list(_varints(content))
    return float(signed(numbers[0])) if len(numbers) == 1 else None


def _varints(content: bytes) -> Iterator[int]:
    value = shift = 0
    for code in content:
        value |= (code & 0x7F) << shift
        shift += 7
        if code < 0x80:
            yield value
            value = shift = 0


def _series(
    read: _Read, label: str, phase: str
) -> tuple[tuple[Series, ...], dict[str, object], list[str], Times | None]:
    """The series, densest tag of a metric first; what the Trainer logs once at the end is its summary."""
    config: dict[str, object] = {}
    builder = SeriesBuilder(label)
    finished = any(own_name(tag) == _SUMMARY_MARK for tag in read.tags)
    pace: tuple[Floats, Floats] | None = None
    for tag, points in sorted(read.tags.items(), key=lambda item: rank(item[0], len(item[1].steps))):
        steps, values = np.frombuffer(points.steps), np.frombuffer(points.values)
        name = own_name(tag)
        if finished and name.startswith(("train_", "total_flos")) and len(steps) == 1:
            config[name] = float(values[0])
            continue
        builder.add(f"{phase}{name}", steps.copy(), values.copy(), None)
        if pace is None and canonical(f"{phase}{name}").name in PACE and not name.startswith("epoch_"):
            pace = steps, np.frombuffer(points.times)
    config.pop("train_loss", None)  # a mean over the run: no last loss
    series, remarks = builder.build()
    if pace is not None and not SPEEDS & {one.name for one in series}:
        series += paced(*pace, label, remarks)
    return series, config, remarks, times_of(pace[1]) if pace is not None else None


def _place(label: str) -> tuple[str, str]:
    """The key of the run, and a prefix for the metrics of a folder of evaluations (Keras keeps one beside train)."""
    folders = label.replace("\\", "/").split("/")[:-1]
    phase = folders[-1].lower() if folders else ""
    if phase in _EVALUATIONS or phase in {"train", "training"}:
        folders.pop()
    return "tensorboard:" + "/".join(folders), "eval_" if phase in _EVALUATIONS else ""


def _say(records: TfRecords, read: _Read, notes: Notes) -> None:
    if records.damage:
        notes.add(records.damage)
    if records.damaged + read.broken:
        notes.add(f"{records.damaged + read.broken} damaged records were left out")
    if read.left_out:
        notes.add(f"more than {MOST_COLUMNS} tags: the rest was left out")
    if not read.tags:
        notes.add("holds no scalars: the run ended before its first log, or logs none here")


def _end(read: _Read, config: dict[str, object], label: str) -> RunEnd:
    if _SUMMARY_MARK in config:
        return RunEnd("finished", Source("measured", label, "scalar train_runtime"))
    when = np.datetime64(int(read.last_time), "s") if 0 < read.last_time < 1e11 else None
    return RunEnd("unknown", Source("measured", label, f"the last record is of {when} UTC" if when else "no record"))


def _recognises(head: bytes) -> bool:
    """The first record of an event file is its version; its wall time stands in front."""
    return len(head) > HEAD_BYTES and head[4:8] == b"\0\0\0\0" and b"brain.Event:" in head[HEAD_BYTES : HEAD_BYTES + 64]


TENSORBOARD = Format("tensorboard", _recognises, read_tensorboard)
