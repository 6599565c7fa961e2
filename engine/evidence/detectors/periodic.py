"""Pauses of the step time and dips of the GPU utilisation that come at a regular distance.

At least four outliers whose distances agree within 10 % in three of four cases; together they cost 2 % of the time, and
a quarter of a second each. The period is compared with
the intervals the run is known to have: a match within 10 % names what probably causes it.

False positives: evaluation or checkpoint pauses that are planned (named by the match); a sampling period of
the monitor that beats with the step time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.throughput import without_evaluations
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import MAD_TO_SIGMA
from engine.evidence.series import Floats, Series

_LEAST, _SAME, _AGREE, _MATCH = 4, 0.10, 0.75, 0.10
_SIGMAS, _SLOWER, _IDLER = 6.0, 1.3, 0.75
_COST, _PAUSE_SECONDS = 0.02, 0.25


def detect_periodic(view: View, out: Collector) -> None:
    """State step_time.periodic/period/dip_matches and gpu.util_*."""
    time = view.finite("step_time")
    if time is not None:
        _pauses(view, without_evaluations(view, time), out)
    use = view.finite("gpu_utilisation")
    if use is not None:
        _utilisation(view, use, out)


def _pauses(view: View, time: Series, out: Collector) -> None:
    if len(time) < 12:
        out.skip(messages.PAUSES, messages.filled(messages.FEW_RECORDS, count=len(time), least=12))
        return
    out.judge(messages.PAUSES)
    usual = float(np.median(time.values))
    spread = MAD_TO_SIGMA * float(np.median(np.abs(time.values - usual)))
    slow = time.values > max(_SLOWER * usual, usual + _SIGMAS * spread)
    slow[0] = False  # start-up
    lost = float((time.values[slow] - usual).sum())
    costly = lost >= _COST * float(time.values.sum()) and lost >= _PAUSE_SECONDS * int(slow.sum())
    period = _period(time.steps, slow) if costly else None
    source = time.source(int(np.flatnonzero(slow)[-1]) if slow.any() else len(time) - 1)
    out.say("step_time.periodic", period is not None, source, f"{int(slow.sum())} slow records of {len(time)}")
    if period is not None:
        out.say("step_time.period", period, source, "steps")
        _match(view, period, time, out)


def _match(view: View, period: float, one: Series, out: Collector) -> None:
    near = [
        (abs(interval - period) / interval, order, name)
        for order, (name, interval) in enumerate(view.context.intervals.items())
        if name != "logging" and interval > 0 and abs(interval - period) <= _MATCH * interval
    ]
    if near:
        _, _, name = min(near)
        note = f"period {period:g}, {name} every {view.context.intervals[name]:g} steps"
        out.say("step_time.dip_matches", name, one.source(len(one) - 1), note)


def _period(steps: Floats, marked: NDArray[np.bool_]) -> float | None:
    """Return the median distance between onsets of marked stretches if it is regular."""
    onsets = np.flatnonzero(marked & ~np.concatenate([[False], marked[:-1]]))
    if len(onsets) < _LEAST or marked.mean() > 0.5:
        return None
    gaps = np.diff(steps[onsets])
    period = float(np.median(gaps))
    record = float(np.median(np.diff(steps)))
    if period < 2 * record:
        return None
    agree = np.abs(gaps - period) <= max(_SAME * period, 1e-9)
    return period if float(agree.mean()) >= _AGREE else None


def _utilisation(view: View, use: Series, out: Collector) -> None:
    lowest = int(np.argmin(use.values))
    out.judge(messages.UTILISATION)
    whole = 100.0 if float(use.values.max()) > 1.5 else 1.0  # monitors give percent, some exporters a share
    out.say("gpu.util_mean", float(use.values.mean()) / whole, use.source(len(use) - 1), "mean over the records")
    out.say("gpu.util_min", float(use.values[lowest]) / whole, use.source(lowest))
    if len(use) < 12:
        out.skip(messages.DIPS, messages.filled(messages.FEW_RECORDS, count=len(use), least=12))
        return
    usual = float(np.median(use.values))
    low = use.values < _IDLER * usual
    period = _period(use.steps, low)
    source = use.source(int(np.flatnonzero(low)[-1]) if low.any() else len(use) - 1)
    out.say(
        "gpu.util_periodic_drop",
        period is not None,
        source,
        f"{int(low.sum())} records below {_IDLER:.0%} of the usual",
    )
    if period is not None:
        time = view.finite("step_time")
        if time is not None:
            seconds = period * float(np.median(time.values))
            out.say("gpu.util_drop_period", seconds, source, f"{period:g} steps")
        elif view.raw("loss", "learning_rate") is None:  # a monitor alone counts in seconds
            out.say("gpu.util_drop_period", period, source, "seconds")
        _match(view, period, use, out)
