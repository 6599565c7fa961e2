"""Learning rate: zero while training goes on, frozen, restarted, at its end too soon.

A last learning rate of 0 is how linear and cosine schedules end, a first one of 0 how a warm-up begins. A constant
learning rate is a schedule of its own: it is called frozen only if the steps are evidently skipped (gradient norm not
finite), if an earlier run of the same file moved it, or if the configuration names a schedule that moves. Restarts at
equal or growing distance without a resume are planned. Too soon: a thousandth of the peak before 80 % of the steps
(linear ends at 99.9 %, cosine reaches it at 98 %); the ratio of the planned steps to that step tells how often the
schedule was advanced per update (accumulation steps or ranks counted twice).

False positives: ``zero`` on a learning rate printed with four decimals (0.0000 for 5e-5); ``restarted`` on a planned
single restart; ``decayed_early`` on exponential schedules.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.series import Series, falls

_ENDED, _TOO_SOON = 1e-3, 0.8
_MOVES = ("linear", "cosine", "polynomial", "inverse_sqrt")
_SAME_DISTANCE = 0.15


def detect_schedule(view: View, out: Collector) -> None:
    """State lr.last/peak/zero/frozen/restarted/decayed_early/schedule_speed."""
    rate = view.finite("learning_rate")
    if rate is None:
        return
    out.judge(messages.RATE)
    out.say("lr.last", rate.values[-1], rate.source(len(rate) - 1))
    out.say("lr.peak", rate.values.max(), rate.source(int(np.argmax(rate.values))))
    _zero(view, rate, out)
    _frozen(view, rate, out)
    _restarted(view, rate, out)
    _decayed_early(view, rate, out)


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
    why = _why_frozen(view, rate)
    if len(rate) >= 3 and why:
        out.say("lr.frozen", True, rate.source(0), f"{rate.values[0]:g} in all {len(rate)} records; {why}")
    else:
        out.skip(messages.FROZEN_RATE, messages.CONSTANT_RATE)


def _why_frozen(view: View, rate: Series) -> str:
    norm = view.run("grad_norm")
    if norm is not None and len(norm) >= 2 and not np.isfinite(norm.values[-max(2, len(norm) // 2) :]).any():
        return "every gradient norm is not finite"
    raw = view.raw("learning_rate")
    starts = [at for at, reason in falls(raw.steps) if reason == "restarted"] if raw is not None else []
    if raw is not None and any(
        np.ptp(part[np.isfinite(part)]) > 0 for part in np.split(raw.values, starts) if np.isfinite(part).sum() > 2
    ):
        return "another run of this file moves it"
    total, span = view.context.total_steps, float(rate.steps[-1] - rate.steps[0])
    if view.context.schedule.startswith(_MOVES) and total is not None and span >= 0.2 * total:
        return f"the schedule is {view.context.schedule}"
    return ""


def _restarted(view: View, rate: Series, out: Collector) -> None:
    if len(rate) < 6 or rate.values.max() <= 0:
        return
    peak = int(np.argmax(rate.values))
    after = rate.values[peak:]
    lowest = np.minimum.accumulate(after)
    # half of the peak lost, then twice the low again and at least 30 % of the peak
    again = (after >= 2 * lowest) & (lowest <= 0.5 * after[0]) & (after >= 0.3 * after[0])
    if not again.any():
        out.say("lr.restarted", False, rate.source(len(rate) - 1))
    elif _planned(view, rate):
        out.say("lr.restarted", False, rate.source(len(rate) - 1), "restarts as a schedule with restarts has them")
    else:
        out.say("lr.restarted", True, rate.source(peak + int(np.argmax(again))))


def _planned(view: View, rate: Series) -> bool:
    """Tell whether the rate climbs back at equal or growing distances without a resume, or is configured to."""
    if "restart" in view.context.schedule:
        return True
    if any(part.reason != "start" for part in view.context.segments):
        return False
    high = rate.values >= 0.9 * rate.values.max()
    climbs = rate.steps[np.flatnonzero(high[1:] & ~high[:-1]) + 1]
    first = float(rate.steps[0])
    if high[0]:
        climbs = np.concatenate([[first], climbs])
    if len(climbs) < 3:
        return False
    ratios = np.diff(climbs)[1:] / np.diff(climbs)[:-1]
    even = np.abs(ratios - float(np.median(ratios))) <= _SAME_DISTANCE
    return bool(even.all()) and float(np.median(ratios)) >= 1 - _SAME_DISTANCE


def _decayed_early(view: View, rate: Series, out: Collector) -> None:
    peak = int(np.argmax(rate.values))
    total = view.context.total_steps or float(rate.steps[-1])
    ended = rate.values[peak:] <= _ENDED * rate.values[peak]
    if len(rate) < 10 or rate.values[peak] <= 0 or total <= 0:
        return
    still = len(ended) - int(np.argmax(~ended[::-1]))  # the first record of the dead tail
    if still >= len(ended):
        out.say("lr.decayed_early", False, rate.source(len(rate) - 1))
        return
    at = peak + still
    end = float(rate.steps[at])
    early = end < _TOO_SOON * total and len(rate) - at >= 3
    out.say("lr.decayed_early", early, rate.source(at), f"at its end at step {end:g} of {total:g}")
    if early and view.context.total_steps is not None and end > 0:
        out.say("lr.schedule_speed", total / end, rate.source(at), "planned steps over the step at which it ended")
