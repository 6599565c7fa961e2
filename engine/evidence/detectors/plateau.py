"""A loss that stands still: at a uniform guess (ln of vocabulary, batch, choices or 2), or simply high.

Flat: window medians of the last 60 % differ by less than 1.5 %, and the noise is low enough to say so. A converged run
is no plateau: it must have kept more than half of its first loss, or be a pre-training loss above 2. A uniform guess
counts within 1 % of ln n; ln 2 only where the loss began there too, for many converged losses pass 0.69.

False positives: a task whose best loss is high (classification with label noise), a run that will still grok.
"""

from __future__ import annotations

import math

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.trend import shows_the_run
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import level_noise, window, window_medians
from engine.evidence.series import Floats

_FLAT = 0.015  # relative change of window medians over the stretch called flat
_LONG = 12


def detect_plateau(view: View, out: Collector) -> None:
    """State loss.plateau*, from the training loss, or from the evaluation loss where that is all there is."""
    loss = view.finite("loss")
    judged = loss if loss is not None else view.finite("eval_loss")
    if judged is None or out.value("loss.zero_filtered") or (judged is loss and view.is_policy_loss()):
        return
    values = judged.values
    if len(values) < _LONG:
        if len(values) < 4 or float(np.ptp(values)) > 0.01 * abs(float(np.median(values))):
            out.skip(messages.PLATEAU, messages.filled(messages.FEW_RECORDS, count=len(values), least=_LONG))
            return
        level = float(np.median(values))
        flat = float(np.ptp(values)) <= 1e-3 * abs(level) and values[0] > 0
        name = _logarithm(view, values, level)
        if not flat and name is None:
            out.skip(messages.PLATEAU, messages.filled(messages.FEW_RECORDS, count=len(values), least=_LONG))
            return
    else:
        stretch = values[int(len(values) * 0.4) :]
        level = float(np.median(stretch))
        if 2 * level_noise(stretch, len(stretch) // 3) > _FLAT * max(level, 1e-12):
            out.skip(messages.PLATEAU, messages.TOO_NOISY)
            return
        medians = window_medians(stretch, max(len(stretch) // 3, 1))
        flat = level > 0 and float(np.ptp(medians)) <= _FLAT * level
        name = _logarithm(view, values, level) if flat else None
        if flat and name is None and not shows_the_run(judged):
            out.skip(messages.PLATEAU, messages.filled(messages.LATE_EXCERPT, step=float(judged.steps[0])))
            return
        flat = flat and (name is not None or _stuck_high(view, values, level))
    source = judged.source(len(judged) - 1)
    out.judge(messages.PLATEAU)
    out.say("loss.plateau", flat or name is not None, source, f"level {level:.4g} of {judged.name}")
    if flat or name is not None:
        out.say("loss.plateau_value", level, source)
    if name is not None:
        out.say("loss.plateau_ln_of", float(name), source, f"ln {name} = {math.log(name):.4f}")


def _stuck_high(view: View, values: Floats, level: float) -> bool:
    kept = level / max(float(np.median(values[: window(len(values))])), 1e-12)
    return kept > 0.5 or (view.context.paradigm == "pretrain" and level > 2.0)


def _logarithm(view: View, values: Floats, level: float) -> int | None:
    """Return the count whose uniform guess costs this level (ln n, in nats), within 1 %."""
    context = view.context
    began_there = float(values[0]) <= 1.2 * level
    for count in (context.vocabulary, context.batch, context.choices, 2 if began_there else None):
        if count is not None and count >= 2 and abs(level - math.log(count)) <= 0.01 * math.log(count):
            return count
    return None
