"""What an instrument shows of the GPUs of one host at one moment, and what stands out among them.

Thresholds. *Idle among busy*: at least 4 cards, the median at 90 % or more and exactly one at 10 % or less; ranks that
wait in a collective spin at 100 %, so the idle card is the one they wait for (labelled incident of 8 A100: 0 % at 68 W
beside 100 % at 85 W). *Slow clock*: slowest over fastest SM clock among cards at 50 % or more (gpumedic: below 0.85).
*Hot*: a card further above the median of its peers than 6 robust standard deviations and than 12 degrees; a rack's own
gradient stays below that. A card with ``ERR!`` in a cell has lost contact with the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import IO

from engine.evidence.readers.lines import Limits, Notes, text_within
from engine.evidence.series import LogEvent, ReadNote, RunEnd, RunRecord, Series
from engine.model.evidence import FactReading, FindingReading, Reading, Source, Value

MAX_BYTES = 64 << 20  # a snapshot has kilobytes; an exposition of thousands of targets some ten megabytes
_PEERS = 4
_BUSY, _SPINS, _IDLE = 50.0, 90.0, 10.0  # utilisation, %
_HOT_DEGREES, _HOT_DEVIATIONS = 12.0, 6.0
_MAD = 1.4826  # median absolute deviation to standard deviation of a normal distribution
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(slots=True)
class Gpu:
    """One card: percent, watts, degrees Celsius, MHz, MiB and counts; None where the instrument gives nothing."""

    name: str
    line: int = 0
    utilisation: float | None = None
    power: float | None = None
    temperature: float | None = None
    clock: float | None = None
    memory_total: float | None = None
    uncorrected: float | None = None
    corrected: float | None = None
    processes: int = 0
    fault: str = ""


def cell(text: str) -> float | None:
    """The number at the beginning of a cell with or without its unit; None for N/A, ERR! and the like."""
    found = _NUMBER.match(text.strip())
    return float(found[0]) if found is not None else None


def fact(name: str, value: Value, where: str, quote: str) -> FactReading:
    """A measured fact."""
    return FactReading(name, value, Source("measured", where, quote[:200]))


def finding(name: str, where: str, quote: str) -> FindingReading:
    """A finding that the instrument states."""
    return FindingReading(name, "present", Source("measured", where, quote[:200]))


def text_of(stream: IO[bytes], limits: Limits, notes: Notes) -> str:
    """The whole text, up to MAX_BYTES."""
    note = f"larger than {MAX_BYTES} bytes: only the beginning was read"
    return text_within(stream, limits, notes, MAX_BYTES, note)


def record(
    kind: str,
    label: str,
    count: int,
    lines: int,
    readings: Iterable[Reading],
    events: Iterable[LogEvent] = (),
    series: Iterable[Series] = (),
    end: RunEnd | None = None,
    notes: Iterable[str] = (),
) -> RunRecord:
    """The record of a machine's file; unless said otherwise it tells nothing of how a run ended."""
    end = end or RunEnd("unknown", Source("measured", label, "the state of a machine, not of a run"))
    note = ReadNote(label, kind, count, lines)
    return RunRecord(note, end, tuple(series), tuple(events), readings=tuple(readings), not_understood=tuple(notes))


def judge(gpus: Sequence[Gpu], label: str) -> list[Reading]:
    """What the cards of one host say of themselves and of each other."""
    return [*_faults(gpus, label), *_idle(gpus, label), *_clocks(gpus, label), *_heat(gpus, label), *_size(gpus, label)]


def _place(gpu: Gpu, label: str) -> str:
    return f"{label}:{gpu.line}" if gpu.line else label


