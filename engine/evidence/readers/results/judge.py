"""What one evaluation says outright: no number, nothing right, a random guess, a wrong answer form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from engine.evidence.readers.lines import Notes
from engine.evidence.readers.results.scores import Evaluation, Score
from engine.evidence.series import ReadNote, RunEnd, RunRecord, Series
from engine.model.evidence import FactReading, FindingReading, Reading, Source, Value

"""The key of ``RunRecord.config`` under which a result file keeps its ``Evaluation``, for ``compare``."""

# GPT-2 XL and Pythia 1B lie above chance on the easy tasks; smaller models may guess and be in order.
LARGE_ENOUGH = 1e9
_EASY = re.compile(r"(?:^|[|_])(?:hellaswag|piqa|arc_easy|arc[-:]easy|sciq)(?:$|[|_:])", re.IGNORECASE)
# Working models from 1e9 parameters on: LAMBADA 3 to 15, WikiText words 8 to 25.
_PLAIN_TEXT = re.compile(r"lambada|wikitext", re.IGNORECASE)
# Sets on which good models get nothing right.
_VERY_HARD = re.compile(r"aime|hle|humanity|frontier|math_hard|minerva|olympiad|arc_?agi|swe_?bench", re.IGNORECASE)
_RANKING = re.compile(r"(?:.*\s)?(?:map|mrr|ndcg|precision|recall)_at_(\d{1,6})")
_FEWEST_ITEMS = 20
_GUESS = 0.1  # the share of the chance level within which eval.at_chance calls a score a guess
_FORM_GAP = 0.1


def record_of(
    evaluation: Evaluation, format_: str, notes: Notes, series: tuple[Series, ...] = (), more: Sequence[Reading] = ()
) -> RunRecord:
    """The record of a result file: its judgements as readings, the evaluation itself for ``compare``."""
    label = evaluation.origin
    if not evaluation.scores and not series:
        notes.add("holds no scores")
    elif evaluation.tool != "mteb" and all(score.error is None for score in evaluation.scores):
        notes.add("gives no standard errors: differences to another evaluation are judged by their size alone")
    if evaluation.limited:
        notes.add("a limit was set: only a part of each evaluation set was run, so scores are rough")
    records = len(evaluation.scores) + max(map(len, series), default=0)
    return RunRecord(
        ReadNote(label, format_, records, 0),
        RunEnd("unknown", Source("measured", label, "a result file")),
        series,
        evaluation=evaluation if evaluation.scores else None,
        readings=(*judgements(evaluation), *more),
        not_understood=tuple(notes.texts),
    )


def judgements(evaluation: Evaluation) -> tuple[Reading, ...]:
    """Facts and findings of one evaluation, the worst score as the witness of each."""
    if not evaluation.scores:
        return ()
    return (
        *_finite(evaluation),
        *_nothing_right(evaluation),
        *_guessing(evaluation),
        *_perplexity(evaluation),
        *_form(evaluation),
        *_ranking(evaluation),
    )


def source(evaluation: Evaluation, quote: str) -> Source:
    """A source in the result file."""
    return Source("measured", evaluation.origin, quote)


def fact(evaluation: Evaluation, name: str, value: Value, quote: str) -> FactReading:
    """A fact that the result file states."""
    return FactReading(name, value, source(evaluation, quote))


def _finite(evaluation: Evaluation) -> Iterator[Reading]:
    bad = [score for score in evaluation.scores if not math.isfinite(score.value)]
    quote = str(bad[0]) if bad else f"{len(evaluation.scores)} scores are numbers"
    yield fact(evaluation, "eval.score_nan", bool(bad), quote)


def _by_task(evaluation: Evaluation) -> dict[str, list[Score]]:
    """The shares of right answers, by task."""
    tasks: dict[str, list[Score]] = {}
    for score in evaluation.scores:
        if score.is_share:
            tasks.setdefault(score.task, []).append(score)
    return tasks


def _nothing_right(evaluation: Evaluation) -> Iterator[Reading]:
    """A task of which every accuracy is zero: even the wrong model gets something right by accident."""
    if evaluation.parameters is not None and evaluation.parameters < LARGE_ENOUGH:
        return
    for task, scores in _by_task(evaluation).items():
        few = any(score.items is not None and score.items < _FEWEST_ITEMS for score in scores)
        if not few and not _VERY_HARD.search(task) and all(score.value == 0 for score in scores):
            yield FindingReading("eval.score-zero", "present", source(evaluation, str(scores[0])))
            return


def _guessing(evaluation: Evaluation) -> Iterator[Reading]:
    """The task in question and its chance level: one at chance if that is telling, else the one furthest above it."""
    if evaluation.parameters is not None and evaluation.parameters < LARGE_ENOUGH:
        return
    best = [
        max(known, key=lambda score: score.value)
        for scores in _by_task(evaluation).values()
        if (known := [score for score in scores if score.chance])
    ]
    if not best:
        return
    guesses = [score for score in best if score.value < (score.chance or 0) * (1 + _GUESS)]
    telling = [score for score in guesses if _EASY.search(score.task)]
    if len(best) >= 3 and len(guesses) * 2 > len(best):
        telling = telling or guesses
    chosen = min(telling, key=_over_chance) if telling else max(best, key=_over_chance)
    yield fact(evaluation, "eval.score", chosen.value, str(chosen))
    yield fact(evaluation, "eval.chance_level", chosen.chance or 0.0, f"{chosen.task}: a guess scores {chosen.chance}")


def _over_chance(score: Score) -> float:
    return score.value / (score.chance or 1.0)


def _perplexity(evaluation: Evaluation) -> Iterator[Reading]:
    """The worst perplexity on plain text, of models whose good values are known."""
    if evaluation.parameters is None or evaluation.parameters < LARGE_ENOUGH:
        return
    found = [score for score in evaluation.scores if score.is_perplexity and _PLAIN_TEXT.search(score.task)]
    if finite := [score for score in found if math.isfinite(score.value)]:
        worst = max(finite, key=lambda score: score.value)
        yield fact(evaluation, "eval.perplexity", worst.value, str(worst))


def _form(evaluation: Evaluation) -> Iterator[Reading]:
    """The same answers, read strictly and leniently: a large gap means that the form is wrong, not the answer."""
    exact = {(score.task, score.metric.partition(",")[2]): score for score in evaluation.scores if "," in score.metric}
    for (task, filter_), strict in exact.items():
        lenient = exact.get((task, "flexible-extract"))
        if filter_ != "strict-match" or lenient is None:
            continue
        error = math.hypot(strict.error or 0.0, lenient.error or 0.0)
        if lenient.value - strict.value >= max(_FORM_GAP, 4 * error):
            quote = f"{strict}, but {lenient.metric} {lenient.value:.4g}"
            yield FindingReading("eval.gold-differs-by-formatting", "present", source(evaluation, quote))
            return


def _ranking(evaluation: Evaluation) -> Iterator[Reading]:
    """Retrieval that finds nothing among the first hundred: broken queries or language, not a weak model."""
    depths = [(int(m[1]), score) for score in evaluation.scores if (m := _RANKING.fullmatch(score.metric))]
    shallow = [score for depth, score in depths if depth <= 100]
    if len(shallow) >= 3 and all(score.value == 0 for score in shallow):
        quote = f"{shallow[0].task}: all {len(shallow)} ranking metrics up to @100 are 0"
        yield fact(evaluation, "retrieval.score_after", 0.0, quote)
