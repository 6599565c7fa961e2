"""``nvidia-smi -q``: one indented block of ``Key : Value`` a card. Old drivers say Throttle, new ones Event Reasons.

A line is known by the end of its path (section and key), so that other versions and odd words in front of a key do no
harm. Idle and a software power cap are normal states of a healthy card and say nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.snapshot import Gpu, cell, fact, finding, judge, record, text_of
from engine.evidence.series import RunRecord
from engine.model.evidence import Reading

_CARD = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)\s*$")
_PAIR = re.compile(r"^(\s+)(\S.*?)\s*:\s(.*)$")
_SECTION = re.compile(r"^(\s+)(\S.*?)\s*$")
_Get = Callable[..., tuple[str, int]]
_SLOWDOWNS = ("hw slowdown", "hw thermal slowdown", "hw power brake slowdown")


def read_query(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read all blocks; a file may be cut and hold fewer blocks than cards."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    gpus: list[Gpu] = []
    readings: list[Reading] = []
    block: dict[str, tuple[str, int]] = {}
    path: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        card = _CARD.match(line)
        if card is not None:
            readings += _block(gpus[-1], block, label) if gpus else []
            gpus.append(Gpu(str(len(gpus)), number))
            block, path = {}, []
        elif gpus:
            _line(line, number, path, block)
    readings += _block(gpus[-1], block, label) if gpus else []
    readings += judge(gpus, label)
    return record("nvidia_smi_q", label, len(gpus), len(lines), readings, notes=notes.texts)


def _line(line: str, number: int, path: list[tuple[int, str]], block: dict[str, tuple[str, int]]) -> None:
    """Keep a value under its path, in small letters: ``ecc errors/volatile/dram correctable``."""
    pair = _PAIR.match(line)
    section = pair or _SECTION.match(line)
    if section is None:
        return
    indent, key = len(section[1]), section[2].lower()
    while path and path[-1][0] >= indent:
        path.pop()
    if pair is not None:
        block["/".join([*(name for _, name in path), key])] = (pair[3].strip(), number)
    path.append((indent, key))


def _block(gpu: Gpu, block: dict[str, tuple[str, int]], label: str) -> list[Reading]:
    """Fill the card from its block, and return what the block states outright."""

    def get(*ends: str) -> tuple[str, int]:
        return next((value for path, value in block.items() if path.endswith(ends)), ("", gpu.line))

    gpu.utilisation = cell(get("utilization/gpu")[0])
    gpu.temperature = cell(get("gpu current temp")[0])
    gpu.power = cell(get("power draw", "instantaneous power draw")[0])
    gpu.clock = cell(get("/clocks/sm", "clocks/sm")[0])
    gpu.memory_total = cell(get("fb memory usage/total")[0])
    gpu.uncorrected = _sum(block, "ecc errors/volatile/", ("uncorrectable", "double bit/total", "uncorrectable parity"))
    gpu.corrected = _sum(block, "ecc errors/aggregate/", ("dram correctable", "sram correctable", "single bit/total"))
    return [*_slowdown(gpu, block, label), *_remap(gpu, get, label), *_width(gpu, get, label), *_reset(gpu, get, label)]


def _sum(block: dict[str, tuple[str, int]], section: str, ends: tuple[str, ...]) -> float | None:
    counts = [cell(value) for path, (value, _) in block.items() if section in path and path.endswith(ends)]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _slowdown(gpu: Gpu, block: dict[str, tuple[str, int]], label: str) -> list[Reading]:
    known = [(path, value, line) for path, (value, line) in block.items() if path.endswith(_SLOWDOWNS)]
    active = [(path, line) for path, value, line in known if value.lower() == "active"]
    if active:
        path, line = active[-1]
        return [fact("gpu.slowdown", True, f"{label}:{line}", f"GPU {gpu.name}: {path.rsplit('/', 1)[-1]} is active")]
    if known:
        return [fact("gpu.slowdown", False, f"{label}:{known[0][2]}", f"GPU {gpu.name}: no hardware slowdown active")]
    return []


def _remap(gpu: Gpu, get: _Get, label: str) -> list[Reading]:
    found: list[Reading] = []
    pending, line = get("remapped rows/pending")
    if pending in {"Yes", "No"}:
        quote = f"GPU {gpu.name}: Remapped Rows, Pending {pending}"
        found.append(fact("gpu.remap_pending", pending == "Yes", f"{label}:{line}", quote))
    failed, line = get("remapping failure occurred")
    if failed == "Yes":
        quote = f"GPU {gpu.name}: a row could not be remapped"
        found.append(finding("gpu.memory-errors", f"{label}:{line}", quote))
    return found


def _width(gpu: Gpu, get: _Get, label: str) -> list[Reading]:
    most, (width, line) = cell(get("link width/max")[0]), get("link width/current")
    now = cell(width)
    if not most or not now:
        return []
    quote = f"GPU {gpu.name}: PCIe link width {now:g} of {most:g}"
    return [fact("gpu.pcie_width_ratio", min(now / most, 1.0), f"{label}:{line}", quote)]


def _reset(gpu: Gpu, get: _Get, label: str) -> list[Reading]:
    needed, line = get("reset required")
    if needed != "Yes":
        return []
    return [finding("device.hardware-errors", f"{label}:{line}", f"GPU {gpu.name}: the driver asks for a reset")]


def _recognises(head: bytes) -> bool:
    return b"NVSMI LOG" in head or (b"Attached GPUs" in head and b"\nGPU 0000" in head)


SMI_QUERY = Format("nvidia_smi_q", _recognises, read_query)
