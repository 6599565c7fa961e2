"""Memory that creeps up, its peak, and whether the peak follows the sequence length.

Creep: rank correlation of at least 0.8 with the step and 10 % more in the last window than in the first after
start-up (public tools use 10 to 20 %); 30 % in an excerpt.

False positives: a cache that fills up once (page cache, allocator) and then stays; longer batches late in a
run.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import first_level, last_level, spearman
from engine.evidence.series import Series
from engine.model.evidence import Source

_LONG, _RANK, _GROWTH, _SHORT_GROWTH = 12, 0.8, 0.10, 0.30


def detect_memory(view: View, out: Collector) -> None:
    """State memory.* of the device and host.ram_rising."""
    device = view.finite("gpu_memory_used")
    for fact, used in (("memory.rising", device), ("host.ram_rising", view.finite("host_memory_used"))):
        if used is not None and (verdict := _rising(used, out)) is not None:
            rising, source, note = verdict
            out.say(fact, rising, source, note)
    if device is not None:
        at = int(np.argmax(device.values))
        out.say("memory.peak_bytes", device.values[at], device.source(at))
        _with_length(view, device, out)


def _rising(used: Series, out: Collector) -> tuple[bool, Source, str] | None:
    """Return whether it creeps, with source and note; None if that cannot be said."""
    steady = used.take(slice(len(used) // 10, None))
    values = steady.values
    if len(values) < 4:
        out.skip(messages.MEMORY, messages.filled(messages.FEW_RECORDS, count=len(used), least=4))
        return None
    out.judge(messages.MEMORY)
    growth = last_level(values) / max(first_level(values), 1.0) - 1.0
    source, note = steady.source(len(steady) - 1), f"{used.name}: {growth:+.0%} from the first to the last window"
    if len(values) < _LONG:
        return (True, source, note) if (np.diff(values) > 0).all() and growth > _SHORT_GROWTH else None
    half = len(values) // 2
    # a cache that filled up is flat in the second half
    goes_on = last_level(values) > float(np.median(values[half : half + max(half // 4, 1)])) * (1 + _GROWTH / 5)
    return growth > _GROWTH and spearman(steady.steps, values) >= _RANK and goes_on, source, note


def _with_length(view: View, device: Series, out: Collector) -> None:
    length = view.finite("sequence_length")
    if length is None:
        return
    steps, at, of = np.intersect1d(device.steps, length.steps, return_indices=True)
    lengths = length.values[of]
    if len(steps) < 5 or float(lengths.max()) < 1.3 * float(lengths.min()):
        out.skip(messages.MEMORY_LENGTH, messages.SAME_LENGTHS)
        return
    rank = spearman(lengths, device.values[at])
    source = device.source(int(at[np.argmax(lengths)]))
    out.say("memory.peak_grows_with_length", rank >= _RANK, source, f"rank correlation {rank:.2f}")
