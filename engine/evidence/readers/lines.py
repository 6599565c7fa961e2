"""Bytes to clean lines, in blocks: bounded in memory whatever the file is.

The rules are those of launchers and terminals: ANSI colours, CRLF and progress bars that redraw with a
carriage return, prefixes of srun, torchrun and Ray that stack and carry the rank, NUL holes left by a crash,
UTF-16 of PowerShell.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Protocol

import numpy as np

from engine.evidence.readers.columns import shapes

# Where a zstd stream is damaged, what was read in the same step is lost.
ZSTD_STEP = 1 << 17
BLOCK = 1 << 21
_PACKED = MappingProxyType({b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"})
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_FEW = 16  # lines; below that an array costs more than it saves
_PREFIX = re.compile(
    rb"(?:\s*(?P<srun>\d{1,6}): |\[default(?P<tee>\d+)\]:\s?|\[rank(?P<torch>\d+)\]:\s?|\(\w+ pid=\d+\)\s)"
)


class UnreadableError(Exception):
    """The input cannot be read as a file of ours; the message says why, for people."""


class LineScan(Protocol):
    """Tells which lines of a block signatures hit: their numbers, by place among the lines."""

    def hits(self, lines: list[bytes]) -> Mapping[int, tuple[int, ...]]:
        """Signature numbers by place; lines without a hit are left out."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader takes before it stops with a partial result (bytes, except ``events``).

    Lines of a console log that ``scan`` names are kept as events, whatever else is.
    """

    json_bytes: int = 256 << 20  # one JSON document is held whole: files of 10 MB are known, 256 MiB is out of the way
    line_bytes: int = 1 << 20  # the rest of a longer line is left out
    inflated_bytes: int = 2 << 30
    inflation: float = 300.0  # text logs compress 5 to 100 times, deflate's limit is 1032 ...
    unsuspected_bytes: int = 64 << 20  # ... which is nobody's business below this size
    tail_events: int = 200
    marked_events: int = 2_000
    event_chars: int = 2_000
    scan: LineScan | None = None


@dataclass(slots=True)
class Notes:
    """Remarks gathered while streaming: what was left out, and why."""

    texts: list[str]

    def add(self, text: str) -> None:
        """Keep a remark once."""
        if text not in self.texts:
            self.texts.append(text)


def open_input(source: str | os.PathLike[str] | bytes) -> IO[bytes]:
    """Open a path or bytes for reading; raises UnreadableError for anything but a readable regular file."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    try:
        # O_NONBLOCK: opening a named pipe without a writer would wait for ever
        handle = os.open(Path(source), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file (a pipe, socket or device)"
        raise UnreadableError(f"is {kind}")
    return os.fdopen(handle, "rb")


def chunks(stream: IO[bytes], limits: Limits, notes: Notes) -> Iterator[bytes]:
    """Yield the content in pieces of at most a few BLOCKs: gzip and zstd inflated, UTF-16 as UTF-8."""
    head = stream.read(4)
    stream.seek(0)
    kind = next((kind for magic, kind in _PACKED.items() if head.startswith(magic)), None)
    if kind is not None:
        yield from _inflated(stream, kind, limits, notes)
    elif head[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        text = stream.read(limits.json_bytes).decode("utf-16", errors="replace").encode()
        yield from (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
    else:
        while piece := stream.read(BLOCK):
            yield piece


def bounded(stream: IO[bytes], limits: Limits, notes: Notes, most: int, note: str) -> Iterator[bytes]:
    """Yield the content up to ``most`` bytes; ``note`` is added if there may be more."""
    left = most
    for piece in chunks(stream, limits, notes):
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            notes.add(note)
            return


def text_within(stream: IO[bytes], limits: Limits, notes: Notes, most: int, note: str) -> str:
    """The text of what ``bounded`` yields."""
    return b"".join(bounded(stream, limits, notes, most, note)).decode("utf-8-sig", "replace")


def _inflated(stream: IO[bytes], kind: str, limits: Limits, notes: Notes) -> Iterator[bytes]:
    total = 0
    step, announced = (BLOCK, 0) if kind == "gzip" else (ZSTD_STEP, _announced(stream))
    with _opened(stream, kind) as unpacked:
        while True:
            try:
                piece = unpacked.read1(step)  # gives what there is before a fault
            except Exception as error:  # zstandard's own class must not be imported for gzip
                if not isinstance(error, EOFError | OSError | zlib.error) and type(error).__name__ != "ZstdError":
                    raise
                notes.add(f"{kind} stream is damaged or cut after {total} bytes ({error}); what came before was read")
                return
            if not piece:
                if total < announced:
                    notes.add(f"{kind} stream is cut after {total} of {announced} bytes; what came before was read")
                return
            total += len(piece)
            yield piece
            if total > limits.inflated_bytes or (
                total > limits.unsuspected_bytes and total > limits.inflation * max(stream.tell(), 1)
            ):
                notes.add(f"{kind} content is suspiciously large: stopped after {total} bytes")
                return


def _opened(stream: IO[bytes], kind: str) -> io.BufferedIOBase:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=stream)
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True, closefd=False)
    return io.BufferedReader(reader, ZSTD_STEP)


def _announced(stream: IO[bytes]) -> int:
    """The size of the first zstd frame's content, 0 if its header does not say; the stream is left at its start.

    The decompressor takes a cut frame for a whole one: the size is the only witness.
    """
    import zstandard

    head = stream.read(32)
    stream.seek(0)
    try:
        size = zstandard.get_frame_parameters(head).content_size
    except zstandard.ZstdError:
        return 0
    return 0 if size == zstandard.CONTENTSIZE_UNKNOWN else size


def text_blocks(stream: IO[bytes], limits: Limits, notes: Notes) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines as they stand, without the last line end) block by block."""
    carry, number, cut = b"", 1, False
    for piece in chunks(stream, limits, notes):
        text = carry + piece
        if b"\0" in piece:
            text = text.replace(b"\0", b"")
        end = text.rfind(b"\n")
        if end >= 0:
            begin = text.find(b"\n") if cut else 0  # the rest of a line that was too long ends here
            block = text[begin:end]
            yield number, block
            number += block.count(b"\n") + 1
            cut = False
        carry = text[end + 1 :]
        if len(carry) > limits.line_bytes:
            frames = carry.rfind(b"\r") + 1  # a progress bar without line ends: its frames are done with
            if frames:
                yield number, carry[:frames]
                carry = carry[frames:]
            if len(carry) > limits.line_bytes:
                notes.add(f"line {number} is longer than {limits.line_bytes} bytes: its rest was left out")
                if not cut:
                    yield number, carry[: limits.line_bytes]
                carry, cut = b"", True
    if carry and not cut:
        yield number, carry


def line_blocks(stream: IO[bytes], limits: Limits, notes: Notes) -> Iterator[tuple[Sequence[int], list[bytes]]]:
    """Yield (line numbers, lines) block by block, without line ends and colours.

    A line that was redrawn with carriage returns gives one entry per drawing, all with the number of the
    line.
    """
    for number, text in text_blocks(stream, limits, notes):
        yield drawings(number, text)


def drawings(first: int, text: bytes) -> tuple[Sequence[int], list[bytes]]:
    """Split a block into lines with their numbers; a line that was redrawn gives an entry for each drawing."""
    numbers: Sequence[int] | None = None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\n\r", b"\n")  # neither ends nor begins a drawing
    if b"\r" in text:
        codes = np.frombuffer(text, dtype=np.uint8)
        breaks = codes[(codes == 10) | (codes == 13)]
        numbers = np.concatenate([[first], first + np.cumsum(breaks == 10)]).tolist()
        text = text.replace(b"\r", b"\n")
    lines = text.split(b"\n")
    if numbers is None:
        numbers = range(first, first + len(lines))
    return numbers, _without_colours(lines) if b"\x1b" in text else lines


def _without_colours(lines: list[bytes]) -> list[bytes]:
    """Cut out the colours; they stand in the same columns in all lines of a shape."""
    for shape in shapes(lines):
        colours = [match.span() for match in _ANSI.finditer(shape.rows[0])] if b"\x1b" in shape.text else []
        if not colours:
            continue
        ends = [0, *(end for _, end in colours)]
        kept = list(zip(ends, [*(start for start, _ in colours), len(shape.text)], strict=True))
        width = sum(b - a for a, b in kept)
        if len(shape.rows) < _FEW or not width:
            plain = [b"".join([row[a:b] for a, b in kept]) for row in shape.rows]
        else:
            grid = np.frombuffer(b"".join(shape.rows), dtype=np.uint8).reshape(len(shape.rows), -1)
            plain = np.concatenate([grid[:, a:b] for a, b in kept], axis=1).view(f"S{width}").ravel().tolist()
        for at, row in zip(shape.index.tolist(), plain, strict=True):
            lines[at] = row
    return lines


def without_prefix(line: bytes) -> tuple[bytes, int | None]:
    """Return the line without launcher prefixes, and the rank they name (the innermost torch rank wins)."""
    rank: int | None = None
    while (match := _PREFIX.match(line)) is not None and match.end() > 0:
        digits = match["torch"] or match["tee"] or match["srun"]
        rank = int(digits) if digits else rank
        line = line[match.end() :]
    return line, rank
