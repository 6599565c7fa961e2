"""Quality metrics of evaluations over steps: falling while the loss improves, frozen, flat; and token accuracy.

Higher is better for the metrics named here. Falling: the last evaluations lie below the best by 5 % of it, by 0.01 and
by four times the noise of the curve. Frozen: not one digit changes in three or more evaluations while the training loss
is not constant. Flat: within 0.02 over eight evaluations or more while the training loss falls by less than 15 % (token
accuracy: by less than 3 %, or zero throughout).

False positives: an evaluation set of a few items, whose score moves by steps; metrics drawn anew each time.
"""

from __future__ import annotations

import re

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import curve_noise, first_level, last_level
from engine.evidence.series import Series

_SIDE = re.compile(r"^(eval|val|valid|validation|test|dev)_")
_QUALITY = re.compile(
    r"(?:^|_)(accuracy|acc|f1|exact_match|em|bleu|rouge|meteor|pass|win_rate|auc|precision|mcc|spearman|pearson|"
    r"ndcg|mrr|recall|map|hit|hits|reward|score)(?:_|$|\d)"
)
_RETRIEVAL = re.compile(r"(?:^|_)(ndcg|mrr|recall|map|hits?)(?:_|$|\d)")
_NO_LEVEL = re.compile(r"rewards?_(chosen|rejected|margins?)|std|runtime|per_second|loss")
_TOKEN_ACCURACY = ("mean_token_accuracy", "token_accuracy", "train_token_accuracy")
_LOST, _LOST_POINTS, _FLAT_POINTS, _FLAT_LEAST = 0.05, 0.01, 0.02, 8
_TOKENS_LEAST, _TOKENS_ZERO = 20, 0.001


def detect_metrics(view: View, out: Collector) -> None:
    """State eval_metric.*, retrieval.metric_falling, token_accuracy.flat; must run after the detectors of the loss."""
    metrics = [one for name in sorted(view.names) if _is_quality(name) and (one := view.finite(name)) is not None]
    metrics = [one for one in metrics if len(one) >= 3]
    loss = view.finite("loss")
    _token_accuracy(view.finite(*_TOKEN_ACCURACY), loss, out)
    if not metrics:
        return
    out.judge(messages.QUALITY)
    _frozen(metrics, loss, out)
    long = [one for one in metrics if len(one) >= 4]
    if not long:
        out.skip(messages.QUALITY, messages.filled(messages.FEW_EVALUATIONS, least=4))
        return
    _falling(long, out)
    _flat(long, loss, out)


def _is_quality(name: str) -> bool:
    return bool(_SIDE.match(name) and _QUALITY.search(name) and not _NO_LEVEL.search(name))


def _lost(one: Series) -> float:
    """Return how much of the best value is lost at the end; 0 within the noise."""
    best = int(np.argmax(one.values))
    if best >= len(one) - 2:
        return 0.0
    last = float(np.median(one.values[-min(3, len(one) - 1 - best) :]))
    drop = float(one.values[best]) - last
    clear = drop > max(_LOST * abs(float(one.values[best])), _LOST_POINTS, 4 * curve_noise(one.values))
    return drop if clear else 0.0


def _falling(metrics: list[Series], out: Collector) -> None:
    improves = out.value("loss.falling") is True and out.value("loss.diverging") is not True
    if not improves:
        return
    worst = max(metrics, key=_lost)
    falls = _lost(worst) > 0
    note = f"{worst.name}: best {worst.values.max():.4g}, lately {worst.values[-1]:.4g}, while the loss falls"
    out.say("eval_metric.falling", falls, worst.source(len(worst) - 1), note if falls else "")
    retrieval = [one for one in metrics if _RETRIEVAL.search(one.name.lower().replace("@", "_"))]
    if retrieval:
        worst = max(retrieval, key=_lost)
        out.say("retrieval.metric_falling", _lost(worst) > 0, worst.source(len(worst) - 1), worst.name)


def _frozen(metrics: list[Series], loss: Series | None, out: Collector) -> None:
    same = [one for one in metrics if not np.ptp(one.values)]
    at_ceiling = all(float(one.values[0]) in (1.0, 100.0) for one in same)
    moves = loss is None or len(loss) < 2 or bool(np.ptp(loss.values))
    frozen = len(same) == len(metrics) and not at_ceiling and moves
    one = same[0] if same else metrics[0]
    out.say("eval_metric.frozen", frozen, one.source(len(one) - 1), f"{one.name} {one.values[-1]:.6g} {len(one)} times")


def _flat(metrics: list[Series], loss: Series | None, out: Collector) -> None:
    long = [one for one in metrics if len(one) >= _FLAT_LEAST and float(one.values.max()) <= 1.0]
    if not long or loss is None or (loss.values <= 0).any() or len(loss) < 4:
        return
    kept = last_level(loss.values) / first_level(loss.values)
    one = max(long, key=lambda each: float(np.ptp(each.values)))
    moved = abs(last_level(one.values) - first_level(one.values))
    flat = moved <= _FLAT_POINTS and float(one.values.max()) < 0.98 and 0.85 <= kept <= 1.05
    note = f"{one.name} moved by {moved:.3g}, the loss by {kept - 1:+.0%}"
    out.say("eval_metric.flat", flat, one.source(len(one) - 1), note)


def _token_accuracy(one: Series | None, loss: Series | None, out: Collector) -> None:
    """Zero throughout, or unmoved while the loss is unmoved as well."""
    if one is None or len(one) < _TOKENS_LEAST:
        return
    zero = float(one.values.max()) <= _TOKENS_ZERO
    moved = abs(last_level(one.values) - first_level(one.values))
    stands = (
        loss is not None and bool((loss.values > 0).all()) and last_level(loss.values) > 0.97 * first_level(loss.values)
    )
    flat = zero or (moved <= _FLAT_POINTS and stands and last_level(one.values) < 0.98)
    out.say("token_accuracy.flat", flat, one.source(len(one) - 1), f"moved by {moved:.3g}, now {one.values[-1]:.3g}")
