"""Evaluations of one case held against each other: which is the baseline, and what is worse beyond the noise."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.evidence.readers.results.judge import fact, source
from engine.evidence.readers.results.scores import Evaluation, Score
from engine.evidence.series import RunRecord
from engine.model.base import Text
from engine.model.evidence import FindingReading, Reading

NAME = Text(en="scores against a baseline", zh="与基线的分数对比")
_NOTHING_IN_COMMON = Text(
    en="the result files have no task and metric in common", zh="这些结果文件没有共同的任务与指标"
)
_NO_BASELINE = Text(
    en="it is not clear which result file is the baseline: name its folder or file 'baseline'",
    zh="看不出哪个结果文件是基线：请把它的文件或文件夹命名为 baseline",
)
_NOTHING_FINITE = Text(
    en="candidate and baseline have no finite score of one task in common", zh="候选与基线没有同一任务的有限分数"
)
_BY_FILE = Text(en="by the name of the file", zh="依文件名")
_BY_MODEL = Text(en="by the name of the model", zh="依模型名")
_WITHOUT_ADAPTER = Text(en="the one without an adapter", zh="不带适配器的那个")
_EARLIEST = Text(en="the earliest", zh="最早的那个")
_BASELINE = re.compile(
    r"(?:^|[\W_])(?:baseline|base|before|reference|ref|original|orig|vanilla|old)(?:$|[\W_])", re.IGNORECASE
)
# the metric that MTEB ranks by, the first that a task has
_MAIN = ("main_score", "ndcg_at_10", "cos_sim spearman", "cos_sim ap", "accuracy", "v_measure", "map")
# A difference counts from two standard errors on (one-sided 2.3 %), shared among all scores that are compared
# (Bonferroni), and from a size that matters at all: one point of accuracy, 5 % of a perplexity, 2 % of other metrics.
_ONE_SIDED = 0.02275
_SHARE_FLOOR, _PERPLEXITY_FLOOR, _RELATIVE_FLOOR = 0.01, 0.05, 0.02
_WITHOUT_ERRORS = 2.0  # without standard errors, twice that size


@dataclass(frozen=True, slots=True)
class Comparison:
    """Facts and findings of the comparison; what was compared (for people), and why nothing could be."""

    readings: tuple[Reading, ...] = ()
    judged: tuple[Text, ...] = ()
    not_judged: tuple[tuple[Text, Text], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """A score and that of the baseline; ``worse`` is in the metric's unit, for a perplexity the ratio less 1."""

    candidate: Score
    baseline: Score
    ours: Evaluation
    theirs: Evaluation

    @property
    def worse(self) -> float:
        ours, theirs = self.candidate.value, self.baseline.value
        if self.candidate.is_perplexity:
            return ours / theirs - 1 if theirs > 0 else 0.0
        return theirs - ours if self.candidate.higher_is_better else ours - theirs

    @property
    def errors(self) -> float | None:
        """The difference in its standard errors; None if one of the two is not known."""
        ours, theirs = self.candidate.error, self.baseline.error
        if ours is None or theirs is None:
            return None
        difference = abs(self.candidate.value - self.baseline.value)
        return math.copysign(difference / math.hypot(ours, theirs), self.worse)

    @property
    def floor(self) -> float:
        if self.candidate.is_perplexity:
            return _PERPLEXITY_FLOOR
        share = 0 <= self.candidate.value <= 1 and 0 <= self.baseline.value <= 1
        return _SHARE_FLOOR if share else _RELATIVE_FLOOR * abs(self.baseline.value)

    def beyond_noise(self, needed: float) -> bool:
        if self.errors is None:
            return self.worse >= _WITHOUT_ERRORS * self.floor > 0
        return self.errors >= needed and self.worse >= self.floor

    def rose(self, needed: float) -> bool:
        if self.errors is None:
            return -self.worse >= _WITHOUT_ERRORS * self.floor > 0
        return -self.errors >= needed and -self.worse >= self.floor

    def __str__(self) -> str:
        said = "no standard errors" if self.errors is None else f"{self.errors:.1f} standard errors"
        return f"{self.candidate} against {self.baseline.value:.4g} in {self.theirs.origin} ({said})"


