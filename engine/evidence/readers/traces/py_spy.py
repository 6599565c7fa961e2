"""Stacks of py-spy dump, one process or many in a file; the lines are passed on, and compared over all files."""

from __future__ import annotations

import re
from typing import IO

from engine.evidence.readers.lines import Limits, Notes, line_blocks
from engine.evidence.series import LogEvent, ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

FORMAT = "py_spy"
THREAD = re.compile(r'^\s*Thread (?P<id>0x[0-9a-fA-F]+|\d+) \((?P<state>[^)]*)\)(?:: "(?P<name>[^"]*)")?')
FRAME = re.compile(r"^\s+(?P<function>[\w<>.]+) \((?P<file>[^()]+):(?P<line>\d+)\)")
RUN = "stacks"
MOST_LINES = 50_000
# blanks of one line only: over a head of empty lines \s would look at each line from each line before it
_THREAD = re.compile(
    rb'^[ \t]*Thread (?:0x[0-9a-fA-F]+|\d+) \((?:active|idle)[^)\n]*\)(?:: "[^"\n]*")?[ \t\r]*$', re.MULTILINE
)
_FRAME = re.compile(rb"^[ \t]+[\w<>.]+ \([^()\n]+:\d+\)[ \t\r]*$", re.MULTILINE)


def recognises(head: bytes) -> bool:
    """Heads of threads and frames, which together are a good part of the lines."""
    lines = sum(1 for line in head.split(b"\n") if line.strip())
    threads, frames = len(_THREAD.findall(head)), len(_FRAME.findall(head))
    return threads > 0 and frames > 0 and 2 * (threads + frames) >= lines


def read(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """See ``Format``."""
    notes = Notes([])
    events: list[LogEvent] = []
    count = threads = 0
    for numbers, lines in line_blocks(stream, limits, notes):
        count = numbers[-1]
        for number, line in zip(numbers, lines, strict=True):
            text = line[: limits.event_chars].decode("utf-8", "replace").rstrip()
            if (thread := THREAD.match(text)) or FRAME.match(text):
                threads += thread is not None
                events.append(LogEvent(number, text))
        if len(events) > MOST_LINES:
            notes.add(f"stacks beyond line {numbers[-1]} were left out")
            break
    end = RunEnd("unknown", Source("measured", label, f"{threads} stacks of running processes"))
    return RunRecord(
        ReadNote(label, FORMAT, threads, count), end, events=tuple(events), run=RUN, not_understood=tuple(notes.texts)
    )
