"""The ``.wandb`` transaction log of Weights & Biases: history, configuration, console, system metrics and exit code.

After a header of seven bytes the file is a LevelDB log: blocks of 32 KiB with records ``crc | length | type``, whose
parts are joined to one protocol buffer ``Record`` each. Values are JSON texts; newer clients also have fields of
their own for numbers. No exit record means that the process was killed or still runs. Zero-byte and cut files occur.
Sources: LevelDB's log format; wandb_internal.proto of wandb.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from engine.evidence.readers.console.reader import read_console
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, chunks
from engine.evidence.readers.tables.json_lines import run_of
from engine.evidence.readers.tables.rows import TOO_MANY, Rows
from engine.evidence.readers.trackers.protobuf import DamagedError, Field, fields, real, signed, text
from engine.evidence.readers.trackers.wandb_stats import Stats
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import FactReading, Source

MAGIC = b":W&B\xe1\xbe\x00"
_BLOCK, _HEAD = 32 << 10, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_CONSOLE_BYTES = 16 << 20
# fields of Record
_HISTORY, _SUMMARY, _OUTPUT, _CONFIG, _STATS, _OUTPUT_RAW, _RUN, _EXIT = 2, 3, 4, 6, 7, 13, 17, 18
_RUN_CONFIG = 4
# fields of HistoryItem, ConfigItem and SummaryItem
_KEY, _NESTED_KEY, _BOOLEAN, _INTEGER, _NUMBER, _JSON, _VALUE_JSON = 1, 2, 4, 5, 6, 8, 16
_EXIT_OF_INTERRUPT = 255
_ROWS_AT_ONCE = 5_000


@dataclass(slots=True)
class _Log:
    """What has been read of the log so far."""

    rows: Rows
    stats: Stats
    waiting: list[dict[str, object]] = field(default_factory=list)
    config: dict[str, object] = field(default_factory=dict)
    summary: dict[str, object] = field(default_factory=dict)
    console: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    broken: int = 0
    console_cut: bool = False


def read_wandb_log(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the log; never raises on content."""
    notes = Notes([])
    log = _Log(Rows(label), Stats(label))
    for record in _records(stream, limits, notes):
        try:
            _take(record, log)
        except DamagedError:
            log.broken += 1
        if log.rows.full:
            notes.add(TOO_MANY)
            break
    log.rows.add(log.waiting)
    if log.broken:
        notes.add(f"{log.broken} damaged records were left out")
    if log.console_cut:
        notes.add(f"of the console only the last {_CONSOLE_BYTES} bytes were read")
    return _record(log, label, limits, notes)


def _record(log: _Log, label: str, limits: Limits, notes: Notes) -> RunRecord:
    built = log.rows.build() if log.rows.count else None
    console = read_console(io.BytesIO(bytes(log.console)), label, limits)
    if built is None:
        notes.add("holds no history: nothing was logged to W&B")
    history = built.series if built is not None else console.series
    more = log.stats.series({one.name for one in history})
    code = log.exit_code
    readings = () if code is None else (FactReading("run.exit_code", float(code), _exit_source(log, label)),)
    return RunRecord(
        read=ReadNote(label, "wandb", log.rows.count, 0),
        end=_end(log, console, label),
        series=(*history, *more),
        events=console.events,
        config={**console.config, **log.config},
        segments=built.segments if built is not None else console.segments,
        readings=readings,
        run=run_of(label),
        times=log.stats.times(),
        not_understood=(*notes.texts, *(built.remarks if built is not None else console.not_understood)),
    )


def _exit_source(log: _Log, label: str) -> Source:
    return Source("measured", label, f"exit code {log.exit_code}")


def _end(log: _Log, console: RunRecord, label: str) -> RunEnd:
    if log.exit_code is None:
        if console.end.kind != "unknown":
            return console.end
        return RunEnd("unknown", Source("measured", label, "no exit record: killed, or still running"))
    if log.exit_code == 0:
        return RunEnd("finished", _exit_source(log, label))
    return RunEnd("stopped" if log.exit_code == _EXIT_OF_INTERRUPT else "crashed", _exit_source(log, label))