def compare(records: Sequence[RunRecord]) -> Comparison:
    """Hold the evaluations among the records against their baseline; nothing to say if there is only one."""
    evaluations = [record.evaluation for record in records if record.evaluation is not None]
    if len(evaluations) < 2:
        return Comparison()
    if not _common(evaluations):
        return Comparison(not_judged=((NAME, _NOTHING_IN_COMMON),))
    baselines, how = _baselines(evaluations)
    candidates = [one for one in evaluations if all(one is not baseline for baseline in baselines)]
    if not baselines or not candidates:
        return Comparison(not_judged=((NAME, _NO_BASELINE),))
    pairs = list(_pairs(candidates, baselines))
    if not pairs:
        return Comparison(not_judged=((NAME, _NOTHING_FINITE),))
    files = ", ".join(sorted({pair.theirs.origin for pair in pairs}))
    judged = Text(
        en=f"{NAME.en}: {len(pairs)} scores, baseline {files} ({how.en})",
        zh=f"{NAME.zh}：{len(pairs)} 个分数，基线 {files}（{how.zh}）",
    )
    return Comparison((*_drop(pairs), *_identical(pairs), *_protocol(pairs), *_retrieval(pairs)), (judged,))


def _common(evaluations: Sequence[Evaluation]) -> bool:
    keys = [(score.task, score.metric) for one in evaluations for score in one.scores]
    return len(set(keys)) < len(keys)


def _baselines(evaluations: Sequence[Evaluation]) -> tuple[list[Evaluation], Text]:
    """The baselines and what says so: a name, the absence of an adapter, or, for related weights, the date."""
    for how, named in (
        (_BY_FILE, [one for one in evaluations if _BASELINE.search(one.origin)]),
        (_BY_MODEL, [one for one in evaluations if _BASELINE.search(one.model)]),
        (_WITHOUT_ADAPTER, [one for one in evaluations if not one.adapter]),
    ):
        if 0 < len(named) < len(evaluations):
            return named, how
    dates = [one.when for one in evaluations if one.when is not None]
    related = len({(_stem(one.model), _stem(one.adapter)) for one in evaluations}) == 1 and evaluations[0].model
    if related and len(dates) == len(evaluations) and len(set(dates)) > 1:
        return [one for one in evaluations if one.when == min(dates)], _EARLIEST
    return [], NAME


def _stem(model: str) -> str:
    """A model's name without revision and numbers: the checkpoints of one run have one stem."""
    return re.sub(r"\d+", "", model.split("@")[0]).rstrip("/").lower()


def _pairs(candidates: Iterable[Evaluation], baselines: Iterable[Evaluation]) -> Iterator[_Pair]:
    known: dict[tuple[str, str, str], tuple[Score, Evaluation]] = {}
    for baseline in baselines:
        for score in _main_scores(baseline):
            known.setdefault((_family(baseline), score.task, score.metric), (score, baseline))
    for candidate in candidates:
        for score in _main_scores(candidate):
            found = known.get((_family(candidate), score.task, score.metric))
            if found is not None and math.isfinite(score.value) and math.isfinite(found[0].value):
                yield _Pair(score, found[0], candidate, found[1])


def _family(evaluation: Evaluation) -> str:
    """Tools whose scores mean the same: the printed table is that of the harness."""
    return "lm_eval" if evaluation.tool == "table" else evaluation.tool


def _main_scores(evaluation: Evaluation) -> Iterator[Score]:
    if evaluation.tool != "mteb":
        yield from evaluation.scores
        return
    tasks: dict[str, dict[str, Score]] = {}
    for score in evaluation.scores:
        tasks.setdefault(score.task, {})[score.metric] = score
    for metrics in tasks.values():
        if main := next((metrics[name] for name in _MAIN if name in metrics), None):
            yield main


def _same_weights(pair: _Pair) -> bool:
    ours, theirs = pair.ours, pair.theirs
    return bool(ours.model) and (ours.model, ours.adapter) == (theirs.model, theirs.adapter)


def _severity(pair: _Pair) -> tuple[bool, float, float]:
    """A perplexity that has doubled says most; else the standard errors, then the size."""
    exploded = pair.candidate.is_perplexity and pair.worse >= 1
    return exploded, pair.errors or 0.0, pair.worse / (pair.floor or 1.0)


