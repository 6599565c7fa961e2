"""torchtitan: ``step:  1  loss: 12.4  grad_norm: 25.5  memory: 68.76GiB(38.55%)  tps: 3,914  tflops: ..  mfu: 14.66%``.

Older releases print ``wps`` for ``tps`` and neither ``grad_norm`` nor ``tflops``. The speed of the first record of
each start holds the compilation, and is left out.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.readers.columns import Columns
from engine.evidence.readers.console.records import Dialect, Table, pattern
from engine.evidence.series import Floats

_SPEED = frozenset({"tps", "tflops", "mfu"})


def _settle(table: Table, steps: Floats) -> Columns:
    trains = table.columns.get("loss", (np.zeros(0, np.int64),))[0]
    starts = trains[np.concatenate([[True], np.diff(steps[trains]) < 0])] if len(trains) else trains
    settled = dict(table.columns)
    for name in _SPEED & settled.keys():
        index, values = settled[name]
        keep = ~np.isin(index, starts)
        settled[name] = (index[keep], values[keep])
    return settled


TORCHTITAN = Dialect(
    "torchtitan",
    pattern(
        rb"validate step:\s*(?P<step>\d+)\s+loss:\s*(?P<eval_loss>NUMBER)",
        rb"step:\s*(?P<step>\d+)\s+loss:\s*(?P<loss>NUMBER)(?:\s+grad_norm:\s*(?P<grad_norm>NUMBER))?"
        rb"\s+memory:\s*(?P<memory_gib>NUMBER)GiB\((?P<memory_share>NUMBER)%\)"
        rb"(?:\s+[tw]ps:\s*(?P<tps>NUMBER))?(?:\s+tflops:\s*(?P<tflops>NUMBER))?(?:\s+mfu:\s*(?P<mfu>NUMBER)%)?",
    ),
    _settle,
)
