"""A job that somebody's watchdog reports as running while its log has no further record.

Half an hour and twenty steps without a record, by the clock of the watchdog's own lines, and nothing that says how the
run ended. A long evaluation or the building of a data index may take that long, so less would not do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from engine.evidence.series import RunRecord
from engine.evidence.signatures.places import clock_in
from engine.model.evidence import FindingReading, Source

_ALIVE = re.compile(r"\b(?:is|still) running\b|\bstill alive\b|\bheartbeat\b", re.IGNORECASE)
_SECONDS, _STEPS = 1800.0, 20.0


def running_without_records(records: Sequence[RunRecord]) -> list[FindingReading]:
    """Say of each log that its job makes no progress, if it shows that."""
    return [reading for record in records if (reading := _of(record)) is not None]


def _of(record: RunRecord) -> FindingReading | None:
    lines = [one.lines[-1] for one in record.series if one.lines is not None and len(one)]
    if not lines or record.end.kind != "unknown":
        return None
    after = [event for event in record.events if event.line > max(lines) and _ALIVE.search(event.text)]
    told = [(clock, event) for event in after if (clock := clock_in(event.text)) is not None]
    if len(told) < 2:
        return None
    waited = told[-1][0] - told[0][0]
    times = next((one.values[np.isfinite(one.values)] for one in record.series if one.name == "step_time"), np.zeros(0))
    if waited < max(_SECONDS, _STEPS * float(np.median(times)) if len(times) else 0.0):
        return None
    event = told[-1][1]
    quote = f"{waited:.0f} s after the first such line and no record since: {event.text.strip()}"
    source = Source("signature", f"{record.read.file}:{event.line}", quote[:200], rank=event.rank)
    return FindingReading("hang.no-progress", "present", source)
