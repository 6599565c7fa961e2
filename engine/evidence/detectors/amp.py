"""Dynamic loss scaling: the start-up search, a collapse of the scale, and the share of skipped steps after the search.

fp16 training starts at a scale of 2^16 to 2^32 and halves until the gradients fit: up to 17 skipped steps
that are normal. The search is repeated when a resume did not restore the scale. A collapse is the floor (1 by
default), or a fall by 16 x within ten records that is not made good.

False positives: two scalers that write into one log (RLHF actor and critic) read as one restless scale; a
logging interval longer than the growth interval hides recoveries.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View, median_interval
from engine.evidence.series import Floats, Series, falls

_FALL, _WITHIN = 16.0, 10
_SEARCH_RECORDS = 40  # 2^32 to 1 takes 32 halvings, one a record at most


def detect_amp(view: View, out: Collector) -> None:
    """State amp.*."""
    scale = view.raw("loss_scale")
    searched = 0
    if scale is not None:
        scale = scale.take(np.isfinite(scale.values) & (scale.values > 0))
    if scale is not None and len(scale) and np.all(scale.values == 1.0):
        out.skip(messages.LOSS_SCALE, messages.STATIC_SCALE)
    elif scale is not None and len(scale):
        out.judge(messages.LOSS_SCALE)
        searched = _search(scale, out)
        out.say("amp.loss_scale", scale.values[-1], scale.source(len(scale) - 1))
        _collapse(view, scale, searched, out)
    _skipped(view, scale, searched, out)


def _search(scale: Series, out: Collector) -> int:
    """Return the first record after the latest start-up search (0: no search is seen)."""
    interval = median_interval(scale.steps) or 1.0
    starts = [at for at, _ in falls(scale.steps)]
    if float(scale.steps[0]) <= 2 * interval:
        starts.insert(0, 0)
    end = 0
    for start in starts:
        stop = _falling_until(scale.values, start)
        if stop > start and scale.values[start] / scale.values[stop] >= 4:
            end = stop
    if end:
        out.say("amp.startup_search", True, scale.source(0), f"settled at {scale.values[end]:g}")
    elif starts and len(scale) >= 5:
        out.say("amp.startup_search", False, scale.source(0))
    return end


def _falling_until(values: Floats, start: int) -> int:
    """Return the last record of the fall that begins at ``start`` (a record may repeat a value once)."""
    at = start
    while at + 1 < min(len(values), start + _SEARCH_RECORDS) and values[at + 1] <= values[at]:
        if values[at + 1] == values[at] and at > start and values[at] == values[at - 1]:
            break
        at += 1
    while at > start and values[at] == values[at - 1]:
        at -= 1
    return at


def _collapse(view: View, scale: Series, searched: int, out: Collector) -> None:
    values = scale.values[searched:]
    if len(values) < 2:
        return
    floor = view.context.scale_floor
    last = float(values[-1])
    peak = float(values[-(_WITHIN + 1) :].max())
    at_floor = last <= floor < float(values.max()) or (last < floor)
    deep_search = searched and last <= floor  # the search itself ran to the floor
    fell = peak / last >= _FALL
    collapsed = bool(at_floor or deep_search or fell)
    if collapsed or len(values) >= 4:
        note = f"{peak:g} to {last:g} within {min(len(values) - 1, _WITHIN)} records, floor {floor:g}"
        out.say("amp.scale_collapsed", collapsed, scale.source(len(scale) - 1), note)


def _skipped(view: View, scale: Series | None, searched: int, out: Collector) -> None:
    skipped = view.raw("skipped_steps")
    if skipped is None or len(skipped) < 2:
        return
    after = float(scale.steps[searched]) if scale is not None and searched else -np.inf
    counted = skipped.take(np.isfinite(skipped.values) & (skipped.steps > after))
    interval = median_interval(skipped.steps)
    if interval is None or len(counted) < 2:
        return
    share = float(counted.values.sum()) / (interval * len(counted))
    note = f"{counted.values.sum():g} of about {interval * len(counted):g} steps"
    out.judge(messages.SKIPPED)
    out.say("amp.skipped_share", min(share, 1.0), counted.source(len(counted) - 1), note)
