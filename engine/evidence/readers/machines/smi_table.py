"""The table that plain ``nvidia-smi`` prints, before and after driver 530: three lines a card, then the processes.

Cells are found by their form, not by their column, so that both widths and cut names read alike.
"""

from __future__ import annotations

import re
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.snapshot import Gpu, cell, judge, record, text_of
from engine.evidence.series import LogEvent, RunRecord

_CARD = re.compile(r"^\|\s*(\d+)\s+(\S.*?)\|\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+|ERR!|N/A)\s+\S+\s*\|\s*(\S+)\s*\|")
_TEMPERATURE = re.compile(r"^\|\s*\S+\s+(\d+)C\b")
_POWER = re.compile(r"(\d+(?:\.\d+)?)W\s*/")
_MEMORY = re.compile(r"\d+MiB\s*/\s*(\d+)MiB")
_UTILISATION = re.compile(r"\|\s*(\d+)%\s")
_PROCESS = re.compile(r"^\|\s*(\d+)\s+\S+\s+\S+\s+\d+\s+C\s|^\|\s*(\d+)\s+\d+\s+C\s")
_LOST = re.compile(r"GPU is lost|Unable to determine the device handle|fallen off the bus|Unknown Error")


def read_table(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read one or several tables (``nvidia-smi -l``): the last one counts."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    gpus: dict[str, Gpu] = {}
    current: Gpu | None = None
    events = []
    for number, line in enumerate(lines, 1):
        if "NVIDIA-SMI" in line:
            gpus, current = {}, None
        if _LOST.search(line):
            events.append(LogEvent(number, line.strip()[: limits.event_chars]))
        card = _CARD.match(line)
        process = _PROCESS.match(line)
        if card is not None:
            current = Gpu(card[1], number, uncorrected=cell(card[4]), fault=_fault(line))
            gpus[card[1]] = current
        elif process is not None:
            gpu = gpus.get(process[1] or process[2])
            if gpu is not None:
                gpu.processes += 1
        elif current is not None and line.startswith("|"):
            _second(line, current)
    if not gpus:
        notes.add("the table of nvidia-smi holds no card")
    return record("nvidia_smi", label, len(gpus), len(lines), judge([*gpus.values()], label), events, notes=notes.texts)


def _second(line: str, gpu: Gpu) -> None:
    """Take temperature, power, memory and utilisation from the second line of a card."""
    memory = _MEMORY.search(line)
    if memory is None and "ERR!" not in line:
        return
    for name, pattern in (("temperature", _TEMPERATURE), ("power", _POWER), ("utilisation", _UTILISATION)):
        found = pattern.search(line)
        if found is not None:
            setattr(gpu, name, float(found[1]))
    gpu.memory_total = float(memory[1]) if memory is not None else None
    gpu.fault = gpu.fault or _fault(line)


def _fault(line: str) -> str:
    return "nvidia-smi shows ERR! in a cell" if "ERR!" in line else ""


def _recognises(head: bytes) -> bool:
    return b"NVIDIA-SMI" in head and b"Driver Version" in head and b"| Bus-Id" in head


SMI_TABLE = Format("nvidia_smi", _recognises, read_table)
