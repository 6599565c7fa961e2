"""What detectors see: series by name as one rising run, and the context of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from engine.evidence.series import Floats, RunEnd, RunRecord, Segment, Series, Times, falls
from engine.model.evidence import Value

_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_MOST_FALLS = 1000  # a file whose step falls more often than this is out of order, not resumed so often
_NO_FACTS: Mapping[str, Value] = MappingProxyType({})
_MILLISECONDS = 1e11  # seconds since 1970 reach this in the year 5138
_CLOCKS = ("wall_time", "timestamp", "elapsed", "elapsed_time", "runtime", "train_time", "relative_time")


@dataclass(frozen=True, slots=True)
class DetectContext:
    """What is known about the run beside its series; every field may be unknown.

    ``intervals`` maps shard, checkpoint, evaluation, epoch, logging to steps. ``batch`` is the number of
    candidates a contrastive loss chooses from, ``choices`` that of a multiple-choice or classification loss.
    ``schedule`` is the name of the learning-rate schedule, ``run_seconds`` the duration of the run, and
    ``as_of`` the time (seconds of the same clock as the records) at which the log was looked at; ``times`` says so of
    a file that tells of itself how long its last record is ago.
    """

    paradigm: str | None = None
    vocabulary: int | None = None
    batch: int | None = None
    choices: int | None = None
    warmup_steps: float | None = None
    total_steps: float | None = None
    epochs: float | None = None
    clip_norm: float | None = None
    schedule: str = ""
    run_seconds: float | None = None
    as_of: float | None = None
    times: Times | None = None
    intervals: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    scale_floor: float = 1.0  # min_loss_scale of DeepSpeed, 1 by default; torch's GradScaler has no floor
    end: RunEnd | None = None
    segments: tuple[Segment, ...] = ()


class View:
    """Series by name: as read (``raw``), as one rising run (``run``), or its finite values (``finite``).

    A name is looked up by its words: ``train/rewards/chosen`` and ``rewards_chosen`` are the same. Several names may
    be given, of which the first that is there counts.
    """

    def __init__(self, series: Sequence[Series], context: DetectContext) -> None:
        """Series of one name from files that follow one another are joined; of others the longest stands for all."""
        self.context = context
        self._by_name: dict[str, Series] = {}
        groups: dict[str, list[Series]] = {}
        for one in series:
            groups.setdefault(name_key(one.name), []).append(_with_steps(one))
        for key, parts in groups.items():
            self._by_name[key] = _in_order(_one_of(parts))
        self._runs: dict[str, Series] = {}
        self._clocked()

    def _clocked(self) -> None:
        """Where no step time is logged, the clock of the records gives it."""
        clock = self.clock()
        if clock is not None and "step_time" not in self._by_name:
            self._by_name["step_time"] = step_time_of(clock)

    @property
    def names(self) -> Iterator[str]:
        """The names, by their words."""
        return iter(self._by_name)

    def is_policy_loss(self) -> bool:
        """Tell whether ``loss`` is a policy-gradient surrogate: near zero, of either sign, no measure of progress."""
        rewards = {"reward", "rewards", "reward_mean", "objective_rlhf_reward", "objective_scores"}
        return self.context.paradigm == "rlhf" or not rewards.isdisjoint(self._by_name)

    def raw(self, *names: str) -> Series | None:
        """Return the series in the order of the file, steps falling at resumes, NaN kept."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def run(self, *names: str) -> Series | None:
        """Return the last run: what a resume repeated counts once, runs before a new start are left out."""
        name = next((name for name in names if name in self._by_name), None)
        if name is None:
            return None
        if name not in self._runs:
            self._runs[name] = last_run(self._by_name[name])
        return self._runs[name]

    def finite(self, *names: str) -> Series | None:
        """Return the finite points of the last run; None if there are none."""
        one = self.run(*names)
        if one is None:
            return None
        one = one.take(np.isfinite(one.values))
        return one if len(one) else None

    def clock(self) -> Series | None:
        """Return the time of each record in seconds, of whatever clock the log has (since 1970 or since the start)."""
        one = self.finite(*_CLOCKS)
        if one is not None and float(one.values[0]) > _MILLISECONDS:
            return replace(one, values=one.values / 1000.0)
        return one


def name_key(name: str) -> str:
    """Return a name by its words; the mark of the training side is no part of it."""
    return _NOT_A_WORD.sub("_", name.lower().removeprefix("train/").removeprefix("training/")).strip("_")


def _one_of(parts: list[Series]) -> Series:
    """Join series that follow one another (a run in several files); else the longest, the first of equals by name."""
    parts = sorted(parts, key=lambda one: (-len(one), one.origin, one.values.tobytes(), one.steps.tobytes()))
    if len(parts) == 1 or not all(len(one) for one in parts):
        return parts[0]
    ranked = sorted(parts, key=lambda one: (float(np.min(one.steps)), float(np.max(one.steps))))
    for earlier, later in pairwise(ranked):
        repeated = (later.steps <= np.max(earlier.steps)).sum()
        if repeated > 0.5 * min(len(earlier), len(later)):
            return parts[0]
    origins = ", ".join(dict.fromkeys(one.origin for one in ranked if one.origin))
    steps, values = (np.concatenate([getattr(one, name) for one in ranked]) for name in ("steps", "values"))
    return Series(parts[0].name, steps, values, parts[0].unit, origins)


