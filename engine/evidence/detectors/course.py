"""The course of the run: how it ended, resumes and what the loss did there, and drops at epoch boundaries.

False positives: ``loss_jump_at_resume`` where the data order changed with the resume; ``drop_at_epoch`` says
only that the loss falls in stairs, which every run that sees its data again does more or less.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors.view import Collector, View, median_interval, steps_per_epoch
from engine.evidence.detectors.windows import noise
from engine.evidence.series import Series, falls

_AROUND = 5
_JUMP, _SIGMAS = 0.10, 6.0
_STAIR, _AGAINST_INSIDE = 0.05, 4.0


def detect_course(view: View, out: Collector) -> None:
    """State run.* and loss.drop_at_epoch."""
    if view.context.end is not None:
        out.say("run.end", view.context.end.kind, view.context.end.source)
    loss = view.raw("loss")
    axis = loss if loss is not None else view.raw("learning_rate")
    if axis is not None and len(axis):
        _resumed(view, axis, out)
    if loss is not None:
        _jump(view, loss, out)
        _stairs(view, out)


def _resume_steps(view: View, axis: Series) -> list[float]:
    told = [part.first_step for part in view.context.segments if part.reason == "resumed"]
    return [*told, *(float(axis.steps[at]) for at, reason in falls(axis.steps) if reason == "resumed")]


def _resumed(view: View, axis: Series, out: Collector) -> None:
    steps = _resume_steps(view, axis)
    interval = median_interval(axis.steps)
    if steps:
        at = int(np.argmin(np.abs(axis.steps - steps[-1])))
        out.say(
            "run.resumed",
            True,
            axis.source(at),
            f"{len(set(steps))} resume(s), the last at step {steps[-1]:g}",
        )
    elif interval is not None and len(axis) >= 4 and float(axis.steps[0]) <= 2 * interval:
        out.say("run.resumed", False, axis.source(0), "the steps rise from the start")


def _jump(view: View, loss: Series, out: Collector) -> None:
    """Compare the loss after the last resume with the loss in front of the step it went back to."""
    steps = _resume_steps(view, loss)
    if not steps:
        return
    finite = loss.take(np.isfinite(loss.values))
    cuts = [at for at, reason in falls(finite.steps) if reason == "resumed"]
    at = cuts[-1] if cuts else int(np.searchsorted(finite.steps, steps[-1]))
    after = finite.values[at : at + _AROUND]
    earlier = finite.take(slice(0, at))
    before = earlier.values[earlier.steps < finite.steps[min(at, len(finite) - 1)]][-_AROUND:] if len(finite) else after
    if len(after) < 3 or len(before) < 3:
        out.skip("loss at the resume", "fewer than 3 records before or after it")
        return
    rise = float(np.median(after) - np.median(before))
    spread = max(noise(earlier.values[-50:]), 0.01 * abs(float(np.median(before))))
    jumps = rise > _JUMP * abs(float(np.median(before))) and rise > _SIGMAS * spread / np.sqrt(3)
    note = f"median {np.median(before):.4g} before, {np.median(after):.4g} after"
    out.judge("loss at the resume")
    out.say("run.loss_jump_at_resume", jumps, finite.source(at), note)


def _stairs(view: View, out: Collector) -> None:
    loss, epoch = view.finite("loss"), view.raw("epoch")
    per_epoch = steps_per_epoch(epoch) if epoch is not None else view.context.intervals.get("epoch")
    if loss is None or per_epoch is None or np.any(loss.values <= 0):
        return
    interval = median_interval(loss.steps)
    if interval is None or per_epoch < 2 * interval or loss.steps[-1] / per_epoch > len(loss):
        out.skip("stairs at epochs", "fewer than two records of the loss in an epoch")
        return
    side = max(3, int(per_epoch / 4 / interval))
    count = int(loss.steps[-1] / per_epoch)
    drops = [_drop(loss, boundary * per_epoch, side) for boundary in range(1, count + 1)]
    inside = [_drop(loss, (middle + 0.5) * per_epoch, side) for middle in range(count)]
    known = [drop for drop in drops if drop is not None]
    usual = [abs(drop) for drop in inside if drop is not None]
    if len(known) < 2 or not usual:
        out.skip("stairs at epochs", "fewer than 2 epoch boundaries with 3 records on both sides")
        return
    out.judge("stairs at epochs")
    drop = float(np.median(known))
    stairs = drop > _STAIR and drop > _AGAINST_INSIDE * float(np.median(usual))
    source = loss.source(int(np.searchsorted(loss.steps, per_epoch).clip(0, len(loss) - 1)))
    note = f"median drop {drop:.1%} at {len(known)} boundaries, {float(np.median(usual)):.1%} inside epochs"
    out.say("loss.drop_at_epoch", stairs, source, note)


def _drop(loss: Series, step: float, side: int) -> float | None:
    """Return the relative fall of the median from the records before the step to those after it."""
    at = int(np.searchsorted(loss.steps, step, side="right"))
    before, after = loss.values[max(at - side, 0) : at], loss.values[at : at + side]
    if min(len(before), len(after)) < 3:
        return None
    return float(1.0 - np.median(after) / np.median(before))
