"""Gradient norm against its own recent past: forks differ by 1e5 in scale, so absolute values say nothing.

Thresholds: 10 x the median of the 20 points before (5 x in an excerpt), and it must last or touch the loss:
single gradient spikes without effect on the loss are normal. Vanishing: below 1e-6 absolute; a norm that is 0
in every record while the loss falls is "not available".

False positives: a change of the batch size or of the norm's definition; the rise of a LoRA run from its zero
initialisation is kept out by skipping the first records.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors.view import Collector, View
from engine.evidence.detectors.windows import last_level, medians_before
from engine.evidence.series import Series

_BEFORE, _LONG = 20, 20
_RATIO, _SHORT_RATIO, _LASTING = 10.0, 5.0, 3
_TINY = 1e-6
_ISOLATED = 0.05  # share of single non-finite records that dynamic loss scaling explains
_LEAD = 10  # records by which a gradient spike may precede the loss


def detect_gradients(view: View, out: Collector) -> None:
    """State grad_norm.*; must run after the detectors of the loss."""
    raw = view.raw("grad_norm")
    if raw is None or not len(raw):
        return
    out.judge("gradient norm")
    _nonfinite(raw, out)
    norm = view.finite("grad_norm")
    if norm is None:
        return
    out.say("grad_norm.last", last_level(norm.values), norm.source(len(norm) - 1), "median of the last window")
    _vanishing(norm, out.value("loss.falling") is True, out)
    positive = norm.take(norm.values > 0)
    if len(positive) < 4:
        out.skip("exploding gradient norm", "fewer than 4 finite records")
        return
    _exploding(positive, out)
    _leads(positive, out)


def _nonfinite(raw: Series, out: Collector) -> None:
    bad = np.flatnonzero(~np.isfinite(raw.values))
    isolated = len(bad) > 0 and bad[-1] < len(raw) - 1 and bool((np.diff(bad) > 1).all())
    if isolated and len(bad) <= _ISOLATED * len(raw) and out.value("loss.nan") is False:
        out.skip("non-finite gradient norm", f"{len(bad)} single records: steps that loss scaling skips look like this")
    elif len(bad):
        out.say("grad_norm.nan", True, raw.source(int(bad[0])), f"{len(bad)} of {len(raw)} records")
    elif len(raw) >= 4:
        out.say("grad_norm.nan", False, raw.source(len(raw) - 1))


def _vanishing(norm: Series, learns: bool, out: Collector) -> None:
    """Zeros in every record mean "not available" while the loss falls."""
    if len(norm) < 5 or (learns and not norm.values.any()):
        return
    last = float(np.median(norm.values[-5:]))
    tiny = last < _TINY
    out.say("grad_norm.vanishing", tiny, norm.source(len(norm) - 1), f"lately {last:.3g}, limit {_TINY:g}")


def _ratios(norm: Series) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], int]:
    """Return each point over the median before it, and the first point that is judged."""
    start = 2 if len(norm) < _LONG else max(5, len(norm) // 20)
    return norm.values / medians_before(norm.values, _BEFORE), start


def _exploding(norm: Series, out: Collector) -> None:
    ratios, start = _ratios(norm)
    if len(norm) <= start:
        return
    at = start + int(np.argmax(ratios[start:]))
    limit = _RATIO if len(norm) >= _LONG else _SHORT_RATIO
    base = norm.values[at] / ratios[at]
    onset = start + int(np.argmax(ratios[start:] >= limit)) if ratios[at] >= limit else at
    lasting = int((norm.values[onset : onset + 10] >= limit * norm.values[onset] / ratios[onset]).sum())
    onset_step = float(norm.steps[onset])
    touched = any(
        isinstance(step := out.value(fact), float) and onset_step <= step <= _ahead(norm, onset)
        for fact in ("loss.spike_step", "loss.nan_step")
    )
    explodes = bool(ratios[at] >= limit) and (lasting >= _LASTING or touched or out.value("loss.diverging") is True)
    note = f"{ratios[at]:.1f} times the median {base:.4g} before it"
    out.say("grad_norm.ratio", ratios[at], norm.source(at), note)
    if explodes or len(norm) >= 8:
        out.say("grad_norm.exploding", explodes, norm.source(onset if explodes else at), note)


def _ahead(norm: Series, onset: int) -> float:
    return float(norm.steps[min(onset + _LEAD, len(norm) - 1)])


def _leads(norm: Series, out: Collector) -> None:
    """Did the gradient norm move before the loss did?"""
    step = out.value("loss.spike_step")
    step = step if isinstance(step, float) else out.value("loss.nan_step")
    if not isinstance(step, float):
        return
    ratios, start = _ratios(norm)
    before = np.flatnonzero(norm.steps < step)[-_LEAD:]
    before = before[before >= start]
    if not len(before):
        return
    high = before[ratios[before] >= _SHORT_RATIO]
    at = int(high[0]) if len(high) else int(before[-1])
    out.say("grad_norm.leads_loss", bool(len(high)), norm.source(at), f"the loss moved at step {step:g}")