def _faults(gpus: Sequence[Gpu], label: str) -> list[Reading]:
    found: list[Reading] = []
    for gpu in gpus:
        if gpu.fault:
            found.append(finding("device.hardware-errors", _place(gpu, label), f"GPU {gpu.name}: {gpu.fault}"))
        if gpu.uncorrected:
            quote = f"GPU {gpu.name}: {gpu.uncorrected:g} uncorrected memory errors since the last reset"
            found.append(finding("gpu.memory-errors", _place(gpu, label), quote))
    worst = max((gpu for gpu in gpus if gpu.corrected is not None), key=lambda gpu: gpu.corrected or 0.0, default=None)
    if worst is not None and worst.corrected is not None:
        quote = f"GPU {worst.name}: {worst.corrected:g} corrected memory errors"
        found.append(fact("gpu.ecc_corrected", worst.corrected, _place(worst, label), quote))
    return found


def _idle(gpus: Sequence[Gpu], label: str) -> list[Reading]:
    known = [(gpu.utilisation, gpu) for gpu in gpus if gpu.utilisation is not None]
    if len(known) < _PEERS:
        return []
    idle = [gpu for share, gpu in known if share <= _IDLE]
    level = median(share for share, _ in known)
    if level < _SPINS or len(idle) != 1:
        return [fact("gpu.one_idle", False, label, f"median utilisation of {len(known)} GPUs: {level:g} %")]
    odd = idle[0]
    power = "" if odd.power is None else f" at {odd.power:g} W"
    quote = f"GPU {odd.name}: {odd.utilisation:g} %{power}; the median of {len(known)} GPUs is {level:g} %"
    where = _place(odd, label)
    return [fact("gpu.one_idle", True, where, quote), fact("gpu.odd", odd.name, where, quote)]


def _clocks(gpus: Sequence[Gpu], label: str) -> list[Reading]:
    busy = [
        (gpu.clock, gpu)
        for gpu in gpus
        if gpu.clock and gpu.utilisation is not None and gpu.utilisation >= _BUSY
    ]  # fmt: skip
    if len(busy) < _PEERS:
        return []
    low, slow = min(busy, key=lambda item: item[0])
    high = max(clock for clock, _ in busy)
    quote = f"GPU {slow.name}: SM clock {low:g} MHz, the fastest {high:g} MHz"
    return [fact("gpu.clock_ratio", round(low / high, 3), _place(slow, label), quote)]


def _heat(gpus: Sequence[Gpu], label: str) -> list[Reading]:
    known = [(gpu.temperature, gpu) for gpu in gpus if gpu.temperature is not None and 0 < gpu.temperature <= 200]
    if not known:
        return []
    top, hot = max(known, key=lambda item: item[0])
    where, quote = _place(hot, label), f"GPU {hot.name}: {top:g} °C"
    found: list[Reading] = [fact("gpu.temperature", top, where, quote)]
    if len(known) >= _PEERS:
        level = median(degrees for degrees, _ in known)
        spread = _MAD * median(abs(degrees - level) for degrees, _ in known)
        odd = top - level > max(_HOT_DEGREES, _HOT_DEVIATIONS * spread)
        quote = f"{quote}, the median of {len(known)} GPUs {level:g} °C"
        found.append(fact("gpu.hotter_than_peers", odd, where, quote))
    return found


def _size(gpus: Sequence[Gpu], label: str) -> list[Reading]:
    found: list[Reading] = []
    sizes = [gpu.memory_total for gpu in gpus if gpu.memory_total]
    if sizes:
        gb = round(median(sizes) * 2**20 / 1e9, 1)
        found.append(fact("gpu.memory_gb", gb, label, f"{median(sizes):g} MiB a card"))
    first = next((gpu for gpu in gpus if gpu.name == "0"), None)
    # one process a card is the rule; more on card 0 than on any other are ranks that strayed there
    if first is not None and len(gpus) > 1 and first.processes > max(gpu.processes for gpu in gpus if gpu is not first):
        quote = f"{first.processes} compute processes on GPU 0"
        found.append(fact("memory.processes_on_gpu0", float(first.processes), label, quote))
    return found
