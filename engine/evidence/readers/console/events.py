"""The lines of a log that are no metric records: a bounded choice of those worth keeping.

Memory does not grow with the lines that are not kept: the last lines, and lines that sound like trouble or
like a checkpoint or a resume, up to the limits.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from engine.evidence.readers.lines import Limits, without_prefix
from engine.evidence.series import LogEvent

_LETTERS = bytes(code if 97 <= code <= 122 else 32 for code in range(256))
# of one lower-cased word; phrases are for the signatures that read the kept lines
_TROUBLE = re.compile(
    rb"error|exception|traceback|fatal|fail|kill|abort|segment|memory|^oom|^nan$|^inf$|overflow|timeout|^timed$"
    rb"|watchdog|^xid|^ecc|nccl|warn|assert|cannot|denied|^space$|sigterm|signal|corrupt|mismatch|hang|stuck"
    rb"|resum|continuing|checkpoint|interrupt|cancel|exit|detected|skip|straggl|slow|invalid|expected|missing"
)
_RESUMED = re.compile(
    r"resum(?:ed|ing)(?: training)? from|continuing training from (?:checkpoint|global step)"
    r"|successfully loaded checkpoint|loaded checkpoint .* at iteration",
    re.IGNORECASE,
)
_SAVED = re.compile(
    r"successfully saved checkpoint at iteration\s+(\d{1,15})|Saving model checkpoint to \S*checkpoint-(\d{1,15})\b"
)


@dataclass(slots=True)
class Events:
    """Keeps the lines worth keeping: the first and the latest marked ones, and the tail."""

    limits: Limits
    first: list[tuple[int, bytes]] = field(default_factory=list)
    late: deque[tuple[int, bytes]] = field(default_factory=deque)
    tail: deque[tuple[int, bytes]] = field(default_factory=deque)
    resumed_at: list[int] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    dropped: int = 0

    def __post_init__(self) -> None:
        """Size the rings; a quarter of the marked lines is kept for the latest."""
        self.late = deque(maxlen=max(self.limits.marked_events // 4, 1))
        self.tail = deque(maxlen=self.limits.tail_events)

    def take(self, numbers: list[int], lines: list[bytes], places: list[int]) -> None:
        """Keep what is worth keeping of ``lines[places]``."""
        chosen = marked({lines[at] for at in places})  # filler lines repeat: look at each text once
        for at in places if chosen else ():
            if lines[at] in chosen:
                self._mark(numbers[at], lines[at])
        for at in places[-self.limits.tail_events :]:
            if lines[at].strip():
                self.tail.append((numbers[at], lines[at][: self.limits.event_chars]))

    def _mark(self, number: int, line: bytes) -> None:
        cut = line[: self.limits.event_chars]
        text = cut.decode("utf-8", "replace")
        if _RESUMED.search(text):
            self.resumed_at.append(number)
        saved = _SAVED.search(text)
        if saved is not None:
            self.saved.append(float(saved[1] or saved[2]))
        if len(self.first) < self.limits.marked_events - self.limits.marked_events // 4:
            self.first.append((number, cut))
        else:
            self.dropped += len(self.late) == self.late.maxlen
            self.late.append((number, cut))

    def all(self) -> tuple[LogEvent, ...]:
        """Return the kept lines in order, without launcher prefixes."""
        kept: dict[tuple[int, bytes], None] = dict.fromkeys([*self.first, *self.late, *self.tail])
        events = []
        for number, line in sorted(kept, key=lambda item: item[0]):
            bare, rank = without_prefix(line)
            events.append(LogEvent(number, bare.decode("utf-8", "replace").rstrip(), rank))
        return tuple(events)


def marked(texts: set[bytes]) -> set[bytes]:
    """Return the texts with a word of trouble, checkpoint or resume.

    The distinct words of a block are few: each is judged once, and most blocks have none to look for.
    """
    words = set(b"\n".join(texts).lower().translate(_LETTERS).split())
    telling = {word for word in words if _TROUBLE.search(word) is not None}
    if not telling:
        return set()
    return {text for text in texts if not telling.isdisjoint(text.lower().translate(_LETTERS).split())}
