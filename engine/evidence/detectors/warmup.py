"""Length of the warm-up from the learning rates, and whether the trouble stands inside it, at its end or long after.

The warm-up ends where the rate reaches its peak (within 0.1 %) after a rise from below 90 % of it; a first record at
step 1 or 0 that is at the peak already means none. At its end: within a fifth of its length or three records. Long
after: more than three times its length. A trouble that comes late is no sign of a missing warm-up.

False positives: one-cycle schedules, whose rise takes a third of the run, read as a warm-up (which it is).
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.trend import trouble_step
from engine.evidence.detectors.view import View, median_interval
from engine.evidence.series import Series

_AT_PEAK, _BELOW = 0.999, 0.9
_NEAR, _LONG_AFTER = 0.2, 3.0
_LEAST = 8  # records that make "no warm-up" a statement


def detect_warmup(view: View, out: Collector) -> None:
    """State lr.warmup_steps, lr.spike_at_peak and lr.trouble_phase; must run after the detectors of the loss."""
    trouble = trouble_step(out)
    rate = view.finite("learning_rate")
    if rate is None or rate.values.max() <= 0:
        if trouble is not None:
            out.skip(messages.WARMUP, messages.NO_RATE)
        return
    reached = int(np.argmax(rate.values >= _AT_PEAK * rate.values.max()))
    seen = _seen_end(rate, reached)
    if seen is not None:
        out.judge(messages.WARMUP)
        out.say("lr.warmup_steps", seen, rate.source(reached), "the rate is at its peak from here on")
    if trouble is None:
        return
    end = view.context.warmup_steps if view.context.warmup_steps is not None else seen
    if end is None:
        if _still_rising(rate, reached) and trouble <= float(rate.steps[-1]):
            out.say("lr.spike_at_peak", False, rate.source(reached), "the rate is still rising")
            out.say("lr.trouble_phase", "inside", rate.source(reached), f"trouble at step {trouble:g}")
            return
        out.skip(messages.WARMUP, messages.WARMUP_UNSEEN)
        return
    _place(trouble, end, rate, reached, out)


def _seen_end(rate: Series, reached: int) -> float | None:
    """Return the step at which the warm-up ends, if the series shows it."""
    if reached == 0:
        return 0.0 if float(rate.steps[0]) <= 1 and len(rate) >= _LEAST else None
    if float(rate.values[0]) >= _BELOW * float(rate.values[reached]) or reached == len(rate) - 1:
        return None
    return float(rate.steps[reached]) if _rises(rate, reached) else None


def _rises(rate: Series, reached: int) -> bool:
    return bool((np.diff(rate.values[: reached + 1]) >= 0).mean() >= 0.9)


def _still_rising(rate: Series, reached: int) -> bool:
    return (
        reached == len(rate) - 1 >= 2 and float(rate.values[0]) < _BELOW * rate.values.max() and _rises(rate, reached)
    )


def _place(trouble: float, end: float, rate: Series, reached: int, out: Collector) -> None:
    near = max(_NEAR * end, 3 * (median_interval(rate.steps) or 0.0))
    note = f"trouble at step {trouble:g}, warm-up ends at {end:g}"
    source = rate.source(reached)
    out.say("lr.spike_at_peak", end > 0 and abs(trouble - end) <= near, source, note)
    if end <= 0:
        phase = "without"
    elif trouble < end - near:
        phase = "inside"
    elif trouble <= end + near:
        phase = "at_end"
    else:
        phase = "long_after" if trouble > max(_LONG_AFTER * end, end + near) else "after"
    out.say("lr.trouble_phase", phase, source, note)
