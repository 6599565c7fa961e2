"""What single ranks logged: series that name a rank (``loss/rank3``, ``rank_3/forward_time``), or rows that do."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from engine.evidence.detectors.view import View, last_run
from engine.evidence.readers.names import canonical
from engine.evidence.series import Series

_NAMED = re.compile(r"^(?:rank_?(\d{1,6})_(.+)|(.+?)_rank_?(\d{1,6}))$")
_COLUMNS = ("rank", "global_rank", "process_index")
_WRITTEN_BY_EACH = ("loss", "grad_norm")
_MOST_RANKS = 1_024


def by_rank(view: View) -> Mapping[str, Mapping[int, Series]]:
    """The last run of each rank, NaN kept, by the canonical name of its metric and by rank."""
    groups = _of_column(view)
    for name in sorted(view.names):
        found = _NAMED.match(name)
        one = view.run(name) if found is not None else None
        if found is not None and one is not None and len(one):
            base, rank = (found[2], found[1]) if found[1] is not None else (found[3], found[4])
            known = canonical(base)
            groups.setdefault(known.name if known.known else base, {})[int(rank)] = one
    return groups


def _of_column(view: View) -> dict[str, dict[int, Series]]:
    """The rows of a table by the rank that its column names, where a value among them is not finite."""
    groups: dict[str, dict[int, Series]] = {}
    column = view.raw(*_COLUMNS)
    if column is None or column.lines is None or not len(column):
        return groups
    known = np.unique(column.values[np.isfinite(column.values)])[:_MOST_RANKS]
    for name in _WRITTEN_BY_EACH:
        one = view.raw(name)
        if one is None or one.lines is None or one.origin != column.origin or np.isfinite(one.values).all():
            continue
        place = np.searchsorted(column.lines, one.lines).clip(0, len(column) - 1)
        ranks = np.where(column.lines[place] == one.lines, column.values[place], np.nan)
        groups[name] = {int(rank): last_run(one.take(ranks == rank)) for rank in known if (ranks == rank).any()}
    return groups
