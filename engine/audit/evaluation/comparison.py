"""Targets and neighbouring tasks: does a score reach what was declared, and did another one fall beyond its noise?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engine.audit.evaluation.files import Bundle, NoEvidenceError
from engine.audit.evaluation.results import Measured, Results, item_scores
from engine.audit.intent import Neighbour, Target
from engine.audit.ledger import Place
from engine.audit.statistics import Z95, Difference, holm, items_needed, one_sided, paired, unpaired, wilson_lower
from engine.model.base import Text

Outcome = Literal["holds", "fails", "open"]
# One-sided 2.3 % each: 6.7 % over three tests, 21 % over ten; from four tests on Holm keeps it at 2.3 % in all.
DEFAULT_K = 2.0
MOST_SINGLE_TESTS = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one target or neighbour; ``why`` says why one is open, ``drop`` by how much a share fell.

    ``wanted`` says what to add to which file, so that an open one can be judged.
    """

    outcome: Outcome
    place: Place
    why: Text | None = None
    drop: float | None = None
    wanted: Text | None = None


def better(measured: Measured, baseline: Measured) -> float:
    """By how much a score is better than that of the baseline, in the metric's unit."""
    difference = measured.score.value - baseline.score.value
    return difference if measured.score.higher_is_better else -difference


def judge_target(target: Target, candidate: Results, baseline: Results | NoEvidenceError) -> Judged:
    """Hold a target against its thresholds.

    A value above ``min_value`` whose lower 95 % bound lies below it is open: it cannot be confirmed. For a metric that
    is better when lower ``min_value`` is the upper limit. Without any threshold the target must not be below baseline.
    """
    ours = candidate.find(target.task, target.metric)
    if ours is None:
        return _without_score(candidate, target.task, target.metric)
    value, file = ours.score.value, ours.result.label
    if not math.isfinite(value):
        return Judged("fails", Place(file, ours.at, f"{value}", "a number", "evaluation"))
    if target.min_value is not None:
        judged = _held_against(ours, target.min_value)
        if judged.outcome != "holds":
            return judged
    if target.min_value is not None and target.min_gain_over_baseline is None:
        return Judged("holds", Place(file, ours.at, str(ours.score), f"at least {target.min_value:g}", "intent"))
    return _gained(ours, target, baseline)


def _held_against(ours: Measured, limit: float) -> Judged:
    score, file = ours.score, ours.result.label
    if score.is_share and limit > 1:
        return _open(
            file,
            ours.at,
            f"gives {score.value:.4g}, a share, while the intent asks for {limit:g}: write the threshold as a share",
            f"给出的是比例 {score.value:.4g}，而意图要求 {limit:g}：请把阈值写成比例",
        )
    sign = 1.0 if score.higher_is_better else -1.0
    place = Place(file, ours.at, str(score), f"at {'least' if sign > 0 else 'most'} {limit:g}", "intent")
    if sign * score.value < sign * limit:
        return Judged("fails", place)
    bound = _bound(ours)
    if bound is not None and sign * bound < sign * limit:
        return Judged(
            "open",
            place,
            Text(
                en=f"{score} reaches {limit:g}, but its 95 % bound {bound:.4g} does not: more items are needed.",
                zh=f"{score} 达到 {limit:g}，但其 95% 置信界 {bound:.4g} 未达到：需要更多样本。",
            ),
        )
    return Judged("holds", place)


def _bound(ours: Measured) -> float | None:
    """The end of the 95 % interval that speaks against the score; None if nothing is known of its noise."""
    score = ours.score
    if score.is_share and score.items and _is_zero_or_one(ours):
        return wilson_lower(score.value, score.items)
    error = score.error
    if error is None:
        return None
    return score.value - Z95 * error if score.higher_is_better else score.value + Z95 * error


def _is_zero_or_one(ours: Measured) -> bool:
    """Whether items score 0 or 1: then the stated error is that of a share, sqrt(p (1 - p) / (n - 1))."""
    score = ours.score
    if not score.items or score.items <= 1 or score.stderr is None or not math.isfinite(score.stderr):
        return bool(score.items) and score.stderr is None
    binomial = math.sqrt(score.value * (1 - score.value) / (score.items - 1))
    return math.isclose(score.stderr, binomial, rel_tol=0.02, abs_tol=1e-6)


def _gained(ours: Measured, target: Target, baseline: Results | NoEvidenceError) -> Judged:
    needed = target.min_gain_over_baseline or 0.0
    place = Place(ours.result.label, ours.at, str(ours.score), f"a gain of {needed:g} over the baseline", "intent")
    if isinstance(baseline, NoEvidenceError):
        return Judged("open", place, baseline.text, wanted=baseline.wanted)
    theirs = baseline.find(target.task, target.metric)
    if theirs is None or not math.isfinite(theirs.score.value):
        return _without_score(baseline, target.task, target.metric)
    gain = better(ours, theirs)
    seen = f"{ours.score}, baseline {theirs.score.value:.4g}: gain {gain:.4g}"
    expected = f"a gain of at least {needed:g}"
    place = Place(ours.result.label, ours.at, seen, expected, "intent" if needed else "baseline")
    # A threshold is a decimal number and a gain a difference of two: 0.44 - 0.41 shall reach 0.03.
    return Judged("holds" if gain >= needed - 1e-12 else "fails", place)


@dataclass(frozen=True, slots=True)
class _Test:
    """One neighbour with its drop (positive is worse) in its standard errors."""

    neighbour: Neighbour
    ours: Measured
    theirs: Measured
    drop: Difference | float

    @property
    def worse(self) -> float:
        return self.drop.mean if isinstance(self.drop, Difference) else self.drop

    @property
    def k(self) -> float:
        declared = self.neighbour.max_drop_in_stderr_of_difference
        return declared if declared is not None and declared > 0 else DEFAULT_K


