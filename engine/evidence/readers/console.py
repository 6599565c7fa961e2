"""Console logs of any tool, streamed: metric records to series, the other lines to a bounded choice of events.

Memory does not grow with the lines that are not kept: the last lines, and lines that sound like trouble or
like a checkpoint or a resume, up to the limits.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.ending import run_end
from engine.evidence.readers.hf_console import HfConsole
from engine.evidence.readers.lines import Limits, Notes, line_blocks, without_prefix
from engine.evidence.readers.megatron import Megatron
from engine.evidence.series import LogEvent, ReadNote, RunRecord

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
class _Events:
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

    def take(
        self,
        numbers: list[int],
        lines: list[bytes],
        places: list[int],
        chosen: set[bytes],
        megatron: Megatron,
    ) -> None:
        """Keep what is worth keeping of these lines."""
        for at in places if chosen else ():
            if lines[at] in chosen:
                self._mark(numbers[at], lines[at], megatron)
        for at in places[-self.limits.tail_events :]:
            if lines[at].strip():
                self.tail.append((numbers[at], lines[at][: self.limits.event_chars]))

    def _mark(self, number: int, line: bytes, megatron: Megatron) -> None:
        megatron.event(line, number)
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


def read_console(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read a text log; a log without metric records gives events only (format ``text``)."""
    notes = Notes([])
    builder = SeriesBuilder(label)
    megatron, hugging_face, events = Megatron(builder), HfConsole(builder), _Events(limits)
    last = 0
    for numbers, lines in line_blocks(stream, limits, notes):
        rest = megatron.take(numbers, lines)
        distinct = {lines[at] for at in rest}  # filler lines repeat: look at each text once
        if any(map(hugging_face.concerns, distinct)):
            rest = hugging_face.take(numbers, lines, rest)
            distinct = {lines[at] for at in rest}
        events.take(numbers, lines, rest, marked(distinct), megatron)
        last = numbers[-1]
    hugging_face.finish()
    return _record(label, last, builder, (megatron, hugging_face), events, notes)


def marked(texts: set[bytes]) -> set[bytes]:
    """Return the texts with a word of trouble, checkpoint or resume.

    The distinct words of a block are few: each is judged once, and most blocks have none to look for.
    """
    words = set(b"\n".join(texts).lower().translate(_LETTERS).split())
    telling = {word for word in words if _TROUBLE.search(word) is not None}
    if not telling:
        return set()
    return {text for text in texts if not telling.isdisjoint(text.lower().translate(_LETTERS).split())}


def _record(
    label: str,
    last: int,
    builder: SeriesBuilder,
    grammars: tuple[Megatron, HfConsole],
    events: _Events,
    notes: Notes,
) -> RunRecord:
    megatron, hugging_face = grammars
    series, remarks = builder.build()
    for remark in [*remarks, *hugging_face.remarks]:
        notes.add(remark)
    if events.dropped:
        notes.add(f"{events.dropped} marked lines beyond {events.limits.marked_events} were left out of the events")
    config = {**megatron.config, **hugging_face.config}
    config.pop("loss", None)
    config.pop("memory line", None)
    if len(events.saved) > 1:
        config["save_steps"] = float(np.median(np.abs(np.diff(events.saved))))
    kept = events.all()
    after = max(megatron.last_line, hugging_face.last_line)
    axis = next((one for one in series if one.name in {"loss", "learning_rate", "grad_norm"}), None)
    formats = [grammar.name for grammar in grammars if grammar.records]
    records = megatron.records + hugging_face.records
    return RunRecord(
        read=ReadNote(label, "+".join(formats) or "text", records, last),
        end=run_end(kept, after, hugging_face.finished_line, label),
        series=series,
        events=kept,
        config=config,
        segments=segments_of(axis, events.resumed_at, hugging_face.new_run_at),
        not_understood=tuple(notes.texts),
    )
