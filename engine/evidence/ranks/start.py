"""A collective that timed out before the run had made a step.

Its number within the process group is small (the setup of a model issues a few: broadcast of the weights, a gather of
shapes), and no file of the case has a metric record. Either alone proves little: a group made for the evaluation counts
from one in mid-run, and a log may print its metrics in a way that no reader knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.evidence.series import RunRecord
from engine.model.evidence import FindingReading, Source

_TIMEOUT = re.compile(r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(\d+),")
_FEW = 10
"""Collectives of a group that the setup alone issues; a step of data-parallel training issues several."""


def timed_out_at_start(records: Sequence[RunRecord]) -> list[FindingReading]:
    """Say that it hangs before the first step: all timeouts are of the first collectives, and no step was logged."""
    if any(record.series for record in records):
        return []
    found = [
        (int(match[1]), Source("signature", f"{record.read.file}:{event.line}", event.text.strip()[:200]))
        for record in records
        for event in record.events
        if (match := _TIMEOUT.search(event.text))
    ]
    if not found or max(number for number, _ in found) > _FEW:
        return []
    return [FindingReading("hang.at-start", "present", found[0][1])]
