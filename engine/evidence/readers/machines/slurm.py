"""Slurm's records: ``sacct`` (``--parsable`` and wide) and ``scontrol show job`` or ``show node``.

The job's own row decides, its steps (``.batch``, ``.extern``, ``.0``) lend exit code and memory: a step is CANCELLED
because the job ended. Signals are those of the second number of ExitCode, or of a first number above 128. Where a table
holds several jobs, each is read; the last one tells how the run ended.
"""

from __future__ import annotations

import re
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.snapshot import cell, fact, finding, record, text_of
from engine.evidence.series import EndKind, RunEnd, RunRecord
from engine.model.evidence import Reading, Source

_STATES = {
    "TIMEOUT": "job.killed-by-scheduler", "DEADLINE": "job.killed-by-scheduler",
    "PREEMPTED": "job.killed-by-scheduler", "REQUEUED": "job.killed-by-scheduler",
    "OUT_OF_MEMORY": "host.memory-exhausted", "NODE_FAIL": "node.lost", "BOOT_FAIL": "node.lost",
}  # fmt: skip
_SIGNALS = {9: "host.process-killed", 11: "process.crashed-natively", 7: "process.crashed-natively",
            6: "process.crashed-natively", 4: "process.crashed-natively"}  # fmt: skip
_ENDS: dict[str, EndKind] = {
    "COMPLETED": "finished", "FAILED": "crashed", "OUT_OF_MEMORY": "crashed", "NODE_FAIL": "crashed",
    "CANCELLED": "cancelled", "TIMEOUT": "cancelled", "PREEMPTED": "cancelled", "DEADLINE": "cancelled",
}  # fmt: skip
_UNITS = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_SIZE = re.compile(r"^([\d.]+)([KMGT]?)[nc]?$")
_HEADER = re.compile(rb"^[ \t]*(?:JobID|JobIDRaw)\b.*\bState\b.*$", re.MULTILINE)
_TOKEN = re.compile(r"\b(\w+)=(\S+)")  # \b: a long word without "=" is looked at once
_RECORD = re.compile(rb"^(?:JobId=\d+|NodeName=\S+) ", re.MULTILINE)
_DOWN = re.compile(r"DOWN|FAIL|NOT_RESPONDING")


