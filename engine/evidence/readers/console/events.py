"""The lines of a log that are no metric records: a bounded choice of those worth keeping.

Kept are lines that a signature hits, lines that sound like trouble, a checkpoint or a resume, whole tracebacks, and the
tail. Lines that differ only in numbers are of one kind, of which the first few are kept and the rest is counted: a
warning at every step does not push out the one line that matters. Memory does not grow with what is not kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from engine.evidence.readers.columns import Shape, in_order, shapes
from engine.evidence.readers.console.tracebacks import Tracebacks
from engine.evidence.readers.lines import Limits, without_prefix
from engine.evidence.series import Ints, LogEvent

_LETTERS = bytes(code if 97 <= code <= 122 else 32 for code in range(256))
_HEXADECIMAL = b"0123456789abcdefABCDEF"
# of one lower-cased word; phrases are for the signatures that read the kept lines
_TROUBLE = re.compile(
    rb"error|exception|traceback|fatal|fail|kill|abort|segment|memory|^oom|^nan$|^inf$|overflow|timeout|^timed$"
    rb"|watchdog|^xid|^ecc|nccl|warn|assert|cannot|denied|^space$|sigterm|signal|corrupt|mismatch|hang|stuck"
    rb"|resum|continuing|checkpoint|interrupt|cancel|exit|detected|skip|straggl|slow|invalid|expected|missing"
)
_NOTED = (b"esum", b"heckpoint", b"ontinuing")  # one of these is in what the next two find
_RESUMED = re.compile(
    rb"resum(?:ed|ing)(?: training)? from|continuing training from (?:checkpoint|global step)"
    rb"|successfully loaded checkpoint|loaded checkpoint .* at iteration",
    re.IGNORECASE,
)
_SAVED = re.compile(
    rb"successfully saved checkpoint at iteration\s+(\d{1,15})|Saving model checkpoint to \S*checkpoint-(\d{1,15})\b"
)
_KIND_LINES = 3  # lines kept of one kind beside the latest: enough to see what varies
_KIND_CHARS = 300  # what tells kinds apart; what follows is often data
_Key = tuple[tuple[int, ...], int | None, bytes]


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
    _hit: dict[_Key, _Kind] = field(default_factory=dict)
    _marked: dict[_Key, _Kind] = field(default_factory=dict)
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
        where = [numbers[at] for at in places]
        self._tracebacks.take(where, texts)
        hits = self.limits.scan.hits(texts) if self.limits.scan is not None else {}
        groups = shapes(texts)
        telling = [groups[at] for at in sorted(marked([shape.text for shape in groups]))]
        chosen = np.zeros(len(texts), dtype=np.bool_)
        chosen[[*hits, *in_order(telling).tolist()]] = True
        seen = self._seen + np.cumsum(chosen)
        together = self._together(telling) if telling else {}
        for at in np.flatnonzero(chosen).tolist() if not together else sorted(hits):
            self._keep(where[at], texts[at], hits.get(at, ()), int(seen[at]))
        for key, index in together.items():
            alone = index if not hits else index[[at not in hits for at in index.tolist()]]
            if len(alone):
                self._keep_all(key, [(where[at], texts[at]) for at in alone.tolist()], seen[alone])
        self._note(telling, where)
        self._seen = int(seen[-1])
        for at in range(max(len(texts) - self.limits.tail_events, 0), len(texts)):
            if texts[at].strip():
                self._tail[where[at], texts[at]] = bool(chosen[at])
        while len(self._tail) > self.limits.tail_events:
            del self._tail[next(iter(self._tail))]

    def _together(self, groups: list[Shape]) -> dict[_Key, Ints]:
        """The lines of each kind, if there is room for all kinds; none if the lines must be looked at one by one.

        What differs in numbers only is of one kind, unless the number is the rank of a launcher's prefix.
        """
        if len(self._marked) + len(groups) > self._kinds():
            return {}
        kinds: dict[_Key, list[Ints]] = defaultdict(list)
        for shape in groups:
            first = shape.rows[0]
            if without_prefix(first)[0] is not first:
                return {}
            kinds[_key((), None, first)].append(shape.index)
        return {key: np.sort(np.concatenate(index)) for key, index in kinds.items()}

    def _keep_all(self, key: _Key, lines: list[tuple[int, bytes]], seen: Ints) -> None:
        """Keep lines of one kind, as ``_keep`` would one by one."""
        kind = self._marked.setdefault(key, _Kind())
        fresh = _KIND_LINES - len(kind.kept)
        kind.kept += lines[:fresh]
        if len(lines) > fresh:
            kind.beyond += len(lines) - fresh
            kind.latest = lines[-1]
            self.dropped += int((seen[fresh:] > self.limits.marked_events).sum())

    def _keep(self, number: int, line: bytes, hits: tuple[int, ...], seen: int) -> None:
        bare, rank = without_prefix(line)
        key = _key(hits, rank, bare)
        kinds, most = (self._hit, 2 * self.limits.marked_events) if hits else (self._marked, self._kinds())
        kind = kinds.get(key)
        if kind is None:
            if len(kinds) >= most:
                # so many kinds that the text varies in words: count by what was hit, keep the latest of the others
                if not hits:
                    self.dropped += len(self._late) == self._late.maxlen
                    self._late.append((number, line))
                    return
                key = (hits, None, b"")
            kind = kinds.setdefault(key, _Kind())
        if len(kind.kept) < _KIND_LINES:
            kind.kept.append((number, line))
        else:
            kind.beyond += 1
            self.dropped += seen > self.limits.marked_events
            kind.latest = (number, line)

    def _kinds(self) -> int:
        return max((self.limits.marked_events - self.limits.marked_events // 4) // (_KIND_LINES + 1), 1)

    def _note(self, groups: list[Shape], where: list[int]) -> None:
        """Resumes and saves. Lines of one shape say the same, each with its own numbers."""
        saved: list[tuple[int, float]] = []
        for shape in groups:
            if not any(part in shape.text for part in _NOTED):
                continue
            first, lines = shape.rows[0], [where[at] for at in shape.index.tolist()]
            if _RESUMED.search(first):
                self.resumed_at += lines
            match = _SAVED.search(first)
            if match is not None:
                place = slice(*match.span(match.lastindex or 0))
                saved += zip(lines, (float(row[place]) for row in shape.rows), strict=True)
        self.saved += [step for _, step in sorted(saved)]

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


def _key(hits: tuple[int, ...], rank: int | None, bare: bytes) -> _Key:
    """What tells kinds of lines apart."""
    return hits, rank, bare[:_KIND_CHARS].translate(None, _HEXADECIMAL)


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
