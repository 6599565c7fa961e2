"""The error in which a log ends, of a program in any language: what was said, and the first frame of its own code.

Stacks of C++ (glibc, glog, Open MPI, sanitizers, PyTorch), Java, Go and Rust name the innermost frame first. Python's
are in ``tracebacks``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.evidence.series import LogEvent, RunRecord
from engine.model.evidence import Source

_LAST = 3
"""Lines quoted from the end of the log."""
_NEAR_END = 5
"""Lines from the end among which one of level ERROR is what the log ends in."""
_STACK_LINES = 200
_QUOTE, _QUOTED_HEAD = 400, 180
_LEVEL = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b|^\W{0,3}(?:error|fatal|Error|Fatal)\b ?:")
_FRAMES = (
    re.compile(r"^\s*#\d+ +(?:0x[0-9a-f]+ in )?(?P<frame>[^\s#].*)"),
    re.compile(r"^\s*@ +0x[0-9a-f]+ +(?:\([\w ]+\) +)?(?P<frame>\S.*)"),
    re.compile(r"^(?:\[\S+\] )?\[ *\d+\] (?P<frame>\S+\(.*)"),
    re.compile(r"^frame #\d+: (?P<frame>.+?)(?: \+ 0x[0-9a-f]+.*)?$"),
    re.compile(r"^\s+at (?P<frame>[\w.$/]+\(.*\))"),
    re.compile(r"^\s+(?P<frame>/\S+\.go:\d+)"),
    re.compile(r"^\s+at (?P<frame>\S+\.rs:\d+:\d+)"),
)
_LIBRARY = re.compile(
    r"\(unknown\)|google::|^__|\b(?:std|c10|at|torch)::|/(?:libc|libpthread|libstdc\+\+|ld-linux)\b|^(?:abort|raise|gsignal)\b"
    r"|^(?:java|javax|jdk|sun|scala|org\.apache)\.|/go/src/|/rustc/"
)


def last_error(record: RunRecord) -> Source | None:
    """Where and how the log ends in an error, with the first own frame and its last lines; None if it does not."""
    events = [event for event in record.events if event.text.strip()]
    if record.end.kind == "crashed":
        head, rank, where = record.end.source.quote or "", record.end.source.rank, record.end.source.where
    elif record.end.kind == "unknown" and (event := _logged(record, events)) is not None:
        head, rank, where = event.text.strip(), event.rank, f"{record.read.file}:{event.line}"
    else:
        return None
    frame = _own_frame(events)
    last = " | ".join(event.text for event in events[-_LAST:])
    said = head[:_QUOTED_HEAD] + (f" at {frame[:_QUOTED_HEAD]}" if frame else "")
    quote = last[-_QUOTE:] if head in last and not frame else f"{said} … {last}"[:_QUOTE]
    return Source("signature", where, quote, rank=rank)


def _logged(record: RunRecord, events: Sequence[LogEvent]) -> LogEvent | None:
    """A line of level ERROR or worse at the very end, behind the last metric record."""
    after = max((int(one.lines[-1]) for one in record.series if one.lines is not None and len(one)), default=0)
    return next(
        (event for event in reversed(events[-_NEAR_END:]) if event.line > after and _LEVEL.search(event.text)), None
    )


def _own_frame(events: Sequence[LogEvent]) -> str:
    """The innermost frame that is not of a library, else the innermost; empty if no stack is among the last lines."""
    found = [match["frame"] for event in events[-_STACK_LINES:] if (match := _frame(event.text)) is not None]
    return next((frame for frame in found if not _LIBRARY.search(frame)), found[0] if found else "").strip()


def _frame(text: str) -> re.Match[str] | None:
    return next((match for form in _FRAMES if (match := form.match(text)) is not None), None)
