"""How a run ended, from the last lines of its log.

Only marks after the last metric record count: what came before was survived. A crash outranks the signals
that the launcher sends to the other ranks because of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType

from engine.evidence.series import EndKind, LogEvent, RunEnd
from engine.model.evidence import Source

_MARKS: MappingProxyType[EndKind, re.Pattern[str]] = MappingProxyType({
    "stopped": re.compile(
        r"\[exiting program (?:after|at)\b|^KeyboardInterrupt|\bKeyboardInterrupt$"
        r"|[Ee]arly stopping (?:trigg|activ)"
    ),
    "crashed": re.compile(
        r"^Traceback \(most recent call last\)|^\w[\w.]*(?:Error|Exception)\b(?::|$)|[Ss]egmentation fault|core dumped"
        r"|\bexitcode\s*:\s*(?:[1-9]|-6|-9|-11)\b|\bSIGABRT\b|\bSIGSEGV\b|Killed\s*$|oom[-_ ]kill|OutOfMemoryError"
        r"|terminate called after throwing|ChildFailedError|^Fatal Python error|\bBus error\b"
        r"|srun: error: \S+ tasks? [\d,-]+: (?:Exited with exit code [1-9]|Out Of Memory|Killed|Aborted)"
        r"|^(?:panic|fatal error): |^thread '.*' panicked at|^Exception in thread \"|\+ Exception Group Traceback"
        r"|^F\d{4} \d\d:\d\d:\d\d|\bCheck failed: |: Assertion .* failed\.$|==ERROR: AddressSanitizer"
        r"|^\S+: (?:line )?\d+: .*(?:command not found|unbound variable|[Ss]yntax error)|^g?make(?:\[\d+\])?: \*\*\* "
        r"|exits with return code = (?:[1-9]|-6|-9|-11)\b|Process group watchdog thread terminated with exception"
    ),
    "cancelled": re.compile(
        r"\bSIGTERM\b|exitcode\s*:\s*-15\b|CANCELLED AT|DUE TO (?:TIME LIMIT|PREEMPTION)|\bscancel\b|signal 15\b"
    ),
    "finished": re.compile(
        r"\[after training is done\]|[Tt]raining (?:completed|complete|finished|done)\b"
        r"|'train_runtime'|Trainer\.fit. stopped"
    ),
})  # fmt: skip


def run_end(events: Sequence[LogEvent], after_line: int, finished_line: int, label: str) -> RunEnd:
    """Return how the run ended; ``finished_line`` is the line of a summary record (0: none)."""
    found: dict[EndKind, LogEvent] = {}
    for event in events:
        if event.line < after_line:
            continue
        for kind, mark in _MARKS.items():
            if mark.search(event.text):
                found.setdefault(kind, event)
    # a traceback that ends in KeyboardInterrupt is a person, not a fault
    if "stopped" in found and "crashed" in found and "KeyboardInterrupt" in found["stopped"].text:
        del found["crashed"]
    for kind in ("crashed", "stopped", "cancelled", "finished"):
        if kind in found:
            event = found[kind]
            source = Source("measured", f"{label}:{event.line}", event.text[:200], rank=event.rank)
            return RunEnd(kind, source)
    if finished_line and finished_line >= after_line:
        return RunEnd("finished", Source("measured", f"{label}:{finished_line}", "train_runtime"))
    return RunEnd("unknown", Source("measured", label, "no mark of an end after the last metric record"))
