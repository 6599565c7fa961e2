"""Where the loss goes: falling, diverging and since when, oscillating, blowing up in the first steps.

Windows are compared with windows, never single points, and nothing is said where the noise of a window is as
large as the change in question.

Diverging: the last two windows lie 15 % above the best one and half of the progress is lost (or half as high again);
1.4 x in an excerpt. Oscillating: the noise, in units of the loss, three times that of the middle third and 5 % of the
level. Early blow-up: 1.5 x the first level within the first twentieth, and not back for a tenth of the run: a start-up
bump that recovers is normal.

False positives: ``diverging`` on a change of the data mix or of the loss's own definition (a regulariser switched on);
``oscillating`` where batches become smaller late in the run.
"""

from __future__ import annotations

import math

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View, median_interval
from engine.evidence.detectors.windows import (
    first_level,
    last_level,
    level_noise,
    noise,
    window,
    window_medians,
)
from engine.evidence.series import Series

_LONG = 20
_RESTLESS, _RESTLESS_LEAST, _RESTLESS_FLOOR = 3.0, 60, 0.05
_BLOW_UP, _HEAD, _RETURN = 1.5, 20, 0.1


def detect_trend(view: View, out: Collector) -> None:
    """State loss.first/last/min/falling/diverging*/rises_gradually/oscillating/early_blow_up/trouble_step."""
    loss = view.finite("loss")
    if loss is not None and not out.value("loss.zero_filtered"):
        _levels(loss, out)
        if view.is_policy_loss():
            out.skip(messages.TREND, messages.POLICY_LOSS)
        elif (len(loss) < 4 or np.any(loss.values < 0)) and loss.values.any():
            out.skip(messages.TREND, messages.FEW_LOSSES if len(loss) < 4 else messages.NOT_POSITIVE)
        elif loss.values.any():
            out.judge(messages.TREND)
            _diverging(loss, out)
            _falling(loss, out)
            _oscillating(loss, out)
            _early_blow_up(loss, out)
    step = trouble_step(out)
    if step is not None and loss is not None:
        at = int(np.searchsorted(loss.steps, step).clip(0, len(loss) - 1))
        out.say("loss.trouble_step", step, loss.source(at))


def trouble_step(out: Collector) -> float | None:
    """Return where the loss went wrong: the rise that stays or the first NaN; a spike only if there is neither."""
    lasting = [step for fact in ("loss.diverging_step", "loss.nan_step") if (step := out.number(fact)) is not None]
    return min(lasting) if lasting else out.number("loss.spike_step")


def _levels(loss: Series, out: Collector) -> None:
    lowest = int(np.argmin(loss.values))
    out.say("loss.first", loss.values[0], loss.source(0))
    out.say("loss.last", last_level(loss.values), loss.source(len(loss) - 1), "median of the last window")
    out.say("loss.min", loss.values[lowest], loss.source(lowest))


def _diverging(loss: Series, out: Collector) -> None:
    if len(loss) >= 5:
        rises, low, last, best = _excerpt_rises(loss) if len(loss) < _LONG else _run_rises(loss)
        out.say("loss.diverging", rises, loss.source(len(loss) - 1), f"best window {low:.4g}, last window {last:.4g}")
        if rises:
            _onset(loss, low, last, best, out)


def _excerpt_rises(loss: Series) -> tuple[bool, float, float, int]:
    values = loss.values
    size = 2 if len(values) < 8 else 3
    before, last = float(np.median(values[:size])), float(np.median(values[-size:]))
    stays = float(values[-size:].min()) > 1.15 * float(values[:size].max())
    clear = last - before > 3 * noise(values if len(values) >= 8 else values[:3])
    return stays and last > 1.4 * before and clear, before, last, 0


def _run_rises(loss: Series) -> tuple[bool, float, float, int]:
    values = loss.values
    size = window(len(values))
    medians = window_medians(values, size)
    best = int(np.argmin(medians))
    low, last, first = float(medians[best]), float(medians[-1]), float(medians[0])
    tail = medians[best + 1 :][-2:]
    rise = last - low
    rises = (
        len(tail) > 0
        and float(tail.min()) > low * 1.15
        and rise > 6 * level_noise(values, size)
        # half of the progress lost, or half as high again: small losses move by ratios that mean little
        and (rise > 0.5 * (first - low) or last > 1.5 * low)
    )
    return rises, low, last, best * len(values) // len(medians)


def _onset(loss: Series, low: float, last: float, best: int, out: Collector) -> None:
    """The loss leaves its best level for good where it passes a fifth of the rise for the last time."""
    below = np.flatnonzero(loss.values[best:] <= low + 0.2 * (last - low))
    at = min(best + int(below[-1]) + 1 if len(below) else best, len(loss) - 1)
    out.say("loss.diverging_step", float(loss.steps[at]), loss.source(at))
    fell = float(np.median(loss.values[:3])) - low > 0.2 * low
    if len(loss) >= _LONG and out.value("loss.spike") is not None:
        out.say("loss.rises_gradually", fell and out.value("loss.spike") is False, loss.source(at))


def _falling(loss: Series, out: Collector) -> None:
    values, size = loss.values, window(len(loss))
    first, last = first_level(values), last_level(values)
    drop, spread = first - last, level_noise(values, size) * math.sqrt(2)
    source, note = loss.source(len(loss) - 1), f"{first:.4g} to {last:.4g}"
    falls = drop > 0.02 * first and drop > 3 * spread
    if len(values) >= _LONG and (falls or shows_the_run(loss)):
        out.say("loss.falling", falls, source, note)
    elif len(values) < _LONG and drop > 0.1 * first and drop > 3 * spread:
        out.say("loss.falling", True, source, note)
    elif len(values) < _LONG and last > 1.02 * first:
        out.say("loss.falling", False, source, note)


def shows_the_run(loss: Series) -> bool:
    """Tell whether the series covers at least half of the run so far: a late excerpt is flat in every healthy run."""
    return float(loss.steps[-1] - loss.steps[0]) >= 0.5 * float(loss.steps[-1])


def _oscillating(loss: Series, out: Collector) -> None:
    third = len(loss) // 3
    if len(loss) < _RESTLESS_LEAST or out.value("loss.diverging") is True:
        return
    middle, late = loss.values[third : 2 * third], loss.values[-third:]
    level = float(np.median(late))
    before, now = noise(middle), noise(late)
    restless = now >= _RESTLESS * before and now >= _RESTLESS_FLOOR * level and level > 0.9 * float(np.median(middle))
    out.judge(messages.OSCILLATION)
    note = f"noise {before:.3g} in the middle third, {now:.3g} in the last"
    out.say("loss.oscillating", restless, loss.source(len(loss) - 1), note)


def _early_blow_up(loss: Series, out: Collector) -> None:
    if len(loss) < _LONG or float(loss.steps[0]) > 2 * (median_interval(loss.steps) or 1.0):
        return
    head = loss.values[: max(10, len(loss) // _HEAD)]
    first = float(np.median(head[:3]))
    peak = int(np.argmax(head))
    back = np.flatnonzero(loss.values[peak:] <= 1.05 * first)
    slow = not len(back) or int(back[0]) > _RETURN * len(loss)
    blows = float(head[peak]) >= _BLOW_UP * first and slow
    out.say("loss.early_blow_up", blows, loss.source(peak), f"{first:.4g} at first, up to {head[peak]:.4g}")
