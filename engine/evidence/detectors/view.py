"""What detectors see and say: series by canonical name, the context of the run, and typed facts with sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from engine.evidence.series import Floats, RunEnd, RunRecord, Segment, Series, falls
from engine.model.evidence import Source, Value


@dataclass(frozen=True, slots=True)
class DetectContext:
    """What is known about the run beside its series; every field may be unknown.

    ``intervals`` maps shard, checkpoint, evaluation, epoch, logging to steps. ``batch`` is the number of
    candidates a contrastive loss chooses from, ``choices`` that of a multiple-choice or classification loss.
    """

    paradigm: str | None = None
    vocabulary: int | None = None
    batch: int | None = None
    choices: int | None = None
    warmup_steps: float | None = None
    total_steps: float | None = None
    intervals: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    scale_floor: float = 1.0  # min_loss_scale of DeepSpeed, 1 by default; torch's GradScaler has no floor
    end: RunEnd | None = None
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Detected:
    """One fact read from the series; ``note`` says how in numbers, for people."""

    fact: str
    value: Value
    source: Source
    note: str = ""


@dataclass(frozen=True, slots=True)
class Detections:
    """The facts, what could be judged, and what could not with the reason."""

    facts: tuple[Detected, ...]
    judged: tuple[str, ...]
    not_judged: tuple[tuple[str, str], ...]

    def value(self, fact: str) -> Value | None:
        """Return the value of a fact, None if it is unknown."""
        return next((found.value for found in self.facts if found.fact == fact), None)


@dataclass(slots=True)
class Collector:
    """Gathers what the detectors say, in their order."""

    facts: dict[str, Detected] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    not_judged: list[tuple[str, str]] = field(default_factory=list)

    def say(self, fact: str, value: Value, source: Source, note: str = "") -> None:
        """State a fact; the first detector to state it stands."""
        value = bool(value) if isinstance(value, bool | np.bool_) else value if isinstance(value, str) else float(value)
        self.facts.setdefault(fact, Detected(fact, value, source, note))

    def value(self, fact: str) -> Value | None:
        """Return what was said of a fact before, None if nothing."""
        found = self.facts.get(fact)
        return None if found is None else found.value

    def judge(self, what: str) -> None:
        """Note that something was looked at and could be judged."""
        if what not in self.judged:
            self.judged.append(what)

    def skip(self, what: str, why: str) -> None:
        """Note that something could not be judged."""
        self.not_judged.append((what, why))


class View:
    """Series by name: as read (``raw``), or as one rising run of finite values (``run``)."""

    def __init__(self, series: Sequence[Series], context: DetectContext) -> None:
        """Of several series of one name (two files of one run) the longest stands for all."""
        self.context = context
        self.names = {one.name for one in series}
        self._longest: dict[str, Series] = {}
        for one in series:
            kept = self._longest.get(one.name)
            if kept is None or len(one) > len(kept):
                self._longest[one.name] = one

    def is_policy_loss(self) -> bool:
        """Tell whether ``loss`` is a policy-gradient surrogate: near zero, of either sign, no measure of progress."""
        return self.context.paradigm == "rlhf" or bool({"reward", "rewards"} & self.names)

    def raw(self, name: str) -> Series | None:
        """Return the series in the order of the file, steps falling at resumes, NaN kept."""
        return self._longest.get(name)

    def run(self, name: str) -> Series | None:
        """Return the last run: what a resume repeated counts once, runs before a new start are left out."""
        one = self._longest.get(name)
        return None if one is None else last_run(one)

    def finite(self, name: str) -> Series | None:
        """Return the finite points of the last run; None if there are none."""
        one = self.run(name)
        if one is None:
            return None
        one = one.take(np.isfinite(one.values))
        return one if len(one) else None


def last_run(one: Series) -> Series:
    """Cut a series to its last run with rising steps."""
    keep = np.ones(len(one), dtype=np.bool_)
    for at, reason in falls(one.steps):
        if reason == "resumed":
            keep[:at] &= one.steps[:at] < one.steps[at]
        else:
            keep[:at] = False
    return one.take(keep)


def context_of(record: RunRecord, **known: object) -> DetectContext:
    """Return the context a record itself gives; ``known`` fields (from the case) take precedence."""
    intervals: dict[str, float] = {}
    for key, name in (
        ("logging_steps", "logging"),
        ("save_steps", "checkpoint"),
        ("eval_steps", "evaluation"),
    ):
        value = record.config.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1:
            intervals[name] = float(value)
    by_name = {one.name: one for one in record.series}
    for name, series in (("evaluation", by_name.get("eval_loss")), ("logging", by_name.get("loss"))):
        interval = median_interval(series.steps) if series is not None else None
        if interval is not None:
            intervals[name] = interval
    epoch = by_name.get("epoch")
    per_epoch = steps_per_epoch(epoch) if epoch is not None else None
    if per_epoch is not None:
        intervals["epoch"] = per_epoch
    total = record.config.get("max_steps", record.config.get("train_iters"))
    fields: dict[str, object] = {
        "total_steps": float(total) if isinstance(total, int | float) and total > 0 else None,
        "intervals": MappingProxyType(intervals),
        "end": record.end,
        "segments": record.segments,
    }
    return DetectContext(**(fields | known))  # type: ignore[arg-type]


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
