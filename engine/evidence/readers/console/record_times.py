"""When the records of a log were written, by the stamps of their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.evidence.series import Times

_STAMPED = re.compile(rb"\d\d:\d\d:\d\d")
_LOOKED_AT = 64  # records of a block: with some left out, the longest gap is taken for longer than it is, never shorter
_HEAD = 400  # bytes of a line in which its stamp stands


@dataclass(slots=True)
class RecordTimes:
    """Seconds of the year: many loggers write none."""

    _count: int = 0
    _last: float = 0.0
    _longest: float = 0.0

    def take(self, lines: Sequence[bytes], others: Sequence[int]) -> None:
        """Look at the lines of a block but for the ``others``, which are no records."""
        if len(others) == len(lines):
            return
        left = set(others)
        records = [at for at in range(len(lines)) if at not in left]
        if not _STAMPED.search(lines[records[-1]][:_HEAD]):
            return
        # the package reads what readers keep: it cannot be loaded before them
        from engine.evidence.signatures.places import clock_in

        for at in (*records[: -1 : len(records) // _LOOKED_AT + 1], records[-1]):
            clock = clock_in(lines[at][:_HEAD].decode("latin-1"))
            if clock is not None:
                self._longest = max(self._longest, clock - self._last if self._count else 0.0)
                self._last = clock
                self._count += 1

    def times(self) -> Times | None:
        """None with fewer than three stamped records, or out of order."""
        return Times(self._last, self._longest, self._last) if self._count >= 3 and self._longest > 0 else None
