"""How often something may happen: a steady rate with a burst, for each of many keys, in bounded memory."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RATE = re.compile(r"([1-9]\d{0,8})/(second|minute|hour)")
_SECONDS: Mapping[str, int] = MappingProxyType({"second": 1, "minute": 60, "hour": 3600})
MOST_KEYS = 50_000


@dataclass(frozen=True)
class Rate:
    """``count`` times at once, and from then on ``count`` times in every ``seconds``."""

    count: int
    seconds: int

    @classmethod
    def parse(cls, text: str) -> Rate:
        """The rate written as ``120/minute``.

        Raises:
            ValueError: for anything else.
        """
        written = _RATE.fullmatch(text.strip().lower())
        if written is None:
            raise ValueError("write a rate as 120/minute; second, minute and hour are known")
        return cls(int(written[1]), _SECONDS[written[2]])


class Meter:
    """Measures keys against rates with one number each (GCRA, ITU-T I.371): the time at which the key, at a steady
    rate, would have done all that it did. A key that is further ahead of the clock than the span of its rate waits.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steady: dict[tuple[str, str], float] = {}

    def take(self, rate: Rate, kind: str, key: str) -> float:
        """Seconds until ``key`` may do it; 0 if it may now, which is then counted."""
        wait = self.wait(rate, kind, key)
        if not wait:
            self.count(rate, kind, key)
        return wait

    def wait(self, rate: Rate, kind: str, key: str) -> float:
        """Seconds until ``key`` may do it; 0 if it may now. Nothing is counted."""
        now = self._clock()
        ahead = self._after(rate, kind, key, now) - now - rate.seconds
        return ahead if ahead > 1e-6 else 0.0  # sums of steps are not exact

    def count(self, rate: Rate, kind: str, key: str) -> None:
        """``key`` has done it."""
        now = self._clock()
        if len(self._steady) >= MOST_KEYS:
            self._forget(now)
        self._steady[kind, key] = self._after(rate, kind, key, now)

    def _after(self, rate: Rate, kind: str, key: str, now: float) -> float:
        return max(self._steady.get((kind, key), now), now) + rate.seconds / rate.count

    def _forget(self, now: float) -> None:
        """Drop who owes nothing; if all owe, drop all: a service that answers is worth more than its counts."""
        self._steady = {key: at for key, at in self._steady.items() if at > now}
        if len(self._steady) >= MOST_KEYS:
            self._steady.clear()