def read_sacct(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the rows under the header by its names."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    at = next((i for i, line in enumerate(lines) if _HEADER.match(line.encode())), len(lines) - 1)
    rows = [(number, row) for number, row in enumerate(_rows(lines[at:]), at + 1) if row]
    readings: list[Reading] = []
    end: RunEnd | None = None
    for number, row in rows:
        where, quote = f"{label}:{number}", " ".join(f"{key}={value}" for key, value in row.items() if value)
        job = "." not in row.get("JobID", row.get("JobIDRaw", ""))
        readings += _state(row.get("State", ""), where, quote) if job else []
        readings += _exit(row.get("ExitCode", ""), where, quote) if job else []
        if job:
            end = _end(row.get("State", ""), where) or end
    readings += _memory(rows, label)
    return record("sacct", label, len(rows), len(lines), readings, end=end, notes=notes.texts)


def _rows(lines: list[str]) -> list[dict[str, str]]:
    """One dict a line, empty for the header, its rule and broken rows."""
    head = lines[0] if lines else ""
    if "|" in head:
        names = head.split("|")
        cut = [line.split("|") for line in lines]
        return [{}] + [_row(names, cells) if len(cells) == len(names) else {} for cells in cut[1:]]
    # the wide form: the rule of dashes tells where the columns stand; names are set to either side of theirs
    rule = lines[1] if len(lines) > 1 else ""
    spans = [found.span() for found in re.finditer(r"-+", rule)]
    names = [head[start:stop].strip() for start, stop in spans]
    return [{}, {}] + [_row(names, [line[a:b].strip() for a, b in spans]) if line.strip() else {} for line in lines[2:]]


def _row(names: list[str], cells: list[str]) -> dict[str, str]:
    return {name.strip(): value.strip() for name, value in zip(names, cells, strict=True) if name.strip()}


def _state(state: str, where: str, quote: str) -> list[Reading]:
    word = state.split(" ")[0].rstrip("+")
    name = _STATES.get(word)
    # only a cancellation that names a user is a person's; "CANCELLED by 0" is root, the scheduler's own
    if name is None and re.match(r"CANCELLED\+? by [1-9]", state):
        name = "job.cancelled-by-person"
    return [finding(name, where, quote)] if name is not None else []


def _exit(text: str, where: str, quote: str) -> list[Reading]:
    found = re.match(r"^(\d{1,5}):(\d{1,5})$", text)
    if found is None or text == "0:0":
        return []
    code, signal = int(found[1]), int(found[2])
    signal = signal or (code - 128 if code > 128 else 0)
    readings: list[Reading] = [fact("run.exit_code", float(code or 128 + signal), where, quote)]
    if signal in _SIGNALS:
        readings.append(finding(_SIGNALS[signal], where, quote))
    return readings


def _end(state: str, where: str) -> RunEnd | None:
    kind = _ENDS.get(state.split(" ")[0].rstrip("+"))
    return RunEnd(kind, Source("measured", where, f"State {state}")) if kind is not None else None


def _memory(rows: list[tuple[int, dict[str, str]]], label: str) -> list[Reading]:
    """Peak memory of a step over what the job asked for a node."""
    asked = next((size for _, row in rows if (size := _bytes(row.get("ReqMem", "")))), None)
    peaks = [(size, number, row) for number, row in rows if (size := _bytes(row.get("MaxRSS", "")))]
    nodes = next((cell(row["NNodes"]) for _, row in rows if row.get("NNodes")), None) or 1.0
    if asked is None or not peaks or not 0 < asked / nodes < float("inf"):  # a damaged count of nodes
        return []
    peak, number, row = max(peaks, key=lambda item: item[0])
    ratio = peak / (asked / nodes)
    if ratio > 1.5:  # per core or per GPU, not per node: not comparable
        return []
    quote = f"MaxRSS {row['MaxRSS']} of one task, asked for {asked / nodes / 2**30:.0f} GiB a node"
    return [fact("host.ram_used_ratio", round(min(ratio, 1.0), 3), f"{label}:{number}", quote)]


def _bytes(text: str) -> float | None:
    found = _SIZE.match(text)
    return float(found[1]) * _UNITS[found[2]] if found is not None else None


def read_scontrol(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read ``Key=value`` records of jobs and nodes."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    readings: list[Reading] = []
    end: RunEnd | None = None
    count = 0
    for number, line in enumerate(lines, 1):
        tokens = dict(_TOKEN.findall(line))
        where, quote = f"{label}:{number}", line.strip()
        count += "JobId" in tokens or "NodeName" in tokens
        if "JobState" in tokens:
            readings += _state(tokens["JobState"], where, quote)
            end = _end(tokens["JobState"], where)
        elif _DOWN.search(tokens.get("State", "")):
            readings.append(finding("node.lost", where, quote))
        readings += _exit(tokens.get("ExitCode", ""), where, quote)
    return record("scontrol", label, count, len(lines), readings, end=end, notes=notes.texts)


SACCT = Format("sacct", lambda head: _HEADER.search(head[:8192]) is not None and _is_table(head), read_sacct)
SCONTROL = Format(
    "scontrol", lambda head: _RECORD.search(head) is not None and re.search(rb"\bState=|JobState=", head) is not None,
    read_scontrol,
)  # fmt: skip


def _is_table(head: bytes) -> bool:
    found = _HEADER.search(head[:8192])
    if found is None:
        return False
    return b"|" in found[0] or re.match(rb"\r?\n[- ]{10,}", head[found.end() :]) is not None
