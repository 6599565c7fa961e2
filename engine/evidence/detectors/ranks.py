"""Series of single ranks: is one of them slower than the others, and is it always the same?

A rank stands in the name of its series (``step_time/rank3``, ``rank_3/forward_time``). Medians over the run are
compared, so that single slow steps do not count; the share of steps in which the slowest rank is slowest tells whether
the place moves. In synchronous training the whole step takes equally long everywhere: the compute time of a rank tells
more, and the wait of a rank is short where it is the slow one.

False positives: pipeline stages of unequal work; a rank that also logs or evaluates.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.rank_names import by_rank
from engine.evidence.detectors.view import View
from engine.evidence.series import Series

# The compute time of a rank tells more than its step time, which waits for the others.
_TIMES = ("compute_time", "forward_backward_time", "forward_time", "fwd_time", "step_time", "iter_time", "batch_time")
_LEAST_RANKS, _LEAST_STEPS, _SAME_PLACE = 3, 5, 0.6


def detect_ranks(view: View, out: Collector) -> None:
    """State rank.slowest_ratio, rank.slowest and rank.slow_place_moves."""
    groups = by_rank(view)
    for base in _TIMES:
        if base in groups:
            _compare({rank: one.take(np.isfinite(one.values)) for rank, one in groups[base].items()}, out)
            return


def _compare(ranks: dict[int, Series], out: Collector) -> None:
    long = {rank: one for rank, one in ranks.items() if len(one) >= _LEAST_STEPS}
    if len(long) < _LEAST_RANKS:
        out.skip(messages.RANKS, messages.filled(messages.FEW_RANKS, count=len(long)))
        return
    out.judge(messages.RANKS)
    medians = {rank: float(np.median(one.values)) for rank, one in long.items()}
    usual = float(np.median(list(medians.values())))
    if usual <= 0:
        return
    slowest = max(medians, key=lambda rank: (medians[rank], -rank))
    source = long[slowest].source(len(long[slowest]) - 1)
    out.say(
        "rank.slowest_ratio", max(medians[slowest] / usual, 1.0), source, f"median of rank {slowest} over {usual:.4g}"
    )
    out.say("rank.slowest", float(slowest), source)
    length = min(len(one) for one in long.values())
    order = list(long)
    place = np.argmax(np.stack([long[rank].values[-length:] for rank in order]), axis=0)
    spread = np.stack([long[rank].values[-length:] for rank in order])
    jitter = float(np.median(spread.max(axis=0))) / usual
    most = float(np.bincount(place).max()) / length
    moves = jitter >= 1.1 and most < _SAME_PLACE and medians[slowest] / usual < 1.1
    out.say("rank.slow_place_moves", moves, source, f"one rank is slowest in at most {most:.0%} of the steps")
