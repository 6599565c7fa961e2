"""Speed: a lasting drop, a slow drift, outliers and regular pauses of the step time.

A cliff is a level shift that lasts to the end: at least 10 % and 8 sigma (4 % in an excerpt of a run whose
steps vary by less; synchronous training over many ranks varies by 0.1 %). Steps that contain an evaluation
are left out, and speed is counted in samples where the batch changes. The first records of a run are start-up. A
stall is one of at most three pauses of a minute or more, 20 times the usual step or 5 times the usual time between
records; evaluations count by their own run times.

False positives: planned stages (longer sequences, a wider attention window, a batch ramp without its series),
other users of a shared machine. Running averages hide a cliff: it then reads as a drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import middle_of_three, noise, spearman, thinned, window
from engine.evidence.series import Floats, Series

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_SIGMAS, _FLOOR = 8.0, 0.005
_MOST = 400  # points the search for a cliff looks at
_CLIFF, _SHORT_CLIFF, _ABRUPT, _LONG = 0.10, 0.04, 0.6, 12
_DRIFT, _DRIFT_RANK = 0.10, -0.7
_SHORT_RUN = 600.0  # seconds; a trial run of minutes is mostly evaluation
_STALL_SECONDS, _STALL_OF_STEPS, _STALL_OF_RECORDS, _FEW = 60.0, 20.0, 5.0, 3


def detect_throughput(view: View, out: Collector) -> None:
    """State throughput.*, step_time.mean/outlier_ratio/stall_s, eval.time_share and dataloader.share."""
    time = view.finite("step_time")
    if time is not None and len(time) >= 5:
        _outliers(view, time, out)
    _evaluations(view, out)
    speed = speed_of(view)
    if speed is None or len(speed) < 4:
        out.skip(messages.THROUGHPUT, messages.NO_SPEED)
    else:
        out.judge(messages.THROUGHPUT)
        _drops(speed, out)
    _loader(view, out)


def without_evaluations(view: View, one: Series) -> Series:
    """Leave out the records whose interval holds an evaluation: some loggers count it into the step."""
    evaluation = view.raw("eval_loss")
    if evaluation is None or len(one) < 3:
        return one
    evaluated = np.unique(evaluation.steps[evaluation.steps <= one.steps[-1]])
    # the record at or after the evaluation, and the next one where the logger writes first and evaluates then
    holding = np.concatenate([np.searchsorted(one.steps, evaluated, side=side) for side in _SIDES])
    touched: NDArray[np.bool_] = np.zeros(len(one), dtype=np.bool_)
    touched[holding[holding < len(one)]] = True
    return one.take(~touched) if touched.mean() < 0.5 else one


def speed_of(view: View) -> Series | None:
    """Return the best series of speed, higher is faster, without start-up and evaluations."""
    batch = view.finite("global_batch")
    ramps = batch is not None and bool(np.ptp(batch.values) > 0)
    for name in ("samples_per_second", "tokens_per_second", "step_time", "tflops", "steps_per_second"):
        one = view.finite(name)
        if one is None or len(one) < 4 or (name == "step_time" and ramps):
            continue
        if name == "step_time":
            one = one.take(one.values > 0)
            one = Series("speed", one.steps, 1.0 / one.values, "steps/s", one.origin, one.lines)
        one = without_evaluations(view, one)
        return one.take(slice(max(1, len(one) // 50), None)) if len(one) >= _LONG else one
    return None


def _drops(speed: Series, out: Collector) -> None:
    values = speed.values
    thin, block = thinned(values, _MOST)
    split, before, after = _cliff(thin)
    split *= block
    size = window(len(values))
    last = float(np.median(values[-size:]))
    best = float(np.median(values[:split])) if split else float(np.median(values[: max(size, len(values) // 4)]))
    lost = 1.0 - last / best if best > 0 else 0.0
    out.say(
        "throughput.drop_ratio",
        max(lost, 0.0),
        speed.source(len(speed) - 1),
        "share of the earlier speed lost",
    )
    note = f"{before:.4g} to {after:.4g} {speed.unit}"
    if split or len(values) >= 8:
        out.say("throughput.cliff", split > 0, speed.source(split or len(values) - 1), note if split else "")
    if len(values) >= 20:
        drifts = split == 0 and lost >= _DRIFT and spearman(np.arange(len(thin)), thin) <= _DRIFT_RANK
        out.say("throughput.drift", drifts, speed.source(len(speed) - 1), f"{lost:.0%} slower than at first")


def _cliff(values: Floats) -> tuple[int, float, float]:
    """Return (index, level before, level after) of the sharpest lasting drop; index 0 if there is none."""
    short = len(values) < _LONG
    found = (0, 0.0, 0.0)
    deepest = -float(np.log(1 - (_SHORT_CLIFF if short else _CLIFF)))
    sharpest = 0.0
    logs = np.log(np.maximum(values, 1e-300))
    least_spread = max(_FLOOR, 0.5 * noise(logs))  # a few even steps by chance make no steady run
    for at in _drops_at(logs, 3 if short else 4, 2 if short else 4, _ABRUPT * deepest):
        left, right = logs[:at][-50:], logs[at:]
        before, after = float(np.median(left)), float(np.median(right))
        step = before - float(np.median(right[:50]))
        lasts = after < before - 0.5 * step and (not short or right.max() < left.min())
        # the shift itself must be abrupt: the next few records lie on the new level already
        abrupt = float(np.median(left[-3:]) - np.median(right[:3])) > _ABRUPT * step
        sharp = float(np.mean(left[-3:]) - np.mean(right[:3]))
        clear = step > max(deepest, _SIGMAS * max(noise(left), least_spread))
        if clear and lasts and abrupt and sharp > sharpest:
            sharpest, found = sharp, (at, float(np.exp(before)), float(np.exp(after)))
    return found


def _drops_at(logs: Floats, before: int, after: int, least: float) -> Iterator[int]:
    """Where the median of three records lies by ``least`` below that of the three in front; the last ones always."""
    three = middle_of_three(logs)
    for at in range(before, len(logs) - after + 1):
        if at >= len(three) or three[at - 3] - three[at] > least:
            yield at


def _loader(view: View, out: Collector) -> None:
    share = view.finite("batch_loading_share")
    if share is not None:
        value = float(np.median(share.values))
        out.say("dataloader.share", value / 100 if value > 1 else value, share.source(len(share) - 1), "median")
        return
    wait, time = view.finite("dataloader_time"), view.finite("step_time")
    if wait is not None and time is not None and float(np.median(time.values)) > 0:
        value = float(np.median(wait.values) / np.median(time.values))
        note = "median wait over median step time"
        out.say("dataloader.share", min(max(value, 0.0), 1.0), wait.source(len(wait) - 1), note)
    elif out.value("throughput.cliff") is True or out.value("throughput.drift") is True:
        out.skip(messages.LOADER, messages.NO_LOADER_TIME)


def _outliers(view: View, time: Series, out: Collector) -> None:
    usual = without_evaluations(view, time)
    if len(usual) < 5:
        return
    at = 1 + int(np.argmax(usual.values[1:]))
    middle = float(np.median(usual.values))
    out.say("step_time.mean", middle, usual.source(len(usual) - 1), "median, evaluations left out")
    note = "largest over median, evaluations left out"
    out.say("step_time.outlier_ratio", float(usual.values[at]) / max(middle, 1e-12), usual.source(at), note)
    _stall(view, usual, out)


def _stall(view: View, usual: Series, out: Collector) -> None:
    """A few very long pauses: by the clock, between two records, else in the measured steps."""
    clock = view.clock()
    if clock is not None and len(clock) >= 5:
        usual = clock.take(slice(1, None))
        waited, times = np.diff(clock.values), _STALL_OF_RECORDS
    else:
        waited, times = usual.values, _STALL_OF_STEPS
    middle = float(np.median(waited))
    lost = waited - middle
    long = np.flatnonzero((lost[1:] >= _STALL_SECONDS) & (waited[1:] >= times * middle)) + 1  # the first is start-up
    if 0 < len(long) <= _FEW:
        worst = int(long[np.argmax(lost[long])])
        out.say("step_time.stall_s", float(lost[worst]), usual.source(worst), f"{len(long)} such pauses in the run")


def _evaluations(view: View, out: Collector) -> None:
    """The share of evaluations in the time of the run: their own run times over that of the run."""
    spent = view.finite("eval_runtime")
    if spent is None or len(spent) < 2:
        return
    total = view.context.run_seconds
    clock, time = view.clock(), view.finite("step_time")
    if total is None and clock is not None and len(clock) >= 2:
        total = float(clock.values[-1] - clock.values[0])
    elif total is None and time is not None:
        total = float(np.median(time.values)) * float(time.steps[-1] - time.steps[0]) + float(spent.values.sum())
    if total is None:
        out.skip(messages.EVALUATION_TIME, messages.NO_RUN_TIME)
        return
    if total < _SHORT_RUN:
        return
    out.judge(messages.EVALUATION_TIME)
    share = min(max(float(spent.values.sum()) / total, 0.0), 1.0)
    note = f"{len(spent)} evaluations, {spent.values.sum():.4g} s of {total:.4g} s"
    out.say("eval.time_share", share, spent.source(len(spent) - 1), note)
