"""Which progress bar belongs to which record: the training bar is the longest of its run so far.

Bars of evaluations run inside that of the training, a full bar in front of the first record is of a loop before, and
the bar behind the closing record of a run says how long the run was.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.evidence.series import Ints

_PLACE, _DONE, _TOTAL = 0, 1, 2


def no_bars() -> Ints:
    """Return bars as columns of place in the block, steps done, and length: none of them."""
    return np.zeros((3, 0), dtype=np.int64)


@dataclass(slots=True)
class TrainingBars:
    """Follows the bars through the blocks of a file; ``closing`` is the length of the bar behind a closing record."""

    closing: dict[int, int] = field(default_factory=dict)
    _held: Ints = field(default_factory=no_bars)
    _longest: int = 0
    _fresh: bool = True  # no record of the run yet
    _closed: int | None = None  # number of the closing record, until its bar or the next record

    def positions(self, records: Ints, closing: Ints, bars: Ints, first: int) -> Ints:
        """Return (done, total) of the training bar in front of each record since the one before it, else zeros.

        ``records`` and ``closing`` are rising places, ``first`` is the number of the first record in the file.
        """
        bars = np.concatenate([self._held, bars], axis=1)
        found = np.zeros((2, len(records)), dtype=np.int64)
        ends = [*np.searchsorted(records, closing, side="right").tolist(), len(records)]
        begin = 0
        for number, end in enumerate(ends):
            bars = self._behind_closing(records[begin:end], bars)
            if begin < end:
                found[:, begin:end], bars = self._of_run(records[begin:end], bars)
            if number < len(closing):
                self._longest, self._fresh, self._closed = 0, True, first + end - 1
            begin = end
        longest = np.maximum.accumulate(bars[_TOTAL])
        self._held = bars[:, bars[_TOTAL] == longest][:, -1:] if self._closed is None else no_bars()
        self._held[_PLACE] = -1
        return found

    def _behind_closing(self, records: Ints, bars: Ints) -> Ints:
        """Use the bar behind a closing record; return the bars after it."""
        if self._closed is not None and bars.shape[1] and (not len(records) or bars[_PLACE, 0] <= records[0]):
            self.closing[self._closed] = int(bars[_TOTAL, 0])
            bars, self._closed = bars[:, 1:], None
        return bars

    def _of_run(self, records: Ints, bars: Ints) -> tuple[Ints, Ints]:
        """Return the bars of the records of one run, and the bars behind the last of them."""
        self._closed = None
        if self._fresh:
            self._fresh = False
            ahead = int(np.searchsorted(bars[_PLACE], records[0], side="right"))
            if ahead:
                nearest = ahead - 1 - int(np.argmax(bars[_TOTAL, :ahead][::-1]))
                bars = bars[:, ahead:] if bars[_DONE, nearest] == bars[_TOTAL, nearest] else bars
        longest = np.maximum.accumulate(np.concatenate([[self._longest], bars[_TOTAL]]))[1:]
        training = bars[:, bars[_TOTAL] == longest]
        found = np.zeros((2, len(records)), dtype=np.int64)
        if training.shape[1]:
            last = np.searchsorted(training[_PLACE], records, side="right") - 1
            before = np.concatenate([[-2], records[:-1]])
            known = (last >= 0) & (training[_PLACE][np.maximum(last, 0)] > before)
            found[:, known] = training[1:, last[known]]
        ahead = int(np.searchsorted(bars[_PLACE], records[-1], side="right"))
        self._longest = int(longest[ahead - 1]) if ahead else self._longest
        return found, bars[:, ahead:]
