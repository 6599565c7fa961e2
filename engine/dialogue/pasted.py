"""A message cut into what its writer says and what was pasted into it: log lines, tables, configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.evidence.pasted import FENCE, as_rows, kinds_of

MAX_LINES = 100_000
"""As many as a case document may hold."""


@dataclass(frozen=True, slots=True)
class Parts:
    """``before`` and ``after`` are the writer's own words around what was ``pasted``.

    ``apart`` says that an empty line or a fence stands before ``after``: it is no further line of the log then.
    """

    before: str
    pasted: tuple[str, ...] = ()
    after: str = ""
    apart: bool = False


def split(text: str) -> Parts:
    """Cut a message. All between its first and last line that looks pasted was pasted; no line is lost.

    A report is cut more finely (:func:`engine.evidence.pasted.cut`): words between two lines of a log are read there.
    Here the "no" of a log that asked "continue?" would answer the question.
    """
    lines = text.splitlines()[:MAX_LINES]
    if len(lines) == 1 and not any(map(str.isalpha, text)):
        return Parts(text.strip())  # "1, 2, 3" names options
    fences = [n for n, line in enumerate(lines) if FENCE.match(line)]
    if fences:
        return _fenced(lines, fences)
    marked = [n for n, kind in enumerate(kinds_of(lines)) if kind]
    if not marked:
        return Parts(text.strip())
    first, last = marked[0], marked[-1]
    while last + 1 < len(lines) and lines[last + 1][:1] in (" ", "\t"):
        last += 1
    after = lines[last + 1 :]
    apart = bool(after) and not after[0].strip()
    return Parts(_words(lines[:first]), tuple(as_rows(lines[first : last + 1])), _words(after), apart)


def _fenced(lines: list[str], fences: list[int]) -> Parts:
    first, last = fences[0], fences[-1] if len(fences) > 1 else len(lines)
    inside = [line for line in lines[first + 1 : last] if not FENCE.match(line)]
    return Parts(_words(lines[:first]), tuple(as_rows(inside)), _words(lines[last + 1 :]), apart=True)


def _words(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip()