def _take(record: bytes, log: _Log) -> None:
    for number, value in fields(record):
        if not isinstance(value, bytes):
            continue
        if number == _HISTORY:
            log.waiting.append(dict(_items(value)))
            log.stats.at_row(log.waiting[-1])
            if len(log.waiting) >= _ROWS_AT_ONCE:
                log.rows.add(log.waiting)
                log.waiting = []
        elif number == _CONFIG:
            log.config |= {key: item for key, item in _items(value) if key != "_wandb"}
        elif number == _RUN:
            for inner, config in fields(value):
                if inner == _RUN_CONFIG and isinstance(config, bytes):
                    log.config |= {key: item for key, item in _items(config) if key != "_wandb"}
        elif number == _STATS:
            log.stats.take(value)
        elif number in {_OUTPUT, _OUTPUT_RAW}:
            _print(value, log)
        elif number == _EXIT:
            codes = [code for inner, code in fields(value) if inner == 1]
            log.exit_code = signed(codes[0]) if codes else 0  # zero is not written


def _print(output: bytes, log: _Log) -> None:
    for number, value in fields(output):
        if number == 3 and isinstance(value, bytes):
            log.console += value
            if not value.endswith((b"\n", b"\r")):
                log.console += b"\n"
    if len(log.console) > 2 * _CONSOLE_BYTES:
        del log.console[:-_CONSOLE_BYTES]
        log.console_cut = True


def _items(message: bytes) -> Iterator[tuple[str, object]]:
    """The key and value of each item; nested keys are joined as ``a/b``."""
    for number, item in fields(message):
        if number != 1 or not isinstance(item, bytes):
            continue
        keys: list[str] = []
        found: object = None
        for inner, value in fields(item):
            if inner in {_KEY, _NESTED_KEY}:
                keys.append(text(value))
            else:
                found = _typed(inner, value, found)
        if keys and found is not None:
            yield "/".join(keys), found


def _typed(number: int, value: Field, before: object) -> object:
    if number in {_VALUE_JSON, _JSON} and isinstance(value, bytes):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return text(value)
    if number == _NUMBER:
        return real(value)
    if number == _INTEGER:
        return signed(value)
    return bool(value) if number == _BOOLEAN else before


def _records(stream: IO[bytes], limits: Limits, notes: Notes) -> Iterator[bytes]:
    """Join the parts of each record over the blocks; a part with a wrong check sum or no beginning is left out."""
    record = bytearray()
    open_, wrong = False, 0
    for block in _blocks(stream, limits, notes):
        at = 0
        while len(block) - at >= _HEAD:
            check, size, kind = struct.unpack_from("<IHB", block, at)
            part = block[at + _HEAD : at + _HEAD + size]
            if kind == 0 and size == 0:  # padding
                break
            if len(part) < size:
                notes.add("the last record is cut short and was left out")
                break
            at += _HEAD + size
            if zlib.crc32(part, zlib.crc32(bytes([kind]))) != check:
                wrong, open_ = wrong + 1, False
                continue
            if kind in {_FULL, _FIRST}:
                record, open_ = bytearray(part), True
            elif open_:
                record += part
            if len(record) > limits.json_bytes:
                notes.add(f"a record is larger than {limits.json_bytes} bytes and was left out")
                record, open_ = bytearray(), False
            if open_ and kind in {_FULL, _LAST}:
                yield bytes(record)
                open_ = False
    if wrong:
        notes.add(f"{wrong} parts of records are damaged (wrong check sum) and were left out")


def _blocks(stream: IO[bytes], limits: Limits, notes: Notes) -> Iterator[bytes]:
    """Blocks of 32 KiB; the header of the file counts into the first one."""
    rest, skip = b"", len(MAGIC)
    for piece in chunks(stream, limits, notes):
        rest += piece
        whole = len(rest) // _BLOCK * _BLOCK
        for at in range(0, whole, _BLOCK):
            yield rest[at + skip : at + _BLOCK]
            skip = 0
        rest = rest[whole:]
    if rest:
        yield rest[skip:]


def _recognises(head: bytes) -> bool:
    return head.startswith(MAGIC)


WANDB_LOG = Format("wandb", _recognises, read_wandb_log)
