"""The course of the run: how it ended, its silence, resumes with loss and rate around them, and stairs at epochs.

A jump at the resume is a tenth of the level and six sigma of its noise; back at the start is a tenth of the level away
from the first loss, and recovers is half of the jump lost by the end. A run is silent too long when the time since its
last record, when the log was looked at or its machine last gave a sign of life, exceeds ten times the longest gap
between records and half an hour, and nothing says that it ended.

False positives: ``loss_jumps`` where the data order changed with the resume; ``drop_at_epoch`` says only that the loss
falls in stairs, which every run that sees its data again does more or less; ``stalled`` while the first
evaluation of a run takes longer than half an hour.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View, median_interval, steps_per_epoch
from engine.evidence.detectors.windows import noise
from engine.evidence.series import Series, Times, falls

_AROUND = 5
_JUMP, _SIGMAS, _BACK, _RECOVERED = 0.10, 6.0, 0.9, 0.5
_STAIR, _AGAINST_INSIDE = 0.05, 4.0
_SILENT_TIMES, _SILENT_SECONDS = 10.0, 1800.0
_YEAR = 366 * 86_400.0  # seconds: a clock that shows less has no year
_LOGGED = ("loss", "learning_rate", "grad_norm")


def detect_course(view: View, out: Collector) -> None:
    """State run.* and loss.drop_at_epoch."""
    if view.context.end is not None:
        out.say("run.end", view.context.end.kind, view.context.end.source)
    _silence(view, out)
    loss = view.raw("loss")
    axis = loss if loss is not None else view.raw("learning_rate")
    if axis is not None and len(axis):
        _resumed(view, axis, out)
        _share_done(view, axis, out)
    if loss is not None:
        _jump(view, loss, out)
        _stairs(view, out)
    rate = view.raw("learning_rate")
    if rate is not None:
        _rate_jump(view, rate, out)


def _silence(view: View, out: Collector) -> None:
    """Did the records stop although nothing says that the run ended?"""
    end, clock = view.context.end, view.clock()
    times = _times(view, clock)
    if (end is not None and end.kind != "unknown") or times is None:
        if view.context.as_of is not None and times is None:
            out.skip(messages.SILENCE, messages.NO_CLOCK)
        return
    silent = times.latest - times.last
    if silent == 0 and view.context.as_of is None:  # nothing is known of later
        return
    last = next((one for name in _LOGGED if (one := view.raw(name)) is not None and len(one)), clock)
    if silent < 0 or last is None:
        return
    out.judge(messages.SILENCE)
    source, note = last.source(len(last) - 1), f"longest gap between records {times.longest:.4g} s"
    out.say("run.silent_s", silent, source, note)
    out.say("run.stalled", silent > max(_SILENT_TIMES * times.longest, _SILENT_SECONDS), source, note)


def _times(view: View, clock: Series | None) -> Times | None:
    """The times of the records, and the latest that is known: that at which the log was looked at, if it is given."""
    times, as_of = view.context.times, view.context.as_of
    if as_of is None:
        return times
    if times is None and clock is not None and len(clock) >= 3:
        times = Times(float(clock.values[-1]), float(np.diff(clock.values).max()), float(clock.values[-1]))
    if times is None:
        return None
    return replace(times, latest=max(times.latest, as_of if times.last > _YEAR else _of_year(as_of)))


def _of_year(moment: float) -> float:
    """Seconds since the first of January, every year taken for a leap year: the clock of logs without a year."""
    day = datetime.fromtimestamp(moment, UTC)
    return (day.replace(year=2000) - datetime(2000, 1, 1, tzinfo=UTC)).total_seconds()


def _share_done(view: View, axis: Series, out: Collector) -> None:
    """How far did the records get of what was planned, by steps, else by epochs?"""
    total, epochs, epoch = view.context.total_steps, view.context.epochs, view.finite("epoch")
    if total is not None:
        share, planned = float(np.max(axis.steps)) / total, f"{total:g} steps"
    elif epochs is not None and epoch is not None:
        share, planned = float(np.max(epoch.values)) / epochs, f"{epochs:g} epochs"
    else:
        return
    out.say("run.share_done", min(share, 1.0), axis.source(len(axis) - 1), f"planned: {planned}")


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
        out.skip(messages.RESUME_LOSS, messages.FEW_AROUND_RESUME)
        return
    out.judge(messages.RESUME_LOSS)
    level, now, source = float(np.median(before)), float(np.median(after)), finite.source(at)
    if cuts:
        repeated = float(earlier.steps[-1] - finite.steps[at])
        out.say("run.steps_repeated", max(repeated, 0.0), source, f"went on from step {finite.steps[at]:g}")
    spread = max(noise(earlier.values[-50:]), 0.01 * abs(level))
    rise = now - level
    jumps = rise > _JUMP * abs(level) and rise > _SIGMAS * spread / np.sqrt(3)
    note = f"median {level:.4g} before, {now:.4g} after"
    out.say("run.loss_jumps", jumps, source, note)
    if level > 0 and now >= 0:
        out.say("run.loss_jump_at_resume", now / level, source, note)
    if not jumps:
        return
    first = float(np.median(finite.values[:3]))
    if first > 1.5 * level:  # else there was nothing to lose
        out.say("run.loss_back_at_start", now >= _BACK * first, source, f"{first:.4g} at the start of the run")
    late = finite.values[at + _AROUND :]
    if len(late) >= _AROUND:
        back = float(np.median(late[-_AROUND:])) <= level + _RECOVERED * rise
        out.say("run.loss_recovers_after_resume", back, finite.source(len(finite) - 1))


def _rate_jump(view: View, rate: Series, out: Collector) -> None:
    """The learning rate after the last resume over that at the same step, or just before, in the earlier part."""
    cuts = [at for at, reason in falls(rate.steps) if reason == "resumed"]
    if not cuts:
        told = [part.first_step for part in view.context.segments if part.reason == "resumed"]
        cuts = [int(np.searchsorted(rate.steps, told[-1]))] if told else []
    if not cuts or not 0 < cuts[-1] < len(rate):
        return
    at = cuts[-1]
    known = np.flatnonzero(rate.steps[:at] <= rate.steps[at])
    before = float(rate.values[known[-1] if len(known) else 0])
    if before > 0 and np.isfinite(before) and np.isfinite(rate.values[at]):
        ratio = float(rate.values[at]) / before
        note = f"{before:.4g} before, {rate.values[at]:.4g} after"
        out.say("run.lr_jump_at_resume", ratio, rate.source(at), note)


def _stairs(view: View, out: Collector) -> None:
    loss, epoch = view.finite("loss"), view.raw("epoch")
    per_epoch = steps_per_epoch(epoch) if epoch is not None else view.context.intervals.get("epoch")
    if loss is None or per_epoch is None or np.any(loss.values <= 0):
        return
    interval = median_interval(loss.steps)
    if interval is None or per_epoch < 2 * interval or loss.steps[-1] / per_epoch > len(loss):
        out.skip(messages.STAIRS, messages.FEW_IN_EPOCH)
        return
    side = max(3, int(min(per_epoch / 4 / interval, len(loss))))
    count = int(loss.steps[-1] / per_epoch)
    drops = [_drop(loss, boundary * per_epoch, side) for boundary in range(1, count + 1)]
    inside = [_drop(loss, (middle + 0.5) * per_epoch, side) for middle in range(count)]
    known = [drop for drop in drops if drop is not None]
    usual = [abs(drop) for drop in inside if drop is not None]
    if len(known) < 2 or not usual:
        out.skip(messages.STAIRS, messages.FEW_EPOCHS)
        return
    out.judge(messages.STAIRS)
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
