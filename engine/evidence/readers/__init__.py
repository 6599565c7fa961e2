"""Readers: files of training tools to ``RunRecord``; the format is chosen by content, never by the name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from engine.evidence.readers.case_series import series_from_case
from engine.evidence.readers.console import read_console
from engine.evidence.readers.hf_console import record_span
from engine.evidence.readers.lines import Limits, Notes, UnreadableError, chunks, open_input
from engine.evidence.readers.megatron import HEAD
from engine.evidence.readers.names import canonical
from engine.evidence.readers.trainer_state import read_trainer_state
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

FormatId = Literal["trainer_state", "megatron", "hf_console", "text", "binary", "empty"]
_HEAD_BYTES = 1 << 16
# magic numbers of files people pass by mistake: zip and torch checkpoints, pickle, ELF, PNG, HDF5
_MAGIC = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x7fELF", b"\x89PNG", b"\x89HDF")

__all__ = ["FormatId", "Limits", "canonical", "read", "series_from_case", "sniff"]


def sniff(head: bytes, name: str = "") -> FormatId:
    """Guess the format from the first bytes (inflated); ``name`` is never trusted, it is for messages only.

    A log may start with any amount of other text: "text" says only that no metric record stands in ``head``.
    """
    del name
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        return "empty"
    if head.startswith(_MAGIC) or _is_binary(head):
        return "binary"
    if start[:1] in b"{[" and any(key in head for key in (b'"log_history"', b'"training_history"')):
        return "trainer_state"
    if start[:1] == b"[" and b'"step"' in head and (b'"loss"' in head or b'"eval_loss"' in head):
        return "trainer_state"
    if start[:1] == b"{" and b'"history"' in head and b'"step"' in head:
        return "trainer_state"
    if HEAD.search(head) is not None:
        return "megatron"
    return "hf_console" if record_span(head) is not None else "text"


def read(source: str | os.PathLike[str] | bytes, label: str | None = None, limits: Limits | None = None) -> RunRecord:
    """Read a file or its bytes; bad input gives a partial record that says why, never an exception."""
    name = label or ("input" if isinstance(source, bytes) else Path(source).name)
    limits = limits or Limits()
    try:
        with open_input(source) as stream:
            notes = Notes([])
            head = next(chunks(stream, limits, notes), b"")[:_HEAD_BYTES]
            stream.seek(0)
            if not head and notes.texts:
                return _nothing(name, "unreadable", f"cannot be read: {notes.texts[0]}")
            kind = sniff(head, name)
            if kind == "trainer_state":
                return read_trainer_state(stream, name, limits)
            if kind in {"binary", "empty"}:
                return _nothing(name, kind, "is binary, not a text log" if kind == "binary" else "is empty")
            return read_console(stream, name, limits)
    except UnreadableError as error:
        return _nothing(name, "unreadable", str(error))
    except OSError as error:
        return _nothing(name, "unreadable", f"could not be read: {error.strerror or error}")


def _nothing(name: str, kind: str, why: str) -> RunRecord:
    end = RunEnd("unknown", Source("measured", name, why))
    return RunRecord(ReadNote(name, kind, 0, 0), end, not_understood=(f"{name} {why}",))


def _is_binary(head: bytes) -> bool:
    """NUL bytes mean binary unless they are a hole in a text; control characters do not occur in text at all."""
    text = head.replace(b"\0", b"")
    control = sum(text.count(bytes([code])) for code in (*range(1, 8), *range(14, 27)))
    holes = len(head) - len(text)
    return control > len(text) * 0.05 or (holes > 0 and (not text or control > 0))
