"""Gradient norm against its own recent past: forks differ by 1e5 in scale, so absolute values say nothing.

Exploding: 10 x the median of the 20 points before (5 x in an excerpt), and it must last or touch the loss: single
gradient spikes without effect on the loss are normal. Vanishing: below 1e-6 absolute; a norm that is 0 in every record
while the loss falls is "not available". Creeping: 4 x the lowest window of the run, rank correlation 0.8, no spike.
Lead: records on both sides of the first trouble of the loss are searched for the first 5-fold rise. Trainers log the
norm before clipping (Hugging Face, Megatron, torchtitan), so a norm above the limit means a step that was clipped.

False positives: a change of the batch size or of the norm's definition; the rise of a LoRA run from its zero
initialisation is kept out by skipping the first records; a norm that rises while the learning rate decays to zero.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.trend import trouble_step
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import last_level, medians_before, spearman, window_medians
from engine.evidence.series import Floats, Series

_BEFORE, _LONG = 20, 20
_RATIO, _SHORT_RATIO, _LASTING = 10.0, 5.0, 3
_LEAST = 4  # records
_TINY = 1e-6
_ISOLATED = 0.05  # share of single non-finite records that dynamic loss scaling explains
_LEAD = 10  # records by which a gradient spike may precede or follow the loss
_CREEP, _CREEP_RANK, _CREEP_LEAST = 4.0, 0.8, 40


def detect_gradients(view: View, out: Collector) -> None:
    """State grad_norm.*; must run after the detectors of the loss."""
    raw = view.raw("grad_norm")
    if raw is None or not len(raw):
        if trouble_step(out) is not None:
            out.skip(messages.NORM, messages.NO_NORM)
        return
    out.judge(messages.NORM)
    _nonfinite(raw, out)
    norm = view.finite("grad_norm")
    if norm is None:
        return
    if len(norm) >= _LEAST:  # of one or two records nobody knows whether they are usual
        out.say("grad_norm.last", last_level(norm.values), norm.source(len(norm) - 1), "median of the last window")
    _vanishing(norm, out.value("loss.falling") is True, out)
    positive = norm.take(norm.values > 0)
    if len(positive) < _LEAST:
        out.skip(messages.EXPLODING, messages.filled(messages.FEW_RECORDS, count=len(positive), least=_LEAST))
        return
    ratios, start = _ratios(positive)
    _exploding(positive, ratios, start, out)
    _leads(positive, ratios, start, out)
    _creeping(positive, out)
    _clipped(view, positive, out)


def _nonfinite(raw: Series, out: Collector) -> None:
    bad = np.flatnonzero(~np.isfinite(raw.values))
    isolated = len(bad) > 0 and bad[-1] < len(raw) - 1 and bool((np.diff(bad) > 1).all())
    if isolated and len(bad) <= _ISOLATED * len(raw) and out.value("loss.nan") is False:
        out.skip(messages.NONFINITE_NORM, messages.filled(messages.ISOLATED_NORMS, count=len(bad)))
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


def _ratios(norm: Series) -> tuple[Floats, int]:
    """Return each point over the median before it, and the first point that is judged."""
    start = 2 if len(norm) < _LONG else max(5, len(norm) // 20)
    return norm.values / medians_before(norm.values, _BEFORE), start


def _exploding(norm: Series, ratios: Floats, start: int, out: Collector) -> None:
    if len(norm) <= start:
        return
    at = start + int(np.argmax(ratios[start:]))
    limit = _RATIO if len(norm) >= _LONG else _SHORT_RATIO
    base = norm.values[at] / ratios[at]
    onset = start + int(np.argmax(ratios[start:] >= limit)) if ratios[at] >= limit else at
    lasting = int((norm.values[onset : onset + 10] >= limit * norm.values[onset] / ratios[onset]).sum())
    onset_step = float(norm.steps[onset])
    ahead = float(norm.steps[min(onset + _LEAD, len(norm) - 1)])
    touched = any(
        (step := out.number(fact)) is not None and onset_step <= step <= ahead
        for fact in ("loss.spike_step", "loss.nan_step")
    )
    explodes = bool(ratios[at] >= limit) and (lasting >= _LASTING or touched or out.value("loss.diverging") is True)
    note = f"{ratios[at]:.1f} times the median {base:.4g} before it"
    out.say("grad_norm.ratio", ratios[at], norm.source(at), note)
    if explodes or len(norm) >= 8:
        out.say("grad_norm.exploding", explodes, norm.source(onset if explodes else at), note)


def _leads(norm: Series, ratios: Floats, start: int, out: Collector) -> None:
    """Who moved first, the gradient norm or the loss, and by how many steps?"""
    step = trouble_step(out)
    if step is None:
        return
    here = int(np.searchsorted(norm.steps, step))
    around = np.arange(max(here - _LEAD, start), min(here + _LEAD + 1, len(norm)))
    if not (around < here).any():
        return
    high = around[ratios[around] >= _SHORT_RATIO]
    if not len(high):
        last = int(around[around < here][-1])
        out.say("grad_norm.leads_loss", False, norm.source(last), f"no rise before the loss moved at step {step:g}")
        return
    onset = int(high[0])
    lead = step - float(norm.steps[onset])
    note = f"the loss moved at step {step:g}"
    out.say("grad_norm.leads_loss", lead > 0, norm.source(onset), note)
    out.say("grad_norm.lead_steps", lead, norm.source(onset), note)


def _creeping(norm: Series, out: Collector) -> None:
    steady = norm.take(slice(len(norm) // 10, None))
    if len(steady) < _CREEP_LEAST or out.value("grad_norm.exploding") is True:
        return
    medians = window_medians(steady.values, len(steady) // 10)
    lowest = int(np.argmin(medians))
    growth = float(medians[-1] / medians[lowest])
    creeps = growth >= _CREEP and spearman(np.arange(len(medians) - lowest), medians[lowest:]) >= _CREEP_RANK
    creeps = creeps and len(medians) - lowest >= 4
    note = f"{medians[lowest]:.3g} to {medians[-1]:.3g}"
    out.say("grad_norm.creeping", creeps, steady.source(len(steady) - 1), note)


def _clipped(view: View, norm: Series, out: Collector) -> None:
    limit = view.context.clip_norm
    settled = norm.values[len(norm) // 10 :]
    if limit is None or len(settled) < _LONG or float(settled.max()) <= 1.001 * limit:
        return  # too short, or logged after clipping
    out.judge(messages.CLIPPING)
    share = float((settled > limit).mean())
    out.say("grad_norm.clipped_share", share, norm.source(len(norm) - 1), f"records above the limit {limit:g}")
