"""System metrics that W&B samples beside a run, placed on the steps of the run by their times.

All GPUs of a node are listed, also those of other users: only cards that were busy at some time count for the mean.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.evidence.readers.names import UNITS
from engine.evidence.readers.tables.axis import STEP_NAMES, plain
from engine.evidence.readers.tables.rows import value_of
from engine.evidence.readers.trackers.protobuf import fields, signed, text
from engine.evidence.series import Floats, Series, Times

_GPU = re.compile(r"(?:system\.)?gpu\.(?:process\.)?(\d{1,3})\.(gpu|memoryAllocatedBytes)$")
_HOST = re.compile(r"(?:system\.)?proc\.memory\.rssMB$")
_IDLE = 5.0  # percent: a card that never passes it belongs to nobody, or to somebody else
_NAMES = {"gpu": "gpu_utilisation", "memoryAllocatedBytes": "gpu_memory_used"}
MOST_SAMPLES = 2_000_000


@dataclass(slots=True)
class Stats:
    """Samples of the cards and of the process by time, and the times at which steps were logged."""

    origin: str
    cards: dict[tuple[str, int], tuple[array[float], array[float]]] = field(
        default_factory=lambda: defaultdict(lambda: (array("d"), array("d")))
    )
    host: tuple[array[float], array[float]] = field(default_factory=lambda: (array("d"), array("d")))
    steps: tuple[array[float], array[float]] = field(default_factory=lambda: (array("d"), array("d")))
    count: int = 0

    def at_row(self, row: Mapping[str, object]) -> None:
        """Remember when a step was logged."""
        time = value_of(row.get("_timestamp"))
        step = next(
            (value for key in row if plain(key) in STEP_NAMES and (value := value_of(row[key])) is not None), None
        )
        if time is not None and step is not None:
            self.steps[0].append(time)
            self.steps[1].append(step)

    def take(self, message: bytes) -> None:
        """Read a StatsRecord: its timestamp and items of key and JSON value."""
        time, found = 0.0, []
        for number, value in fields(message):
            if number == 2 and isinstance(value, bytes):
                parts = dict(fields(value))
                time = signed(parts.get(1, 0)) + signed(parts.get(2, 0)) / 1e9
            elif number == 3 and isinstance(value, bytes) and self.count < MOST_SAMPLES:
                item = dict(fields(value))
                found.append((text(item.get(1, b"")), item.get(16, b"")))
        for key, value in found:
            gpu = _GPU.match(key)
            if gpu is None and _HOST.match(key) is None:
                continue
            number_ = _json_number(value)
            if number_ is None:
                continue
            times, values = self.host if gpu is None else self.cards[(_NAMES[gpu[2]], int(gpu[1]))]
            times.append(time)
            values.append(number_)
            self.count += 1

    def series(self, taken: set[str]) -> tuple[Series, ...]:
        """Utilisation and memory of the busy cards (mean and highest), and memory of the process, while it trained."""
        if len(self.steps[0]) < 2:  # start-up only: idle cards mean nothing
            return ()
        busy = {
            card
            for (name, card), (_, values) in self.cards.items()
            if name == "gpu_utilisation" and max(values) > _IDLE
        }
        found: list[Series] = []
        for name, joined in (("gpu_utilisation", np.mean), ("gpu_memory_used", np.max)):
            samples: dict[float, list[float]] = defaultdict(list)
            for (metric, card), (times, values) in self.cards.items():
                if metric == name and (card in busy or not busy):
                    for time, value in zip(times, values, strict=True):
                        samples[time].append(value)
            if samples and name not in taken:
                times_ = np.array(sorted(samples))
                found.append(self._placed(name, times_, np.array([float(joined(samples[t])) for t in times_.tolist()])))
        if len(self.host[0]) and "host_memory_used" not in taken:
            found.append(self._placed("host_memory_used", np.array(self.host[0]), np.array(self.host[1]) * 2.0**20))
        return tuple(one for one in found if len(one))

    def times(self) -> Times | None:
        """When rows were logged and the machine was last measured; None with fewer than three rows or no sample."""
        known = np.unique(np.array(self.steps[0]))
        latest = max((times[-1] for times, _ in (self.host, *self.cards.values()) if len(times)), default=0.0)
        if len(known) < 3 or not np.isfinite(known).all() or not np.isfinite(latest) or latest <= 0:
            return None
        return Times(float(known[-1]), float(np.diff(known).max()), latest)

    def _placed(self, name: str, times: Floats, values: Floats) -> Series:
        """The steps at the times of the samples, between the logged ones."""
        known, steps = np.array(self.steps[0]), np.array(self.steps[1])
        order = np.argsort(known, kind="stable")
        while_trained = (times >= known.min()) & (times <= known.max())
        at = np.interp(times, known[order], steps[order])
        one = Series(name, at, values, UNITS.get(name, ""), f"{self.origin} (system metrics)")
        return one.take(while_trained)


def _json_number(value: int | bytes) -> float | None:
    if not isinstance(value, bytes) or len(value) > 64:
        return None
    try:
        return value_of(json.loads(value))
    except ValueError:
        return None
