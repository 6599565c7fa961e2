"""Loss spikes: a jump over the run's own recent level, measured in logarithms where the loss is positive.

Thresholds: 8 robust sigma and a ratio of 1.25 over the median of the 20 points before (among public tools the
pair is between z 6 and 8 with 1.5 x; logarithms make the noise of small batches symmetric, so a lower ratio
is safe). With fewer than 20 points: ratio 1.6, and a noise widened by 1 + 2/sqrt(m) for m differences seen.

False positives: a change of the data mix or of the batch size, a language switch in a curriculum, a resume
whose data order changed. Not counted: the start-up bump (first 5 % of a run that is seen from its beginning).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View, median_interval
from engine.evidence.detectors.windows import medians_before, middle_of_three, noise, noise_before
from engine.evidence.series import Floats, Series

_BEFORE, _SEEN = 20, 50
_SIGMAS, _RATIO = 8.0, 1.25
_SHORT, _SHORT_SIGMAS, _SHORT_RATIO = 20, 4.0, 1.6
_LEAST = 0.02  # of the first level
_SOLVED, _SOLVED_NATS = 0.1, 0.5  # below both, part of the first level and nats, a single batch may lie anywhere
_MOST = 1000  # episodes that are counted
_FLOOR = 0.01  # of a logarithm: 1 %, the rounding of logged losses and less than any spike


@dataclass(frozen=True, slots=True)
class Spike:
    """An episode above the level before it: indices of onset and peak, that level, and whether it came back."""

    onset: int
    peak: int
    ratio: float
    recovered: bool | None


def detect_spikes(view: View, out: Collector) -> None:
    """State loss.spike*; lr.spike_at_peak is the schedule's."""
    loss = view.finite("loss")
    if view.is_policy_loss():
        out.skip(messages.SPIKES, messages.POLICY_LOSS)
        return
    if loss is None or len(loss) < 4:
        if loss is None or not _pair(view, loss, out):
            out.skip(messages.SPIKES, messages.FEW_LOSSES)
        return
    if np.any(loss.values <= 0):
        out.skip(messages.SPIKES, messages.NOT_POSITIVE)
        return
    out.judge(messages.SPIKES)
    found = spikes(loss)
    if not found:
        if len(loss) >= 8:
            out.say("loss.spike", False, loss.source(len(loss) - 1), f"{len(loss)} records")
            out.say("loss.spike_count", 0.0, loss.source(len(loss) - 1))
        return
    worst = max(found, key=lambda spike: spike.ratio)
    source = loss.source(worst.peak)
    out.say("loss.spike", True, source, f"{worst.ratio:.2f} times the level before it")
    out.say("loss.spike_step", float(loss.steps[worst.onset]), loss.source(worst.onset))
    out.say("loss.spike_ratio", worst.ratio, source)
    out.say("loss.spike_count", float(len(found)), source)
    if worst.recovered is not None:
        out.say("loss.spike_recovered", worst.recovered, loss.source(len(loss) - 1))


def _pair(view: View, loss: Series, out: Collector) -> bool:
    """Two or three records: a jump counts if the gradient norm at least doubled at the same step."""
    norm = view.finite("grad_norm")
    if norm is None or len(loss) < 2 or np.any(loss.values <= 0):
        return False
    by_step = dict(zip(norm.steps.tolist(), norm.values.tolist(), strict=True))
    for at in range(1, len(loss)):
        before, now = (by_step.get(float(loss.steps[i])) for i in (at - 1, at))
        ratio = float(loss.values[at] / loss.values[at - 1])
        if before and now and now >= 2 * before and ratio > _SHORT_RATIO:
            note = f"{ratio:.2f} times the record before, gradient norm {now / before:.2f} times"
            out.say("loss.spike", True, loss.source(at), note)
            out.say("loss.spike_step", float(loss.steps[at]), loss.source(at))
            out.say("loss.spike_ratio", ratio, loss.source(at))
            return True
    return False


def spikes(loss: Series) -> list[Spike]:
    """Return the episodes; the values must be positive."""
    logs = np.log(loss.values)
    bases = medians_before(logs, _BEFORE)
    high = logs - bases > _limits(logs)
    # near zero a ratio means little: a spike is also a part of what the run had to learn
    first = float(np.median(loss.values[:3]))
    high &= loss.values - np.exp(bases) > _LEAST * first
    high &= loss.values > _RATIO * min(_SOLVED * first, _SOLVED_NATS)
    high[: _start(loss)] = False
    onsets = np.flatnonzero(high)
    found: list[Spike] = []
    end = 0
    while (at := int(np.searchsorted(onsets, end))) < len(onsets) and len(found) < _MOST:
        onset = int(onsets[at])
        spike, end = _episode(logs, onset, float(bases[onset]))
        found.append(spike)
    return found


def _start(loss: Series) -> int:
    """Skip the start-up bump where the beginning of the run is seen: a learning rate that ramps up throws the loss."""
    interval = median_interval(loss.steps) or 1.0
    from_start = float(loss.steps[0]) <= 2 * interval
    return max(2, len(loss) // 20) if from_start and len(loss) >= _SHORT else 2


def _limits(logs: Floats) -> Floats:
    """Return for each point the height over its base that makes it a spike."""
    long = len(logs) >= _SHORT
    seen = np.clip(np.arange(len(logs)) - 1, 1, _SEEN)  # differences the noise is estimated from
    # a few quiet points by chance make no quiet run: the whole run's noise counts as well
    least = max(_FLOOR, 0.7 * noise(logs)) if len(logs) >= 8 else _FLOOR
    spread = np.maximum(noise_before(logs, _SEEN), least) * (1 + 2 / np.sqrt(seen))
    ratio = _RATIO if long else _SHORT_RATIO
    sigmas = _SIGMAS if long else np.where(seen < 8, _SHORT_SIGMAS, 1.5 * _SHORT_SIGMAS)
    limits: Floats = np.maximum(np.log(ratio), sigmas * spread)
    return limits


def _episode(logs: Floats, onset: int, base: float) -> tuple[Spike, int]:
    """Follow the spike until three records lie near the level before it; return it and where to look on."""
    reach = 64
    while True:
        part = logs[onset : onset + reach]
        highest = np.maximum.accumulate(part)
        low = base + 0.2 * (highest[:-2] - base)
        back = (part[:-2] < low) & (middle_of_three(part) < low)
        back[:1] = False
        if back.any():
            end = int(np.argmax(back))
            peak = int(np.argmax(part[: end + 1]))
            return Spike(onset, onset + peak, float(np.exp(part[peak] - base)), True), onset + end
        if onset + reach >= len(logs):
            break
        reach *= 4
    peak = int(np.argmax(part))
    height = float(part[peak] - base)
    stuck = len(part) - 1 - peak >= 3 and float(np.median(part[-3:])) > base + 0.5 * height
    return Spike(onset, onset + peak, float(np.exp(height)), False if stuck else None), len(logs)
