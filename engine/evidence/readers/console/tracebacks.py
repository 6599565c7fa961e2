"""Whole tracebacks, kept while streaming: their frames hold no word of trouble, and the last own frame says most.

Each rank's traceback is held until the line of its exception; of tracebacks of one rank that end alike (numbers apart)
the first is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from engine.evidence.readers.lines import without_prefix

_BEGINS = b"Traceback (most recent call last)"
# "module.Name: text" or the name alone; not the level of a logger that writes between the frames
_EXCEPTION = re.compile(rb"(?!(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b)[A-Za-z_][\w.]*(?:: |:?\s*$)")
_MOST_LINES = 400  # of one traceback: deep recursion repeats its frames, the first and the last of them are kept
_MOST_KEPT = 128
_HEXADECIMAL = b"0123456789abcdefABCDEF"

Line = tuple[int, bytes]


@dataclass(slots=True)
class Tracebacks:
    """Takes tracebacks out of blocks of lines; the lines of several ranks may interleave if they carry the rank."""

    _open: dict[int | None, list[Line]] = field(default_factory=dict)
    _kept: dict[tuple[int | None, bytes], list[Line]] = field(default_factory=dict)

    def take(self, numbers: list[int], lines: list[bytes]) -> None:
        """Look at the lines of a block; without a traceback in it this costs one search."""
        if not self._open and _BEGINS not in b"\n".join(lines):
            return
        for number, line in zip(numbers, lines, strict=True):
            if self._open or _BEGINS in line:
                self._line(number, line)

    def _line(self, number: int, line: bytes) -> None:
        bare, rank = without_prefix(line)
        begun = self._open.get(rank)
        if bare.lstrip().startswith(_BEGINS):  # not the copy in the table of torchrun, "traceback : Traceback"
            if begun is None:
                if len(self._open) < _MOST_KEPT:
                    self._open[rank] = [(number, line)]
            else:
                begun.append((number, line))
        elif begun is not None:
            if len(begun) >= _MOST_LINES:
                del begun[_MOST_LINES // 2]
            begun.append((number, line))
            if not bare.startswith((b" ", b"\t")) and _EXCEPTION.match(bare):
                self._close(rank, bare)

    def _close(self, rank: int | None, exception: bytes) -> None:
        lines = self._open.pop(rank)
        key = (rank, exception[:200].translate(None, _HEXADECIMAL))
        if key not in self._kept and len(self._kept) < _MOST_KEPT:
            self._kept[key] = lines

    def all(self) -> set[Line]:
        """The lines kept; a traceback that the end of the log cut off counts as well."""
        return {line for lines in (*self._kept.values(), *self._open.values()) for line in lines}