def judge_neighbours(neighbours: Sequence[Neighbour], candidate: Results, baseline: Results) -> list[Judged]:
    """Hold every neighbour against the baseline, all tests together."""
    judged: list[Judged] = []
    tests: list[_Test] = []
    for neighbour in neighbours:
        found = _test(neighbour, candidate, baseline)
        if isinstance(found, Judged):
            judged.append(found)
        else:
            tests.append(found)
    beyond = _beyond_noise(tests)
    return judged + [_verdict(test, fell, len(tests)) for test, fell in zip(tests, beyond, strict=True)]


def _test(neighbour: Neighbour, candidate: Results, baseline: Results) -> _Test | Judged:
    found: list[Measured] = []
    for results in (candidate, baseline):
        measured = results.find(neighbour.task, neighbour.metric)
        if measured is None or not math.isfinite(measured.score.value):
            return _without_score(results, neighbour.task, neighbour.metric)
        found.append(measured)
    ours, theirs = found
    return _Test(neighbour, ours, theirs, _drop(ours, theirs, candidate.samples, baseline.samples))


def _drop(ours: Measured, theirs: Measured, mine: Bundle, other: Bundle) -> Difference | float:
    """The drop, paired item by item where both sides have samples that agree with what was reported."""
    sign = 1.0 if ours.score.higher_is_better else -1.0
    worse = -better(ours, theirs)
    try:
        a = item_scores(mine, ours.score.task, ours.score.metric)
        b = item_scores(other, theirs.score.task, theirs.score.metric) if a else {}
    except NoEvidenceError:
        a = b = {}
    both = sorted(a.keys() & b.keys())
    if len(both) >= 2 and len(both) == len(a) == len(b):
        found = paired([sign * b[key] for key in both], [sign * a[key] for key in both])
        if math.isclose(found.mean, worse, abs_tol=1e-3):
            return found
    errors = (ours.score.error, theirs.score.error)
    return unpaired(worse, errors[0], errors[1]) if errors[0] is not None and errors[1] is not None else worse


def _beyond_noise(tests: Sequence[_Test]) -> list[bool]:
    """Which drops are more than noise: k standard errors for up to three tests, Holm at the same level for more."""
    known = [(at, test.drop.p, one_sided(test.k)) for at, test in enumerate(tests) if isinstance(test.drop, Difference)]
    if len(known) <= MOST_SINGLE_TESTS:
        fell = {at for at, p, level in known if p < level}
    else:
        rejected = holm([(p, level) for _, p, level in known])
        fell = {at for (at, _, _), one in zip(known, rejected, strict=True) if one}
    return [at in fell for at in range(len(tests))]


def _verdict(test: _Test, fell: bool, count: int) -> Judged:
    tolerance, drop = test.neighbour.max_drop, test.drop
    place, fallen = _place(test, count), test.worse if test.ours.score.is_share else None
    if not isinstance(drop, Difference):
        if tolerance is None:
            return _open(
                test.ours.result.label,
                test.ours.at,
                "gives no standard error on both sides: declare max_drop, or keep the samples",
                "两侧未同时给出标准误：请声明 max_drop，或保存逐条样本",
            )
        return Judged("holds" if drop <= tolerance + 1e-12 else "fails", place, drop=fallen)
    if tolerance is None:
        return Judged("fails" if fell else "holds", place, drop=fallen)
    if drop.mean > tolerance and fell:
        return Judged("fails", place, drop=fallen)
    if drop.mean > tolerance or drop.detectable > tolerance:
        return Judged("open", place, _too_small(test, drop, tolerance), fallen)
    return Judged("holds", place, drop=fallen)


def _too_small(test: _Test, drop: Difference, tolerance: float) -> Text:
    items = drop.items or test.ours.score.items
    needed = f"; n needed = {items_needed(drop, items, tolerance):,}" if items and tolerance > 0 else ""
    name = test.neighbour.task
    return Text(
        en=f"{name}: eval too small to see a drop of {tolerance:g}, detectable from {drop.detectable:.3g} on{needed}.",
        zh=f"{name}：评测规模太小，看不出 {tolerance:g} 的下降，可检测的最小下降为 {drop.detectable:.3g}{needed}。",
    )


def _place(test: _Test, count: int) -> Place:
    drop = test.drop
    seen = f"{test.ours.score}, baseline {test.theirs.score.value:.4g}"
    if isinstance(drop, Difference):
        seen += f": {round(drop.z, 1) + 0.0:g} standard errors of the {'paired ' if drop.items else ''}difference below"
        seen += f", {drop.flips[0]} items fell and {drop.flips[1]} rose" if drop.flips else ""
    limit = f"{test.k:g} standard errors"
    if test.neighbour.max_drop is not None:
        limit = f"{test.neighbour.max_drop:g}"
    tests = f" ({count} tests{', Holm' if count > MOST_SINGLE_TESTS else ''})"
    return Place(test.ours.result.label, test.ours.at, seen, f"a drop of at most {limit}{tests}", "baseline")


def _without_score(results: Results, task: str, metric: str) -> Judged:
    file, name = results.bundle.name, f"{task} {metric}"
    wanted = Text(
        en=f"Add `results.{task}` with `{metric}` to {file}: run the task with the harness."[:2000],
        zh=f"在 {file} 中加入含 `{metric}` 的 `results.{task}`：用评测工具跑该任务。"[:2000],
    )
    return replace(_open(file, name, f"holds no score of {name}", f"没有 {name} 的分数"), wanted=wanted)


def _open(file: str, at: str, en: str, zh: str) -> Judged:
    return Judged("open", Place(file, at), Text(en=f"{file} {en}.", zh=f"{file} {zh}。"))
