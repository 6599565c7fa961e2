"""Where ranks log values of their own: which of them was non-finite first, and was it alone?

Data-parallel ranks have a loss each until the gradients are reduced; what one of them has in a step, all have in the
next. So only the step of the onset tells: alone is a rank whose value is not finite in a step in which another rank
logged a finite one. All at once says that no rank is the odd one only where every step is logged.

A rank without a single finite value is left out while others stay finite: stages of a pipeline that do not compute the
loss log NaN in its place.

False positives: the data of that rank (an empty or broken batch) look the same as its hardware.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.rank_names import by_rank
from engine.evidence.detectors.view import View, median_interval
from engine.evidence.series import Series

_METRICS = ("loss", "grad_norm")


@dataclass(frozen=True, slots=True)
class First:
    """The first rank with a value that is not finite: where in its series, and whether no other was so by then."""

    rank: int
    at: int
    alone: bool | None
    others: int


def detect_first_rank(view: View, out: Collector) -> None:
    """State ranks.first_nonfinite and ranks.nonfinite_alone; loss.nan where only another rank shows it."""
    groups = by_rank(view)
    for name in _METRICS:
        ranks = groups.get(name, {})
        if len(ranks) < 2:
            continue
        out.judge(messages.FIRST_RANK)
        found = first_nonfinite(ranks)
        if found is None:
            continue
        source = ranks[found.rank].source(found.at, rank=found.rank)
        if found.alone is not None:
            note = f"{name} of rank {found.rank}; {found.others} other ranks are finite in that step"
            out.say("ranks.nonfinite_alone", found.alone, source, note)
        if found.alone:
            out.say("ranks.first_nonfinite", float(found.rank), source)
        followed = view.raw(name)
        if name == "loss" and (followed is None or bool(np.isfinite(followed.values).all())):
            out.say("loss.nan", True, source, f"on rank {found.rank}")
            out.say("loss.nan_step", float(ranks[found.rank].steps[found.at]), source)
        return


def first_nonfinite(ranks: Mapping[int, Series]) -> First | None:
    """The rank with the earliest step that is not finite; None if all stay finite."""
    finite = {rank: np.isfinite(one.values) for rank, one in ranks.items()}
    if any(known.all() for known in finite.values()):
        finite = {rank: known for rank, known in finite.items() if known.any()}
    onsets = {rank: int(np.argmin(known)) for rank, known in finite.items() if not known.all()}
    if not onsets:
        return None
    step = min(float(ranks[rank].steps[at]) for rank, at in onsets.items())
    first = sorted(rank for rank, at in onsets.items() if float(ranks[rank].steps[at]) == step)
    there = sum(bool((ranks[rank].steps == step).any()) for rank in finite)
    alone: bool | None = None
    if there > len(first):
        alone = len(first) == 1
    elif there > 1 and (median_interval(ranks[first[0]].steps) or 1.0) <= 1.0:
        alone = False
    return First(first[0], onsets[first[0]], alone, there - len(first))
