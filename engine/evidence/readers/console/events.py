"""The lines of a log that are no metric records: a bounded choice of those worth keeping.

Kept are lines that a signature hits, lines that sound like trouble, a checkpoint or a resume, whole tracebacks, and the
tail. Lines that differ only in numbers are of one kind, of which the first few are kept and the rest is counted: a
warning at every step does not push out the one line that matters. Memory does not grow with what is not kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from engine.evidence.readers.console.tracebacks import Tracebacks
from engine.evidence.readers.lines import Limits, without_prefix
from engine.evidence.series import LogEvent

_LETTERS = bytes(code if 97 <= code <= 122 else 32 for code in range(256))
_HEXADECIMAL = b"0123456789abcdefABCDEF"
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
_KIND_LINES = 3  # lines kept of one kind beside the latest: enough to see what varies
_KIND_CHARS = 300  # what tells kinds apart; what follows is often data


@dataclass(frozen=True, slots=True)
class Repeated(LogEvent):
    """The latest line of a kind: it stands for ``count`` lines, all of the kind but the first few, which are kept.

    A line that is kept as one of the last of the log, and that the latest of its kind stands for, has the count 0.
    """

    count: int = 1


@dataclass(slots=True)
class _Kind:
    """Lines of one rank that differ in numbers only and that the same signatures hit."""

    kept: list[tuple[int, bytes]] = field(default_factory=list)
    beyond: int = 0
    latest: tuple[int, bytes] = (0, b"")


@dataclass(slots=True)
class Events:
    """Keeps the lines worth keeping; those that signatures hit (``limits.scan``) before others."""

    limits: Limits
    resumed_at: list[int] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    dropped: int = 0
    _seen: int = 0
    _hit: dict[tuple[object, ...], _Kind] = field(default_factory=dict)
    _marked: dict[tuple[object, ...], _Kind] = field(default_factory=dict)
    _late: deque[tuple[int, bytes]] = field(default_factory=deque)
    _tail: dict[tuple[int, bytes], bool] = field(default_factory=dict)
    _tracebacks: Tracebacks = field(default_factory=Tracebacks)

    def __post_init__(self) -> None:
        """Size the ring: a quarter of the marked lines is kept for the latest."""
        self._late = deque(maxlen=max(self.limits.marked_events // 4, 1))

    def take(self, numbers: Sequence[int], lines: Sequence[bytes], places: Sequence[int]) -> None:
        """Keep what is worth keeping of ``lines[places]``."""
        if not places:
            return
        chars = self.limits.event_chars
        texts = [lines[at] for at in places]
        if max(map(len, texts)) > chars:
            texts = [text[:chars] for text in texts]
        self._tracebacks.take([numbers[at] for at in places], texts)
        hits = self.limits.scan.hits(texts) if self.limits.scan is not None else {}
        chosen = marked(texts).union(hits)
        for at in sorted(chosen):
            self._keep(numbers[places[at]], texts[at], hits.get(at, ()))
        for at in range(max(len(texts) - self.limits.tail_events, 0), len(texts)):
            if texts[at].strip():
                self._tail[numbers[places[at]], texts[at]] = at in chosen
        while len(self._tail) > self.limits.tail_events:
            del self._tail[next(iter(self._tail))]

    def _keep(self, number: int, line: bytes, hits: tuple[int, ...]) -> None:
        self._note(number, line)
        self._seen += 1
        bare, rank = without_prefix(line)
        key: tuple[object, ...] = (hits, rank, bare[:_KIND_CHARS].translate(None, _HEXADECIMAL))
        kinds, most = (self._hit, 2 * self.limits.marked_events) if hits else (self._marked, self._kinds())
        kind = kinds.get(key)
        if kind is None:
            if len(kinds) >= most:
                # so many kinds that the text varies in words: count by what was hit, keep the latest of the others
                if not hits:
                    self.dropped += len(self._late) == self._late.maxlen
                    self._late.append((number, line))
                    return
                key = (hits,)
            kind = kinds.setdefault(key, _Kind())
        if len(kind.kept) < _KIND_LINES:
            kind.kept.append((number, line))
        else:
            kind.beyond += 1
            self.dropped += self._seen > self.limits.marked_events
            kind.latest = (number, line)

    def _kinds(self) -> int:
        return max((self.limits.marked_events - self.limits.marked_events // 4) // (_KIND_LINES + 1), 1)

    def _note(self, number: int, line: bytes) -> None:
        if not (b"esum" in line or b"heckpoint" in line or b"ontinuing" in line):
            return
        text = line.decode("utf-8", "replace")
        if _RESUMED.search(text):
            self.resumed_at.append(number)
        saved = _SAVED.search(text)
        if saved is not None:
            self.saved.append(float(saved[1] or saved[2]))

    def all(self) -> tuple[LogEvent, ...]:
        """Return the kept lines in order, without launcher prefixes."""
        kinds = [*self._hit.values(), *self._marked.values()]
        kept = {line for kind in kinds for line in kind.kept}
        # lines of the tail that were counted with their kind count no second time
        repeats = {line: 0 for line, counted in self._tail.items() if counted and line not in kept}
        repeats |= dict.fromkeys(repeats.keys() & set(self._late), 1)
        repeats |= {kind.latest: kind.beyond for kind in kinds if kind.beyond}
        kept.update(repeats, self._late, self._tail, self._tracebacks.all())
        return tuple(_event(line, repeats.get(line)) for line in sorted(kept, key=lambda item: item[0]))


def _event(line: tuple[int, bytes], count: int | None) -> LogEvent:
    number, raw = line
    bare, rank = without_prefix(raw)
    text = bare.decode("utf-8", "replace").rstrip()
    return LogEvent(number, text, rank) if count is None else Repeated(number, text, rank, count)


def marked(lines: list[bytes]) -> set[int]:
    """Return the places of the lines with a word of trouble, checkpoint or resume.

    The distinct words of a block are few: each is judged once, and then found again where it stands.
    """
    text = b" " + b"\n".join(lines).lower().translate(_LETTERS) + b" "
    telling = [word for word in set(text.split()) if _TROUBLE.search(word) is not None]
    if not telling:
        return set()
    ends = list(accumulate(len(line) + 1 for line in lines))  # of the blank behind each line; the one in front counts
    places: set[int] = set()
    for word in telling:
        at = text.find(b" " + word + b" ")
        while at >= 0:
            place = bisect_right(ends, at)
            places.add(place)
            at = text.find(b" " + word + b" ", ends[place])
    return places
