"""A message cut into what its writer says and what was pasted into it: log lines, tables, configurations."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LINES = 100_000
"""As many as a case document may hold."""

_FENCE = re.compile(r"\s*(```|~~~)")
_STAMP = re.compile(
    r"\s*[\[(]?(?:\d{4}-\d\d-\d\d|\d\d/\d\d/\d{2,4}|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d"
)
_TOOL = re.compile(
    r"Traceback \(most recent call last\)|  File \"|\s*[A-Za-z_.]*(?:Error|Exception|Warning)\b: "
    r"|\[?\S*rank\s?\d+\]?[:\]]|(?:srun|slurmstepd|NCCL|kernel|torchrun|E\d{4}|Killed|terminate called|ninja)\b[: ]"
    r"|\{['\"]\w+['\"]: |\S+:\d+(?::\d+)? \[\d+\] |\$ \S"
)
_LEVEL = re.compile(r"(?:^|[\s\[|:])(?:INFO|WARN|WARNING|ERROR|DEBUG|CRITICAL|FATAL)(?:[\s\]|:]|$)")
_STEP = re.compile(r"\b(?:global_?step|step|iter(?:ation)?|epoch|update)s?\b\W{0,3}\d", re.IGNORECASE)
_PAIR = re.compile(r"[\w/.-]{2,40}\s?[=:]\s?[-+]?(?:\d|nan\b|inf\b)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;|=:]+")
_CELLS = re.compile(r"[,\t|;]")
_NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?|nan|[-+]?inf", re.IGNORECASE)
_BARRED = re.compile(r"\s*\|.*\|\s*")
_LONGEST = 2_000


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
    """Cut a message. All between its first and last line that looks pasted was pasted; no line is lost."""
    lines = text.splitlines()[:MAX_LINES]
    if _is_document(text):
        return Parts("", tuple(lines))
    fences = [n for n, line in enumerate(lines) if _FENCE.match(line)]
    if fences:
        return _fenced(lines, fences)
    marked = _tables(lines) | {n for n, line in enumerate(lines) if looks_pasted(line)}
    if not marked:
        return Parts(text.strip())
    first, last = min(marked), max(marked)
    while last + 1 < len(lines) and lines[last + 1][:1] in (" ", "\t"):
        last += 1
    after = lines[last + 1 :]
    return Parts(
        "\n".join(lines[:first]).strip(), _as_rows(lines[first : last + 1]), "\n".join(after).strip(),
        bool(after) and not after[0].strip(),
    )  # fmt: skip


def _fenced(lines: list[str], fences: list[int]) -> Parts:
    first, last = fences[0], fences[-1] if len(fences) > 1 else len(lines)
    inside = [line for line in lines[first + 1 : last] if not _FENCE.match(line)]
    return Parts("\n".join(lines[:first]).strip(), _as_rows(inside), "\n".join(lines[last + 1 :]).strip(), apart=True)


def _is_document(text: str) -> bool:
    """JSON: an object or a list from the first character to the last."""
    bare = text.strip()
    return len(bare) > 2 and bare[0] + bare[-1] in ("{}", "[]") and '"' in bare


def looks_pasted(line: str) -> bool:
    """Whether a line is one of a log: a stamp, a level, a traceback, or a step with its numbers."""
    line = line[:_LONGEST]
    if _STAMP.match(line) or _TOOL.match(line) or _LEVEL.search(line):
        return True
    return bool(_STEP.search(line)) and (len(_PAIR.findall(line)) >= 2 or _is_row(line))


def _is_row(line: str) -> bool:
    """Names and numbers in turn and nothing else: "step 100 loss 2.1 lr 3e-4"."""
    words = _BETWEEN.split(line.strip())
    pairs = zip(words[::2], words[1::2], strict=False)
    return len(words) >= 4 and len(words) % 2 == 0 and all(
        name[:1].isalpha() and _NUMBER.fullmatch(number) for name, number in pairs
    )  # fmt: skip


def _tables(lines: list[str]) -> set[int]:
    """Lines of tables: two or more in a row with as many separators; one separator is enough between numbers alone."""
    counts = [len(_CELLS.findall(line[:_LONGEST])) for line in lines]
    found: set[int] = set()
    for n in range(len(lines) - 1):
        if counts[n] and counts[n] == counts[n + 1]:
            numbers = _all_numbers(lines[n + 1][:_LONGEST])
            if numbers or (counts[n] >= 2 and re.search(r"\d|---", lines[n + 1])):
                found |= {n, n + 1}
    return found


def _all_numbers(line: str) -> bool:
    cells = [cell for part in _CELLS.split(line) if (cell := part.strip())]
    return bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _as_rows(lines: list[str]) -> tuple[str, ...]:
    """A table with bars around its cells, as chats draw it, as comma-separated rows; anything else as it is."""
    if not all(_BARRED.fullmatch(line) for line in lines):
        return tuple(lines)
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    return tuple(",".join(cells) for cells in rows if not all(set(cell) <= set("-: ") for cell in cells))
