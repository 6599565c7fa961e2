"""Speed: a lasting drop, a slow drift, outliers and regular pauses of the step time.

A cliff is a level shift that lasts to the end: at least 10 % and 8 sigma (4 % in an excerpt of a run whose
steps vary by less; synchronous training over many ranks varies by 0.1 %). Steps that contain an evaluation
are left out, and speed is counted in samples where the batch changes. The first records of a run are start-
up.

False positives: planned stages (longer sequences, a wider attention window, a batch ramp without its series),
other users of a shared machine. Running averages hide a cliff: it then reads as a drift.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.evidence.detectors.view import Collector, View
from engine.evidence.detectors.windows import noise, spearman, thinned, window
from engine.evidence.series import Floats, Series

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_SIGMAS, _FLOOR = 8.0, 0.005
_MOST = 400  # points the search for a cliff looks at
_CLIFF, _SHORT_CLIFF, _LONG = 0.10, 0.04, 12
_DRIFT, _DRIFT_RANK = 0.10, -0.7


def detect_throughput(view: View, out: Collector) -> None:
    """State throughput.*, step_time.outlier_ratio and dataloader.share."""
    _loader(view, out)
    time = view.finite("step_time")
    if time is not None and len(time) >= 5:
        usual = without_evaluations(view, time)
        if len(usual) >= 5:
            at = 1 + int(np.argmax(usual.values[1:]))
            ratio = float(usual.values[at]) / max(float(np.median(usual.values)), 1e-12)
            out.say(
                "step_time.outlier_ratio",
                ratio,
                usual.source(at),
                "largest over median, evaluations left out",
            )
    speed = speed_of(view)
    if speed is None or len(speed) < 4:
        out.skip("throughput", "no series of step time or throughput with 4 or more records")
        return
    out.judge("throughput")
    _drops(speed, out)


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
    least = 3 if short else 4
    found = (0, 0.0, 0.0)
    deepest = _SHORT_CLIFF if short else _CLIFF
    sharpest = 0.0
    logs = np.log(np.maximum(values, 1e-300))
    least_spread = max(_FLOOR, 0.5 * noise(logs))  # a few even steps by chance make no steady run
    for at in range(least, len(values) - (2 if short else least) + 1):
        left, right = logs[:at][-50:], logs[at:]
        step = float(np.median(left) - np.median(right[:50]))
        spread = max(noise(left), least_spread)
        lasts = bool(np.median(right) < np.median(left) - 0.5 * step) and (not short or right.max() < left.min())
        # the shift itself must be abrupt: the next few records lie on the new level already
        abrupt = float(np.median(left[-3:]) - np.median(right[:3])) > 0.6 * step
        sharp = float(np.mean(left[-3:]) - np.mean(right[:3]))
        if step > -np.log(1 - deepest) and step > _SIGMAS * spread and lasts and abrupt and sharp > sharpest:
            sharpest, found = sharp, (at, float(np.exp(np.median(left))), float(np.exp(np.median(right))))
    return found


def _loader(view: View, out: Collector) -> None:
    share = view.finite("batch_loading_share")
    if share is not None:
        value = float(np.median(share.values))
        out.say("dataloader.share", value / 100 if value > 1 else value, share.source(len(share) - 1), "median")
        return
    wait, time = view.finite("dataloader_time"), view.finite("step_time")
    if wait is not None and time is not None and float(np.median(time.values)) > 0:
        value = float(np.median(wait.values) / np.median(time.values))
        out.say(
            "dataloader.share",
            min(value, 1.0),
            wait.source(len(wait) - 1),
            "median wait over median step time",
        )
