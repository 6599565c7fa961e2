"""Learning rate: zero while training goes on, frozen, restarted, and a spike where the warm-up ends.

A last learning rate of 0 is how linear and cosine schedules end, a first one of 0 how a warm-up begins. A
constant learning rate is a schedule of its own: it is called frozen only if the steps are evidently skipped
(gradient norm not finite), or if an earlier run of the same file moved it.

False positives: ``zero`` on a learning rate printed with four decimals (0.0000 for 5e-5); ``restarted`` on
schedules with planned restarts.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors.view import Collector, View
from engine.evidence.series import Series, falls


def detect_schedule(view: View, out: Collector) -> None:
    """State lr.*; must run after the detectors of the loss."""
    rate = view.finite("learning_rate")
    if rate is None:
        return
    out.judge("learning rate")
    out.say("lr.last", rate.values[-1], rate.source(len(rate) - 1))
    out.say("lr.peak", rate.values.max(), rate.source(int(np.argmax(rate.values))))
    _zero(view, rate, out)
    _frozen(view, rate, out)
    _restarted(rate, out)
    _spike_at_peak(view, rate, out)


def _zero(view: View, rate: Series, out: Collector) -> None:
    total = view.context.total_steps
    due = rate.steps < 0.98 * total if total else np.arange(len(rate)) < len(rate) - 1
    dead = (rate.values == 0.0) & due
    if rate.values.any():
        dead[: int(np.argmax(rate.values > 0))] = False  # the warm-up begins at 0; so does the search for a loss scale
    count, needed = int(dead.sum()), max(2, len(rate) // 10)
    if count >= needed:
        at = int(np.flatnonzero(dead)[0])
        out.say("lr.zero", True, rate.source(at), f"{count} of {len(rate)} records before the end")
    elif len(rate) >= 3 and count == 0:
        out.say("lr.zero", False, rate.source(len(rate) - 1))


def _frozen(view: View, rate: Series, out: Collector) -> None:
    if len(rate) < 2:
        return
    if np.ptp(rate.values) > 0:
        out.say("lr.frozen", False, rate.source(len(rate) - 1))
        return
    norm = view.run("grad_norm")
    skips = norm is not None and len(norm) >= 2 and not np.isfinite(norm.values[-max(2, len(norm) // 2) :]).any()
    raw = view.raw("learning_rate")
    starts = [at for at, reason in falls(raw.steps) if reason == "restarted"] if raw is not None else []
    moved = raw is not None and any(
        np.ptp(part[np.isfinite(part)]) > 0 for part in np.split(raw.values, starts) if np.isfinite(part).sum() > 2
    )
    if len(rate) >= 3 and (skips or moved):
        why = "every gradient norm is not finite" if skips else "another run of this file moves it"
        out.say("lr.frozen", True, rate.source(0), f"{rate.values[0]:g} in all {len(rate)} records; {why}")
    else:
        out.skip("frozen learning rate", "it is constant, which a constant schedule is too")


def _restarted(rate: Series, out: Collector) -> None:
    if len(rate) < 6 or rate.values.max() <= 0:
        return
    peak = int(np.argmax(rate.values))
    after = rate.values[peak:]
    lowest = np.minimum.accumulate(after)
    # half of the peak lost, then twice the low again and at least 30 % of the peak
    again = (after >= 2 * lowest) & (lowest <= 0.5 * after[0]) & (after >= 0.3 * after[0])
    if again.any():
        out.say("lr.restarted", True, rate.source(peak + int(np.argmax(again))))
    else:
        out.say("lr.restarted", False, rate.source(len(rate) - 1))


def _spike_at_peak(view: View, rate: Series, out: Collector) -> None:
    spike = out.value("loss.spike_step")
    if not isinstance(spike, float):
        return
    peak = float(rate.values.max())
    reached = int(np.argmax(rate.values >= 0.999 * peak))
    end = view.context.warmup_steps
    if end is None and reached > 0 and rate.values[0] < 0.9 * peak:
        end = float(rate.steps[reached])
    if end is None:
        out.skip("spike at the end of the warm-up", "the end of the warm-up is not in the series")
        return
    near = max(0.2 * end, 3 * float(np.median(np.diff(rate.steps))) if len(rate) > 1 else 0.0)
    out.say("lr.spike_at_peak", abs(spike - end) <= near, rate.source(reached), f"warm-up ends at {end:g}")
