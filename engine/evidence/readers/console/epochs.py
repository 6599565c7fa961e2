"""Home-made logs of epochs: ``Epoch: 3/30`` with the time it took, and ``train 1.2 | val 1.4`` without the word loss.

Such a log has no steps, so its steps are the epochs and the time of an epoch is its step time. A time that grows from
record to record by the time of the first one is a clock since the start, not the time of an epoch.
"""

from __future__ import annotations

import re

import numpy as np

from engine.evidence.readers.columns import Columns, Spans
from engine.evidence.readers.console.records import NUMBER, Table
from engine.evidence.series import Floats

_PARTS = (("epoch hours", 3600.0), ("epoch minutes", 60.0), ("epoch seconds", 1.0))
_TIME = re.compile(
    rb"(?:(?<![\w./])(?:time taken|time per epoch|epoch[ _](?:time|duration)|duration|took|time)\s{0,3}[:=]?|[|,;-])"
    rb"\s{0,6}(?:(\d+)\s?h(?:ours?|rs?)?\s)?\s?(?:(\d+)\s?m(?:in(?:ute)?s?)?\s)?"
    rb"\s?(" + NUMBER + rb")\s?s(?:ec(?:ond)?s?)?(?![\w/])",
    re.IGNORECASE,
)
_SIDES = re.compile(
    rb"(?<![\w./])(?P<train_side>train|training)\s{0,3}[:=]?\s{0,3}(?P<train>" + NUMBER + rb")"
    rb"(?=\s{0,3}[|,;/-]).{1,80}?(?<![\w./])(?P<val_side>val|valid|validation|eval)\s{0,3}[:=]?"
    rb"\s{0,3}(?P<val>" + NUMBER + rb")(?=\s{0,3}(?:[|,;/-]|$))"
)


def epoch_spans(row: bytes) -> tuple[Spans, list[tuple[int, int]]]:
    """Return the parts of the time that an epoch took and losses named by their side only, and what they cover."""
    spans: Spans = []
    covered: list[tuple[int, int]] = []
    time, sides = _TIME.search(row), _SIDES.search(row)
    if time is not None:
        spans += [(name, *time.span(at)) for at, (name, _) in enumerate(_PARTS, 1) if time[at] is not None]
        covered.append(time.span())
    if sides is not None:
        for side, name in (("train", "train_loss"), ("val", "val_loss")):
            spans.append((name, *sides.span(side)))
            covered.append((sides.start(f"{side}_side"), sides.end(side)))
    return spans, covered


def epoch_times(table: Table, steps: Floats) -> Columns:
    """Put the parts of the times together: they are step times where the steps are the epochs."""
    del steps
    columns = {name: pair for name, pair in table.columns.items() if not any(name == part for part, _ in _PARTS)}
    given = [(table.column(part), factor) for part, factor in _PARTS if part in table.columns]
    if not given or "step" in table.columns:
        return columns
    seconds = np.sum([np.nan_to_num(values) * factor for values, factor in given], axis=0)
    index = np.flatnonzero(~np.isnan(table.column(_PARTS[-1][0])))
    seconds = seconds[index]
    if not _is_clock(seconds):
        columns["step_time"] = (index, seconds)
    return columns


def _is_clock(seconds: Floats) -> bool:
    rises = np.diff(seconds)
    return len(seconds) >= 3 and bool((rises > 0).all()) and float(seconds[-1]) > 0.5 * len(seconds) * float(seconds[0])
