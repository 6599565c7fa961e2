"""Where the loss goes: falling, stuck, diverging, suspiciously low; and the evaluation loss turning up.

Windows are compared with windows, never single points, and nothing is said where the noise of a window is as
large as the change in question.

False positives: ``diverging`` on a change of the data mix or of the loss's own definition (a regulariser
switched on); ``plateau`` on a task whose best loss is high (classification with label noise) and on a run
that will still grok; ``near_zero`` on a regression loss in small units;
``eval_loss.rising`` on an evaluation set drawn anew each time. A converged run is no
plateau here: it must have kept more than half of its first loss, or be a pre-training loss above 2.
"""

from __future__ import annotations

import math

import numpy as np

from engine.evidence.detectors.view import Collector, View
from engine.evidence.detectors.windows import (
    curve_noise,
    first_level,
    last_level,
    level_noise,
    noise,
    window,
    window_medians,
)
from engine.evidence.series import Floats, Series

_LONG = 20
_NEAR_ZERO = 0.005  # nats a token: below what text that is not memorised or trivial allows
_FLAT = 0.015  # relative change of window medians over the stretch called flat


def detect_trend(view: View, out: Collector) -> None:
    """State loss.first/last/min/diverging/falling/near_zero/plateau* and eval_loss.rising."""
    loss = view.finite("loss")
    if loss is not None and not out.value("loss.zero_filtered"):
        _levels(loss, out)
        if view.is_policy_loss():
            out.skip("trend of the loss", "a policy-gradient loss is near zero by design and measures no progress")
        elif len(loss) >= 2 and not loss.values.any():
            _near_zero(loss, out)  # exact zeros need no statistics
        elif len(loss) < 4 or np.any(loss.values < 0):
            out.skip("trend of the loss", "fewer than 4 finite records, or a loss below zero")
        else:
            out.judge("trend of the loss")
            _diverging(loss, out)
            _falling(loss, out)
            _near_zero(loss, out)
    _plateau(view, loss, out)
    _overfit(view, loss, out)


def _levels(loss: Series, out: Collector) -> None:
    lowest = int(np.argmin(loss.values))
    out.say("loss.first", loss.values[0], loss.source(0))
    out.say("loss.last", last_level(loss.values), loss.source(len(loss) - 1), "median of the last window")
    out.say("loss.min", loss.values[lowest], loss.source(lowest))


def _diverging(loss: Series, out: Collector) -> None:
    values = loss.values
    source = loss.source(len(loss) - 1)
    if len(values) < _LONG:
        size = 2 if len(values) < 8 else 3
        before, last = float(np.median(values[:size])), float(np.median(values[-size:]))
        stays = float(values[-size:].min()) > 1.15 * float(values[:size].max())
        if len(values) >= 5:
            rises = (
                stays and last > 1.4 * before and last - before > 3 * noise(values if len(values) >= 8 else values[:3])
            )
            out.say("loss.diverging", rises, source, f"{before:.4g} to {last:.4g}")
        return
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
    out.say("loss.diverging", rises, source, f"best window {low:.4g}, last window {last:.4g}")


def _falling(loss: Series, out: Collector) -> None:
    values, size = loss.values, window(len(loss))
    first, last = first_level(values), last_level(values)
    drop, spread = first - last, level_noise(values, size) * math.sqrt(2)
    source, note = loss.source(len(loss) - 1), f"{first:.4g} to {last:.4g}"
    falls = drop > 0.02 * first and drop > 3 * spread
    if len(values) >= _LONG and (falls or _shows_the_run(loss)):
        out.say("loss.falling", falls, source, note)
    elif len(values) < _LONG and drop > 0.1 * first and drop > 3 * spread:
        out.say("loss.falling", True, source, note)
    elif len(values) < _LONG and last > 1.02 * first:
        out.say("loss.falling", False, source, note)


def _shows_the_run(loss: Series) -> bool:
    """Tell whether the series covers at least half of the run so far: a late excerpt is flat in every healthy run."""
    return float(loss.steps[-1] - loss.steps[0]) >= 0.5 * float(loss.steps[-1])


def _near_zero(loss: Series, out: Collector) -> None:
    last = last_level(loss.values)
    near = last < _NEAR_ZERO
    out.say("loss.near_zero", near, loss.source(len(loss) - 1), f"last window {last:.3g}, limit {_NEAR_ZERO:g}")


