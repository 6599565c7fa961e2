"""Kernel lines from ``dmesg``, the journal, syslog, ``/dev/kmsg`` or a crash dump, in all their forms of time.

An Xid storm is one event: lines of one card, code and second are counted, the first is kept. Xid 13, 31 and 43 are
faults of the program first, so only the codes of the hardware become the fact ``gpu.xid``, and only where the log holds
a single one of them. A task that is blocked in a file system is told with the module that its stack names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import IO

import re2

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, line_blocks
from engine.evidence.readers.machines.snapshot import fact, finding, record
from engine.evidence.series import LogEvent, RunRecord
from engine.model.evidence import Reading

_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_PREFIX = re.compile(
    rb"^(?:\w+ *:\w+ *: )?(?:"
    rb"\[ *(?P<uptime>\d+\.\d{6})\] ?(?:\[ *[TC]\d+\] )?"
    rb"|\[(?P<date>" + _DAY + rb" " + _MONTH + rb" [ \d]\d \d\d:\d\d:\d\d \d{4})\] ?"
    rb"|(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.,]?\d*(?:[+-]\d\d:?\d\d|Z)? (?:\S+ kernel: (?:\[ *\d+\.\d+\] )?)?"
    rb"|(?P<syslog>" + _MONTH + rb" [ \d]\d \d\d:\d\d:\d\d) \S+ kernel: (?:\[ *\d+\.\d+\] )?"
    rb"|\d+,\d+,(?P<boot>\d+),[^;\n]*;"
    rb"|<\d+>\[ *(?P<dump>\d+\.\d+)\] ?"
    rb")"
)
# a bare ISO time also begins the lines of many programs: it counts only with a facility, or with "kernel:" after it
_KERNEL = re.compile(
    rb"^\w+ +:\w+ +: |^(?:\w+ *:\w+ *: )?\[ *\d+\.\d{6}\] |^\[" + _DAY + rb" " + _MONTH + rb" [ \d]\d "
    rb"|^\S+ \S+ kernel: |^" + _MONTH + rb" [ \d]\d [\d:]{8} \S+ kernel: |^\d+,\d+,\d+,[^;\n]*;|^<\d+>\[ *\d+\.\d+\]"
)
_XID = re.compile(rb"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d{1,6})")
_SXID = re.compile(rb"SXid \(PCI:([0-9A-Fa-f:.]+)\): (\d{1,6}),")
_BLOCKED = re.compile(rb"task (\S+):\d+ blocked for more than \d+ seconds")
_FRAME = re.compile(rb"^\s+(?!\?)(\S+)\+0x[0-9a-f]+/0x[0-9a-f]+ \[(\w+)\]")
_FILE_SYSTEMS = frozenset(
    b"mmfslinux mmfs26 lustre ptlrpc lnet nfs nfsv3 nfsv4 sunrpc ceph libceph fuse beegfs wekafsio cifs".split()
)
# RE2: the time of an alternation of forty words does not depend on their number
_WORTH = re2.compile(
    rb"(?i)error|fail|fatal|kill|oom|xid|hang|hung|stuck|lockup|stall|blocked|timeout|timed out|panic|bug:|oops|throttl"
    rb"|offline|link (?:is )?down|lost|reset|uncorrect|corrupt|limit|segfault|protection fault|read-only|not responding"
    rb"|nvlink|nvswitch|fallen|remap|watchdog|drop|refus|denied|unable|cannot|can't|out of"
)
# seen on healthy hosts: a peer-memory client that closes, a switch that is opened, an interface that comes up
_NOISE = re.compile(rb"peer-?mem.*invalid context|nvidia-nvswitch\d+: open|link becomes ready|entered \w+ mode")
_HARDWARE = frozenset({48, 62, 64, 74, 79, 92, 94, 95, 109, 110, 119, 120, 136, 140, 143, *range(144, 151)})
_FRAMES = 80  # lines after a blocked task in which its stack stands
_KIND_LINES = 3


@dataclass(slots=True)
class _Log:
    """What is gathered while streaming; bounded by kinds of lines, not by lines."""

    limits: Limits
    label: str
    lines: int = 0
    kept: list[tuple[int, bytes]] = field(default_factory=list)
    kinds: dict[bytes, int] = field(default_factory=dict)
    xids: dict[tuple[bytes, int, bytes], list[int]] = field(default_factory=dict)
    blocked: list[tuple[int, bytes]] = field(default_factory=list)
    stalls: dict[tuple[bytes, bytes], list[int]] = field(default_factory=dict)
    left_out: int = 0

    def take(self, number: int, line: bytes) -> None:
        """Read one line."""
        self.lines = number
        prefix = _PREFIX.match(line)
        text = line[prefix.end() :] if prefix is not None else line
        xid = (_XID.search(text) or _SXID.search(text)) if b"Xid (" in text else None
        if xid is not None:
            time = next((value for value in prefix.groups() if value), b"") if prefix is not None else b""
            count = self.xids.setdefault((xid[1], int(xid[2]), time.split(b".")[0]), [number, 0])
            count[1] += 1
            if count[1] == 1:
                self._keep(number, text)
            return
        task = _BLOCKED.search(text) if b" blocked for " in text else None
        if task is not None:
            self.blocked = [(number, task[1])]
        elif self.blocked and number - self.blocked[0][0] <= _FRAMES:
            self._frame(text)
        if _WORTH.search(text) and not _NOISE.search(text):
            kind = re.sub(rb"[0-9A-Fa-f]{2,}|\d", b"#", text[:160])
            seen = self.kinds.get(kind, 0)
            if seen < _KIND_LINES and len(self.kinds) < self.limits.marked_events:
                self.kinds[kind] = seen + 1
                self._keep(number, text)
            else:
                self.left_out += 1

    def _frame(self, text: bytes) -> None:
        frame = _FRAME.match(text)
        if frame is not None and frame[2] in _FILE_SYSTEMS:
            number, task = self.blocked.pop()
            self.stalls.setdefault((task, frame[2]), []).append(number)

    def _keep(self, number: int, text: bytes) -> None:
        if len(self.kept) < 2 * self.limits.marked_events:
            self.kept.append((number, text[: self.limits.event_chars]))
        else:
            self.left_out += 1

    def readings(self) -> list[Reading]:
        """State the code of the hardware, and the file systems in which tasks are blocked."""
        found: list[Reading] = []
        codes = {code for _, code, _ in self.xids if code in _HARDWARE}
        if len(codes) == 1:
            code = codes.pop()
            pci, _, _ = next(key for key in self.xids if key[1] == code)
            events = [count for key, count in self.xids.items() if key[1] == code]
            quote = f"Xid {code} on {pci.decode()}: {len(events)} events in {sum(count for _, count in events)} lines"
            found.append(fact("gpu.xid", float(code), f"{self.label}:{events[0][0]}", quote))
        if self.stalls:
            (task, module), lines = max(self.stalls.items(), key=lambda item: len(item[1]))
            quote = (
                f"{task.decode(errors='replace')} blocked in the file system ({module.decode()}), {len(lines)} times"
            )
            found.append(finding("io.blocked-process", f"{self.label}:{lines[0]}", quote))
            found.append(finding("storage.not-responding", f"{self.label}:{lines[0]}", quote))
        return found

    def events(self) -> list[LogEvent]:
        """The kept lines; the first of a storm says how many it stands for."""
        storms = {first: count for first, count in self.xids.values() if count > 1}
        return [
            LogEvent(number, text.decode("utf-8", "replace") + _times(storms.get(number, 1)))
            for number, text in self.kept
        ]  # fmt: skip


def _times(count: int) -> str:
    return f" [{count} lines in this second]" if count > 1 else ""


def read_kernel_log(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the lines in one pass, in bounded memory."""
    notes = Notes([])
    log = _Log(limits, label)
    for numbers, lines in line_blocks(stream, limits, notes):
        for number, line in zip(numbers, lines, strict=True):
            log.take(number, line)
    if log.left_out:
        notes.add(f"{log.left_out} lines that repeat others were counted, not kept")
    return record(
        "kernel_log", label, len(log.xids), log.lines, log.readings(), log.events(), notes=notes.texts
    )  # fmt: skip


def _recognises(head: bytes) -> bool:
    """At least three of five of the first lines look like the kernel's."""
    lines = [line for line in head.replace(b"\r", b"").split(b"\n")[:60] if line.strip()]
    kernel = sum(_KERNEL.match(line) is not None for line in lines)
    return kernel > 0 and kernel * 5 >= len(lines) * 3


KERNEL_LOG = Format("kernel_log", _recognises, read_kernel_log)
