"""Files of which each is one rank's (``rank3.log``): what they logged of the same quantity, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.evidence.series import RunRecord, Series
from engine.evidence.signatures.places import rank_of_file

_METRICS = frozenset({"loss", "grad_norm"})


def side_by_side(records: Sequence[RunRecord]) -> tuple[Series, ...]:
    """The losses and gradient norms of the ranks as series that name their rank.

    Step times are left out: in synchronous training every rank shows the time of the slowest.
    """
    return tuple(
        replace(one, name=f"{one.name}/rank{rank}")
        for record in records
        if (rank := rank_of_file(record.read.file)) is not None
        for one in record.series
        if one.name in _METRICS
    )
