"""Evaluation against training: overfitting, the gap between the two, and losses too good to be true.

Overfitting: the last evaluations lie above the lowest by 3 % (5 % where two evaluations give no noise) and by four
times the noise of the curve behind it. Gap: evaluation at least three times the training loss and 0.5 nats above it
(ratios of small losses mean nothing; 2.6 times was measured on a healthy fine-tuning run). Near zero: 0.005 nats a
token, below what text that is neither memorised nor trivial allows. Solved early: 5 % of the first loss and below 0.05
within the first pass over the data, when nothing can have been memorised: a leak, a trivial target or a surface cue.

False positives: ``eval_loss.rising`` on an evaluation set drawn anew each time; ``near_zero`` and ``solved_early`` on a
regression loss in small units; ``gap_wide`` where the training loss counts other tokens than the evaluation.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View, steps_per_epoch
from engine.evidence.detectors.windows import curve_noise, last_level, noise, window
from engine.evidence.series import Series

_NEAR_ZERO = 0.005
_GAP, _GAP_NATS = 3.0, 0.5
_SOLVED, _SOLVED_BELOW, _SOLVED_FROM = 0.05, 0.05, 0.3
_LEAST = 4


def detect_overfit(view: View, out: Collector) -> None:
    """State loss.near_zero/solved_early and eval_loss.last/rising/gap/gap_wide/near_zero/constant."""
    loss = None if out.value("loss.zero_filtered") or view.is_policy_loss() else view.finite("loss")
    if (
        loss is not None
        and len(loss) >= 2
        and (len(loss) >= 4 or not loss.values.any())
        and not (loss.values < 0).any()
    ):
        _near_zero(loss, out)
        _solved_early(view, loss, out)
    evaluation = view.finite("eval_loss")
    if evaluation is not None and len(evaluation) >= 3:
        _levels(evaluation, out)
        if loss is not None:
            _gap(loss, evaluation, out)
    _rising(view.finite("loss"), evaluation, out)


def _near_zero(loss: Series, out: Collector) -> None:
    last = last_level(loss.values)
    note = f"last window {last:.3g}, limit {_NEAR_ZERO:g}"
    out.say("loss.near_zero", last < _NEAR_ZERO, loss.source(len(loss) - 1), note)


def _solved_early(view: View, loss: Series, out: Collector) -> None:
    first = float(np.median(loss.values[:3]))
    if len(loss) < 8 or first < _SOLVED_FROM:
        return
    low = loss.values <= min(_SOLVED * first, _SOLVED_BELOW)
    lasting = np.flatnonzero(low[:-2] & low[1:-1] & low[2:])
    if not len(lasting):
        out.say("loss.solved_early", False, loss.source(len(loss) - 1))
        return
    at = int(lasting[0])
    passed = _epoch_at(view, loss, at)
    if passed is None:
        out.skip(messages.TOO_GOOD, messages.NO_EPOCH)
        return
    out.judge(messages.TOO_GOOD)
    note = f"{first:.3g} to {loss.values[at]:.3g} by epoch {passed:.2f}"
    out.say("loss.solved_early", passed < 1, loss.source(at), note)


def _epoch_at(view: View, loss: Series, at: int) -> float | None:
    """Return how often the data was seen at a point of the loss: from the epoch beside it, else by the interval."""
    epoch = view.finite("epoch")
    if epoch is not None and len(epoch) == len(loss):
        return float(epoch.values[at])
    per_epoch = steps_per_epoch(epoch) if epoch is not None else view.context.intervals.get("epoch")
    return float(loss.steps[at]) / per_epoch if per_epoch else None


def _levels(evaluation: Series, out: Collector) -> None:
    values, source = evaluation.values, evaluation.source(len(evaluation) - 1)
    last = float(np.median(values[-min(3, len(values) - 1) :]))
    out.say("eval_loss.last", last, source, "median of the last evaluations")
    out.say("eval_loss.near_zero", 0 <= last < _NEAR_ZERO, source, f"limit {_NEAR_ZERO:g}")
    if len(values) >= _LEAST:
        out.say("eval_loss.constant", not np.ptp(values), source, f"{len(values)} evaluations")


def _gap(loss: Series, evaluation: Series, out: Collector) -> None:
    since = float(evaluation.steps[-2])
    near = loss.values[(loss.steps > since - (evaluation.steps[-1] - since)) & (loss.steps <= evaluation.steps[-1])]
    if len(near) < 2 or (near <= 0).any():
        return
    train, held_out = float(np.median(near)), float(np.median(evaluation.values[-2:]))
    gap = held_out - train
    out.judge(messages.GAP)
    source = evaluation.source(len(evaluation) - 1)
    out.say("eval_loss.gap", gap, source, f"evaluation {held_out:.4g}, training {train:.4g}")
    out.say("eval_loss.gap_wide", gap > _GAP_NATS and held_out > _GAP * train, source)


def _rising(loss: Series | None, evaluation: Series | None, out: Collector) -> None:
    if evaluation is None or len(evaluation) < _LEAST:
        out.skip(messages.OVERFITTING, messages.filled(messages.FEW_EVALUATIONS, least=_LEAST))
        return
    values = evaluation.values
    lowest = int(np.argmin(values))
    last = float(np.median(values[-min(3, max(1, len(values) - 1 - lowest)) :]))
    rise = last - float(values[lowest])
    after = values[lowest + 1 :]
    least = 0.03 if len(after) >= 3 else 0.05  # two evaluations give no noise to compare with
    band = max(least * abs(float(values[lowest])), 4 * curve_noise(after))
    source = evaluation.source(lowest)
    out.judge(messages.OVERFITTING)
    if lowest >= len(values) - 2 or rise <= band:
        out.say("eval_loss.rising", False, source, f"lowest {values[lowest]:.4g}, lately {last:.4g}")
    elif loss is not None and _train_rose(loss, float(evaluation.steps[lowest])):
        out.skip(messages.OVERFITTING, messages.TRAIN_ROSE)
    else:
        note = f"from {values[lowest]:.4g} to {last:.4g}, band {band:.2g}"
        out.say("eval_loss.rising", True, source, note)
        out.say("eval_loss.best_step", float(evaluation.steps[lowest]), source)


def _train_rose(loss: Series, since: float) -> bool:
    before = loss.values[loss.steps <= since][-5:]
    after = loss.values[loss.steps > since]
    if not len(before) or not len(after):
        return False
    level = float(np.median(before))
    late = float(np.median(after[-max(5, window(len(after))) :]))
    return late > level + max(0.05 * level, 2 * noise(loss.values))
