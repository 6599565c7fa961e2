"""Readers: files of training tools to ``RunRecord``; the format is chosen by content, never by the name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

from engine.evidence.readers import configs, machines, results, tables, traces, trackers
from engine.evidence.readers.case_series import series_from_case
from engine.evidence.readers.console.reader import read_console
from engine.evidence.readers.lines import Limits, Notes, UnreadableError, chunks, open_input
from engine.evidence.readers.names import canonical
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

_HEAD_BYTES = 1 << 16
# magic numbers of files people pass by mistake: zip and torch checkpoints, pickle, ELF, PNG, HDF5
_MAGIC = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x7fELF", b"\x89PNG", b"\x89HDF")
# The first that recognises a file reads it; a text that none recognises is read as a console log.
FORMATS = (*trackers.FORMATS, *traces.FORMATS, *results.FORMATS, *machines.FORMATS, *tables.FORMATS, *configs.FORMATS)

__all__ = ["FORMATS", "Limits", "canonical", "read", "series_from_case", "sniff"]


def sniff(head: bytes) -> str:
    """The id of the format that the first bytes (inflated) show, else ``empty``, ``binary`` or ``text``.

    A log may start with any amount of other text: "text" says only that no other format shows in ``head``.
    """
    if len(head) < _HEAD_BYTES and not head.lstrip(b"\xef\xbb\xbf \t\r\n"):
        return "empty"  # a longer one may hold something after all those blanks
    for format_ in FORMATS:
        if format_.recognises(head):
            return format_.id
    return "binary" if head.startswith(_MAGIC) or _is_binary(head) else "text"


def read(
    source: str | os.PathLike[str] | bytes,
    label: str | None = None,
    limits: Limits | None = None,
    kind: str | None = None,
) -> RunRecord:
    """Read a file or its bytes; bad input gives a partial record that says why, never an exception.

    ``kind`` is what ``sniff`` said of its beginning, where that is known already.
    """
    name = label or ("input" if isinstance(source, bytes) else Path(source).name)
    limits = limits or Limits()
    try:
        with open_input(source) as stream:
            if kind is not None:
                return _told(_reader(kind)(stream, name, limits))
            notes = Notes([])
            head = next(chunks(stream, limits, notes), b"")[:_HEAD_BYTES]
            stream.seek(0)
            if not head and notes.texts:
                return _nothing(name, "unreadable", f"cannot be read: {notes.texts[0]}")
            kind = sniff(head)
            if kind in {"binary", "empty"}:
                return _nothing(name, kind, "is binary, not a text log" if kind == "binary" else "is empty")
            return _told(_reader(kind)(stream, name, limits))
    except UnreadableError as error:
        return _nothing(name, "unreadable", str(error))
    except OSError as error:
        return _nothing(name, "unreadable", f"could not be read: {error.strerror or error}")


def _reader(kind: str) -> Callable[[IO[bytes], str, Limits], RunRecord]:
    return next((format_.read for format_ in FORMATS if format_.id == kind), read_console)


def _told(record: RunRecord) -> RunRecord:
    """A file that yields nothing says so: it must not look as if it had been read and found in order."""
    found = (record.read.records, record.series, record.events, record.config, record.readings, record.evaluation)
    if any(found) or record.not_understood:
        return record
    return replace(
        record, not_understood=(f"{record.read.file} ({record.read.format}) holds nothing that is known here",)
    )


def _nothing(name: str, kind: str, why: str) -> RunRecord:
    end = RunEnd("unknown", Source("measured", name, why))
    return RunRecord(ReadNote(name, kind, 0, 0), end, not_understood=(f"{name} {why}",))


def _is_binary(head: bytes) -> bool:
    """NUL bytes mean binary unless they are a hole in a text; control characters do not occur in text at all."""
    text = head.replace(b"\0", b"")
    control = sum(text.count(bytes([code])) for code in (*range(1, 8), *range(14, 27)))
    holes = len(head) - len(text)
    return control > len(text) * 0.05 or (holes > 0 and (not text or control > 0))
