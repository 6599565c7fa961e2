"""Lines that ``srun --label`` cut: it passes on 1024 bytes at a time and puts its label in front of the rest as well.

The cut may fall anywhere, even inside ``[default3]:``, the prefix of torchrun. Where nearly every labelled line has
that prefix, one without it goes on from the line before it with the same label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LABEL = re.compile(rb"\s*(\d{1,6}): ")
_PREFIX = re.compile(rb"\[default\d+\]:")
_PREFIX_CUT = re.compile(rb"\[(?:d(?:e(?:f(?:a(?:u(?:l(?:t(?:\d+\]?)?)?)?)?)?)?)?)?$")
_USUAL = 0.6
_PROBE = 100  # lines that are asked for a label before all are


def whole_lines(numbers: Sequence[int], lines: list[bytes]) -> tuple[Sequence[int], list[bytes]]:
    """Return the lines with the pieces of cut ones joined; a whole line has the number of its first piece."""
    if not any(_LABEL.match(line) for line in lines[:_PROBE]):
        return numbers, lines
    labels = [_LABEL.match(line) for line in lines]
    labelled = [line[label.end() :] for line, label in zip(lines, labels, strict=True) if label is not None]
    if not labelled or sum(_PREFIX.match(text) is not None for text in labelled) < _USUAL * len(labelled):
        return numbers, lines
    kept: list[int] = []
    joined: list[list[bytes]] = []
    latest: dict[bytes, int] = {}  # label -> place of its latest line
    for at, (line, label) in enumerate(zip(lines, labels, strict=True)):
        text = line if label is None else line[label.end() :]
        before = None if label is None else latest.get(label[1])
        fresh = _PREFIX.match(text) is not None or _PREFIX_CUT.match(text) is not None
        if before is not None and not fresh and text.strip():
            joined[before].append(text)
            continue
        if label is not None:
            latest[label[1]] = len(joined)
        joined.append([line])
        kept.append(numbers[at])
    return kept, [b"".join(pieces) for pieces in joined]
