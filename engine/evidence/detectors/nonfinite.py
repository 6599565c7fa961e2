"""NaN and infinity in the losses, also where a trainer hides them.

The Hugging Face Trainer replaces a non-finite loss in its logs (``logging_nan_inf_filter``, on by default),
so a NaN run shows a loss of exactly 0.0 beside a NaN gradient norm. Megatron skips such steps and counts
them.

False positives: a loss that is exactly 0 because every label is masked, with a NaN gradient norm, reads the
same (its evaluation loss is NaN too; that is said). A single NaN from a corrupt log line counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.series import Series

_ENOUGH = 4  # finite points that make "no NaN" a statement


def detect_nonfinite(view: View, out: Collector) -> None:
    """State loss.nan*, loss.zero_filtered, loss.recovered_after_nan and eval_loss.nan*."""
    loss, norm = view.raw("loss"), view.raw("grad_norm")
    if loss is not None and len(loss):
        _train(view, loss, norm, out)
    evaluation = view.raw("eval_loss")
    if evaluation is not None and len(evaluation):
        _evaluation(evaluation, out)


def hidden_zeros(loss: Series, norm: Series | None) -> NDArray[np.bool_]:
    """Mark exact zeros of the loss at steps whose gradient norm is not finite."""
    zero = loss.values == 0.0
    if norm is None or not zero.any():
        return np.zeros(len(loss), dtype=np.bool_)
    bad = norm.steps[~np.isfinite(norm.values)]
    hidden: NDArray[np.bool_] = zero & np.isin(loss.steps, bad)
    return hidden


def _train(view: View, loss: Series, norm: Series | None, out: Collector) -> None:
    out.judge(messages.NONFINITE_LOSS)
    hidden = hidden_zeros(loss, norm)
    bad = ~np.isfinite(loss.values) | hidden
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        note = f"{int(bad.sum())} of {len(loss)} records are not finite"
        if hidden.any():
            note = (
                f"{int(hidden.sum())} of {len(loss)} records show a loss of exactly 0 beside a non-finite gradient norm"
            )
        out.say("loss.nan", True, loss.source(at), note)
        out.say("loss.nan_step", float(loss.steps[at]), loss.source(at))
        _recovery(loss, bad, out)
    else:
        _counted(view, loss, out)
    if hidden.any():
        out.say("loss.zero_filtered", True, loss.source(int(np.flatnonzero(hidden)[0])), "a trainer's NaN filter")
    elif len(loss) >= _ENOUGH and not (loss.values == 0.0).any():
        out.say("loss.zero_filtered", False, loss.source(len(loss) - 1))


def _recovery(loss: Series, bad: NDArray[np.bool_], out: Collector) -> None:
    last_bad = int(np.flatnonzero(bad)[-1])
    after = len(loss) - 1 - last_bad
    if after >= 3:
        out.say("loss.recovered_after_nan", True, loss.source(len(loss) - 1), f"{after} finite records follow")
    elif after == 0 and len(loss) >= 2:
        out.say("loss.recovered_after_nan", False, loss.source(last_bad), "the last record is not finite")


def _counted(view: View, loss: Series, out: Collector) -> None:
    counter = view.raw("nan_steps")
    if counter is not None and (counter.values > 0).any():
        at = int(np.flatnonzero(counter.values > 0)[0])
        out.say("loss.nan", True, counter.source(at), "the trainer's own counter of NaN iterations")
        out.say("loss.nan_step", float(counter.steps[at]), counter.source(at))
    elif len(loss) >= _ENOUGH:
        out.say("loss.nan", False, loss.source(len(loss) - 1), f"{len(loss)} finite records")


def _evaluation(evaluation: Series, out: Collector) -> None:
    out.judge(messages.NONFINITE_EVAL)
    bad = ~np.isfinite(evaluation.values)
    if bad.any():
        source = evaluation.source(int(np.flatnonzero(bad)[0]))
        out.say("eval_loss.nan", True, source, f"{int(bad.sum())} of {len(evaluation)} evaluations")
        train = out.value("loss.nan")
        if train is not None:
            out.say("eval_loss.nan_only", train is False, source)
    elif len(evaluation) >= 2:
        out.say("eval_loss.nan", False, evaluation.source(len(evaluation) - 1))
        out.say("eval_loss.nan_only", False, evaluation.source(len(evaluation) - 1))
