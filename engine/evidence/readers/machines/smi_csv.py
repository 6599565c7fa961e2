"""``nvidia-smi --query-gpu=... --format=csv``: fields named in the header with their units, which the cells may repeat.

With ``-l`` the rows of all cards repeat over time; then the mean over the cards is a series, and each card is judged
by its median. The fields of a row are those of ``nvidia-smi --help-query-gpu``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime
from statistics import median
from typing import IO

import numpy as np

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.snapshot import Gpu, cell, fact, judge, record, text_of
from engine.evidence.series import RunRecord, Series
from engine.model.evidence import FactReading, Reading

_FIELD = re.compile(r"\s*([a-z][\w.]*)(?:\s*\[([^\]]*)\])?\s*$")
_HEADER = re.compile(
    rb"^(?:index|name|uuid|timestamp|gpu_bus_id|[a-z_]+\.[a-z_.]+)(?: \[[^\]]*\])?"
    rb"(?:, ?[a-z][\w.]*(?: \[[^\]]*\])?)+\s*$",
    re.MULTILINE,
)
_KNOWN = (b"utilization.", b"power.", b"temperature.", b"memory.", b"clocks", b"ecc.", b"pcie.", b"remapped_rows.")
_COLUMNS = {
    "utilisation": ("utilization.gpu",),
    "power": ("power.draw", "power.draw.instant", "power.draw.average"),
    "temperature": ("temperature.gpu",),
    "clock": ("clocks.sm", "clocks.current.sm", "clocks.gr", "clocks.current.graphics"),
    "memory_total": ("memory.total",),
    "uncorrected": ("ecc.errors.uncorrected.volatile.total", "ecc.errors.uncorrected.volatile.dram"),
    "corrected": ("ecc.errors.corrected.aggregate.total", "ecc.errors.corrected.volatile.total"),
}
_SLOWDOWNS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
_SERIES = {
    "utilisation": ("gpu_utilisation", "%"),
    "power": ("gpu_power", "W"),
    "temperature": ("gpu_temperature", "C"),
}


def read_csv(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the rows after the header; rows of another width are left out with a remark."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    at = next((i for i, line in enumerate(lines) if _HEADER.match(line.encode())), len(lines))
    names = [_name(part) for part in lines[at].split(",")] if at < len(lines) else []
    samples: dict[str, list[tuple[float, Gpu]]] = defaultdict(list)
    readings: list[Reading] = []
    taken = 0
    for number, line in enumerate(lines[at + 1 :], at + 2):
        cells = [part.strip() for part in line.split(",")]
        if not line.strip() or _HEADER.match(line.encode()):
            continue
        if len(cells) != len(names):
            notes.add(f"line {number} has {len(cells)} cells and the header {len(names)}: such rows were left out")
            continue
        row = dict(zip(names, cells, strict=True))
        key = row.get("index") or row.get("pci.bus_id") or row.get("gpu_bus_id") or row.get("uuid") or str(taken)
        samples[key].append((_time(row.get("timestamp", "")), _gpu(key, number, row)))
        readings += _states(row, key, f"{label}:{number}")
        taken += 1
    gpus = [_typical(found) for found in samples.values()]
    readings += judge(gpus, label)
    return record(
        "nvidia_smi_csv", label, taken, len(lines), _once(readings), (), _series(samples, label), None, notes.texts
    )


def _name(part: str) -> str:
    found = _FIELD.match(part)
    return found[1] if found is not None else part.strip()


def _gpu(name: str, line: int, row: dict[str, str]) -> Gpu:
    gpu = Gpu(name, line)
    for attribute, columns in _COLUMNS.items():
        values = [cell(row[column]) for column in columns if column in row]
        setattr(gpu, attribute, next((value for value in values if value is not None), None))
    if any("ERR!" in value or "GPU is lost" in value or "Unknown Error" in value for value in row.values()):
        gpu.fault = "nvidia-smi reports an error in a cell"
    return gpu


def _states(row: dict[str, str], name: str, where: str) -> list[Reading]:
    found: list[Reading] = []
    slow = {key: value for key, value in row.items() if key.endswith(_SLOWDOWNS)}
    if slow:
        active = sorted(key.rsplit(".", 1)[-1] for key, value in slow.items() if value == "Active")
        quote = f"GPU {name}: {', '.join(active) or 'no hardware slowdown'}"
        found.append(fact("gpu.slowdown", bool(active), where, quote))
    now, most = cell(row.get("pcie.link.width.current", "")), cell(row.get("pcie.link.width.max", ""))
    if now and most:
        quote = f"GPU {name}: PCIe link width {now:g} of {most:g}"
        found.append(fact("gpu.pcie_width_ratio", min(now / most, 1.0), where, quote))
    pending = row.get("remapped_rows.pending", "")
    if pending in {"Yes", "No", "0", "1"}:
        found.append(fact("gpu.remap_pending", pending in {"Yes", "1"}, where, f"GPU {name}: pending {pending}"))
    return found


def _once(readings: list[Reading]) -> list[Reading]:
    """One reading a fact: the one that says trouble (true, or the smallest ratio), else the first."""
    best: dict[str, Reading] = {}
    rest: list[Reading] = []
    for one in readings:
        if not isinstance(one, FactReading):
            rest.append(one)
            continue
        known = best.get(one.fact)
        worse = one.value is True or (one.fact == "gpu.pcie_width_ratio" and _less(one.value, known))
        if known is None or (worse and isinstance(known, FactReading) and known.value is not True):
            best[one.fact] = one
    return [*best.values(), *rest]


def _less(value: object, known: Reading | None) -> bool:
    other = known.value if isinstance(known, FactReading) else None
    return isinstance(value, float) and isinstance(other, float) and value < other


def _typical(found: list[tuple[float, Gpu]]) -> Gpu:
    """The card with the median of each measure, and the last counts."""
    last = found[-1][1]
    for attribute in ("utilisation", "power", "temperature", "clock"):
        values = [value for _, gpu in found if (value := getattr(gpu, attribute)) is not None]
        setattr(last, attribute, median(values) if values else None)
    last.fault = next((gpu.fault for _, gpu in found if gpu.fault), "")
    return last


def _time(text: str) -> float:
    try:
        return datetime.strptime(f"{text.strip()} +0000", "%Y/%m/%d %H:%M:%S.%f %z").timestamp()
    except ValueError:
        return float("nan")


def _series(samples: dict[str, list[tuple[float, Gpu]]], label: str) -> list[Series]:
    """The mean over the cards at each second; steps are seconds since the first row."""
    rows = [(time, gpu) for found in samples.values() for time, gpu in found if np.isfinite(time)]
    start = min((time for time, _ in rows), default=0.0)
    result = []
    for attribute, (name, unit) in _SERIES.items():
        at: dict[float, list[float]] = defaultdict(list)
        for time, gpu in rows:
            value = getattr(gpu, attribute)
            if value is not None:
                at[float(round(time - start))].append(value)
        if len(at) > 1:
            steps = np.array(sorted(at))
            result.append(Series(name, steps, np.array([np.mean(at[step]) for step in steps]), unit, label))
    return result


def _recognises(head: bytes) -> bool:
    found = _HEADER.search(head[:8192])
    return found is not None and any(name in found[0] for name in _KNOWN)


SMI_CSV = Format("nvidia_smi_csv", _recognises, read_csv)