def _with_steps(one: Series) -> Series:
    known = np.isfinite(one.steps)
    return one if known.all() else one.take(known)


def _in_order(one: Series) -> Series:
    """Sort a series whose steps fall so often that it is out of order."""
    if int((np.diff(one.steps) < 0).sum()) > min(_MOST_FALLS, max(4, len(one) // 3)):
        one = one.take(np.argsort(one.steps, kind="stable"))
    return one


def last_run(one: Series) -> Series:
    """Cut a series to its last run with rising steps."""
    found = falls(one.steps)
    if not found:
        return one
    first = max((at for at, reason in found if reason == "restarted"), default=0)
    # a point counts unless a later resume went back to its step or below
    lowest = np.full(len(one), np.inf)
    for at, reason in found:
        if reason == "resumed" and at > first:
            lowest[at - 1] = one.steps[at]
    keep = one.steps < np.minimum.accumulate(lowest[::-1])[::-1]
    keep[:first] = False
    return one.take(keep)


def step_time_of(clock: Series) -> Series:
    """Return seconds a step between records, from the time of each record; resumes leave no interval."""
    steps, seconds = np.diff(clock.steps), np.diff(clock.values)
    whole = (steps > 0) & (seconds >= 0) & np.isfinite(seconds)
    after = clock.take(slice(1, None)).take(whole)
    return Series("step_time", after.steps, seconds[whole] / steps[whole], "s", clock.origin, after.lines)


def context_of(record: RunRecord, facts: Mapping[str, Value] = _NO_FACTS, /, **known: object) -> DetectContext:
    """Return the context that a record gives, and the facts known of the case; ``known`` fields take precedence."""
    fields: dict[str, object] = {
        "total_steps": _positive(record.config, "max_steps", "train_iters", "total_steps"),
        "clip_norm": _positive(record.config, "max_grad_norm", "clip_grad", "gradient_clipping"),
        "run_seconds": _positive(record.config, "train_runtime"),
        "schedule": str(record.config.get("lr_scheduler_type", record.config.get("lr_decay_style", ""))).lower(),
        "intervals": MappingProxyType(_intervals(record, facts)),
        "end": record.end,
        "segments": record.segments,
        "times": record.times,
    }
    for name, fact in (("vocabulary", "model.vocab_size"), ("batch", "batch.micro")):
        count = _positive(facts, fact)
        fields[name] = int(count) if count is not None else None
    # 0 warm-up steps beside a warm-up share, and a clipping norm of 0, mean "not set"
    fields["warmup_steps"] = _positive(facts, "lr.warmup_steps")
    fields["epochs"] = _positive(facts, "data.epochs")
    fields["as_of"] = _moment(facts.get("run.looked_at"))
    fields["clip_norm"] = _positive(facts, "clip.max_norm") or fields["clip_norm"]
    return DetectContext(**(fields | known))  # type: ignore[arg-type]


def _moment(text: object) -> float | None:
    """Seconds since 1970 of a time in ISO 8601, in UTC if it names no zone, as the clocks of logs are read."""
    try:
        read = datetime.fromisoformat(str(text))
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _intervals(record: RunRecord, facts: Mapping[str, Value]) -> dict[str, float]:
    """Steps between events: as stated, as configured, or as the series show them, the latter before the others."""
    intervals: dict[str, float] = {}
    for given, key, name in (
        (facts, "checkpoint.interval_steps", "checkpoint"),
        (facts, "eval.interval_steps", "evaluation"),
        (record.config, "logging_steps", "logging"),
        (record.config, "save_steps", "checkpoint"),
        (record.config, "eval_steps", "evaluation"),
    ):
        value = _number(given, key)
        if value is not None and 1 <= value < np.inf:
            intervals[name] = value
    by_name = {one.name: one for one in record.series}
    for name, series in (("evaluation", by_name.get("eval_loss")), ("logging", by_name.get("loss"))):
        interval = median_interval(series.steps) if series is not None else None
        if interval is not None:
            intervals[name] = interval
    epoch = by_name.get("epoch")
    per_epoch = steps_per_epoch(epoch) if epoch is not None else None
    if per_epoch is not None:
        intervals["epoch"] = per_epoch
    return intervals


def _number(given: Mapping[str, object], key: str) -> float | None:
    value = given.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _positive(given: Mapping[str, object], *keys: str) -> float | None:
    return next((value for key in keys if (value := _number(given, key)) is not None and 0 < value < np.inf), None)


def median_interval(steps: Floats) -> float | None:
    """Return the median distance of rising steps, None with fewer than two."""
    rises = np.diff(steps)
    rises = rises[rises > 0]
    return float(np.median(rises)) if len(rises) else None


def steps_per_epoch(epoch: Series) -> float | None:
    """Return steps per epoch from the logged epoch, by the widest rising span."""
    run = last_run(epoch)
    if len(run) < 2:
        return None
    span, steps = float(run.values[-1] - run.values[0]), float(run.steps[-1] - run.steps[0])
    return steps / span if span > 0 and steps > 0 and np.isfinite(span) else None