def _drop(pairs: Sequence[_Pair]) -> Iterator[Reading]:
    from statistics import NormalDist

    needed = NormalDist().inv_cdf(1 - _ONE_SIDED / len(pairs))
    dropped = [pair for pair in pairs if pair.beyond_noise(needed)]
    worst = max(dropped or pairs, key=_severity)
    quote = str(worst) if dropped else f"{len(pairs)} scores, none worse beyond the noise; nearest: {worst}"
    yield fact(worst.ours, "eval.drop_beyond_noise", bool(dropped), quote)
    if dropped:
        yield fact(worst.ours, "eval.dropped_task", f"{worst.candidate.task} {worst.candidate.metric}", quote)
        yield fact(worst.ours, "eval.score_candidate", worst.candidate.value, quote)
        yield fact(worst.ours, "eval.score_baseline", worst.baseline.value, quote)
    if dropped and _same_weights(worst):
        yield FindingReading("eval.shift-with-equal-weights", "present", source(worst.ours, quote))
    yield from _neighbours(pairs, dropped, needed)


def _neighbours(pairs: Sequence[_Pair], dropped: Sequence[_Pair], needed: float) -> Iterator[Reading]:
    """The largest loss on a neighbouring task: one fell while another rose (the target), or none fell.

    Where all fall there is no target to be seen, and the model is worse altogether.
    """
    shares = [pair for pair in pairs if pair.candidate.is_share and not _same_weights(pair)]
    if len({pair.candidate.task for pair in shares}) < 2 or shares[0].ours.tool == "mteb":
        return
    fallen = set(dropped)
    losses = [pair for pair in shares if pair in fallen]
    if not losses:
        quote = f"{len(shares)} scores, none worse beyond the noise"
        yield fact(shares[0].ours, "release.neighbour_worst_drop", 0.0, quote)
    elif any(pair.rose(needed) for pair in shares):
        most = max(losses, key=lambda pair: pair.worse)
        yield fact(most.ours, "release.neighbour_worst_drop", most.worse, str(most))


def _identical(pairs: Sequence[_Pair]) -> Iterator[Reading]:
    """Other weights, and every digit the same: the same model was evaluated twice."""
    telling = [pair for pair in pairs if pair.candidate.value not in (0.0, 1.0) and not _same_weights(pair)]
    named = [pair for pair in telling if pair.ours.tool != "mteb" and pair.ours.model]
    if len(named) >= 3 and all(pair.candidate.value == pair.baseline.value for pair in named):
        quote = f"all {len(named)} scores equal those of {named[0].theirs.origin} in every digit"
        yield FindingReading("output.same-as-base", "present", source(named[0].ours, quote))


def _protocol(pairs: Sequence[_Pair]) -> Iterator[Reading]:
    """A setting that changes scores differs, for the whole evaluation or for a task that both have."""
    tasks = {pair.candidate.task for pair in pairs}
    for pair in {(id(one.ours), id(one.theirs)): one for one in pairs}.values():
        ours, theirs = pair.ours.protocol, pair.theirs.protocol
        for key in sorted(ours.keys() & theirs.keys()):
            if ours[key] != theirs[key] and (" " not in key or key.split(" ", 1)[1] in tasks):
                quote = f"{key}: {ours[key][:80]}, in {pair.theirs.origin} {theirs[key][:80]}"
                yield FindingReading("eval.metric-variant-differs", "present", source(pair.ours, quote))
                return


def _retrieval(pairs: Sequence[_Pair]) -> Iterator[Reading]:
    """The mean over the retrieval tasks that both sides have, as MTEB averages them."""
    ranked = [
        pair for pair in pairs
        if pair.ours.tool == "mteb" and any(score.metric == "ndcg_at_10" for score in pair.ours.scores)
    ]  # fmt: skip
    if ranked:
        quote = f"mean over {len(ranked)} retrieval tasks, baseline {ranked[0].theirs.origin}"
        ours, theirs = (
            sum(pair.candidate.value for pair in ranked) / len(ranked),
            sum(pair.baseline.value for pair in ranked) / len(ranked),
        )
        yield fact(ranked[0].ours, "retrieval.score_after", ours, quote)
        yield fact(ranked[0].ours, "retrieval.score_before", theirs, quote)