def _plateau(view: View, loss: Series | None, out: Collector) -> None:
    """Judge the training loss, or the evaluation loss where that is all there is."""
    judged = loss if loss is not None else view.finite("eval_loss")
    if judged is None or out.value("loss.zero_filtered") or (judged is loss and view.is_policy_loss()):
        return
    values = judged.values
    name = None
    if len(values) < 12:
        flat = len(values) >= 4 and float(np.ptp(values)) <= 1e-3 * abs(float(np.median(values))) and values[0] > 0
        level = float(np.median(values))
        name = _logarithm(view, level) if len(values) >= 4 and float(np.ptp(values)) <= 0.01 * abs(level) else None
        if not flat and name is None:
            out.skip("plateau", f"{len(values)} records: too few to call a loss flat")
            return
    else:
        stretch = values[int(len(values) * 0.4) :]
        medians = window_medians(stretch, max(len(stretch) // 3, 1))
        level = float(np.median(stretch))
        if not _power(stretch, level, out):
            return
        flat = level > 0 and float(np.ptp(medians)) <= _FLAT * level
        name = _logarithm(view, level) if flat else None
        if flat and name is None and not _shows_the_run(judged):
            out.skip("plateau", f"the series begins at step {judged.steps[0]:g}: a late excerpt is flat in any run")
            return
        if flat and name is None and not _stuck_high(view, values, level):
            flat = False
    source = judged.source(len(judged) - 1)
    out.judge("plateau")
    out.say("loss.plateau", flat or name is not None, source, f"level {level:.4g} of {judged.name}")
    if flat or name is not None:
        out.say("loss.plateau_value", level, source)
    if name is not None:
        out.say("loss.plateau_ln_of", float(name), source, f"ln {name} = {math.log(name):.4f}")


def _power(stretch: Floats, level: float, out: Collector) -> bool:
    """A flat stretch can be told from a slow fall only if a third of it has a median that is sharp enough."""
    if 2 * level_noise(stretch, len(stretch) // 3) <= _FLAT * max(level, 1e-12):
        return True
    out.skip("plateau", "the loss is too noisy to tell a flat stretch from a slow fall")
    return False


def _stuck_high(view: View, values: Floats, level: float) -> bool:
    kept = level / max(float(np.median(values[: window(len(values))])), 1e-12)
    return kept > 0.5 or (view.context.paradigm == "pretrain" and level > 2.0)


def _logarithm(view: View, level: float) -> int | None:
    """Return the count whose uniform guess costs this level (ln n, in nats), within 1 %."""
    context = view.context
    for count in (context.vocabulary, context.batch, context.choices, 2):
        if count is not None and count >= 2 and abs(level - math.log(count)) <= 0.01 * math.log(count):
            return count
    return None


def _overfit(view: View, loss: Series | None, out: Collector) -> None:
    evaluation = view.finite("eval_loss")
    if evaluation is None or len(evaluation) < 4:
        out.skip("overfitting", "fewer than 4 finite evaluations")
        return
    values = evaluation.values
    lowest = int(np.argmin(values))
    last = float(np.median(values[-min(3, max(1, len(values) - 1 - lowest)) :]))
    rise = last - float(values[lowest])
    after = values[lowest + 1 :]
    least = 0.03 if len(after) >= 3 else 0.05  # two evaluations give no noise to compare with
    band = max(least * float(values[lowest]), 4 * curve_noise(after))
    source = evaluation.source(lowest)
    out.judge("overfitting")
    if lowest >= len(values) - 2 or rise <= band:
        out.say("eval_loss.rising", False, source, f"lowest {values[lowest]:.4g}, lately {last:.4g}")
    elif loss is not None and _train_rose(loss, float(evaluation.steps[lowest])):
        out.skip("overfitting", "the training loss rose together with the evaluation loss: that is no overfitting")
    else:
        note = f"from {values[lowest]:.4g} to {last:.4g}, band {band:.2g}"
        out.say("eval_loss.rising", True, source, note)


def _train_rose(loss: Series, since: float) -> bool:
    before = loss.values[loss.steps <= since][-5:]
    after = loss.values[loss.steps > since]
    if not len(before) or not len(after):
        return False
    level = float(np.median(before))
    return float(np.median(after[-5:])) > level + max(0.05 * level, 2 * noise(loss.values))
