"""Hugging Face Trainer console: records as Python dicts between progress bars; also TRL, axolotl and LLaMA-Factory.

The records carry no step. It is read from the training bar in front of the record, else worked out from the
epoch and the length of the bar that follows, else the records are counted (and that is said).
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.evidence.readers.builder import SeriesBuilder
from engine.evidence.readers.columns import Columns, Layout, columns
from engine.evidence.series import Floats

_LAYOUT = Layout(b",", quote=b"'")
# no description in front and steps as its unit: neither "Map: ..." nor a download is the training bar
_BAR = re.compile(rb"(?:^|[\r\n])\s*\d{1,3}%\|[^|]*\|\s*(\d{1,12})/(\d{1,12}) \[[^\]]*(?:it/s|s/it|\?it/s)[^\]]*\]")
_BARS = 512  # drawings remembered between two records; an evaluation in between redraws its own bar


def record_span(text: bytes) -> tuple[int, int] | None:
    """Return where the first Trainer record (a flat dict on one line) begins and ends."""
    start = text.find(b"{'")
    while start >= 0:
        end = text.find(b"}", start)
        inner = text[start + 1 : end]
        if end >= 0 and b"{" not in inner and b"\n" not in inner and _is_record(inner):
            return start, end + 1
        start = text.find(b"{'", start + 2) if end >= 0 else -1
    return None


def _is_record(text: bytes) -> bool:
    """One of these keys names a Trainer record; a dict without them is somebody else's."""
    return b"loss': " in text or b"'grad_norm': " in text or b"'learning_rate': " in text or b"_runtime': " in text


@dataclass(slots=True)
class _Run:
    """Records of one run until its ``train_runtime``, with the bar position in front of each."""

    rows: list[bytes] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    positions: list[tuple[int, int] | None] = field(default_factory=list)


@dataclass(slots=True)
class HfConsole:
    """Takes the records out of blocks of lines; a run is turned into series when it ends."""

    builder: SeriesBuilder
    config: dict[str, object] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    new_run_at: list[int] = field(default_factory=list)
    resumed_at: list[int] = field(default_factory=list)
    records: int = 0
    last_line: int = 0
    finished_line: int = 0
    name: str = "hf_console"
    _run: _Run = field(default_factory=_Run)
    _bars: deque[bytes] = field(default_factory=lambda: deque(maxlen=_BARS))
    _longest: int = 0
    _closing: bool = False

    def __post_init__(self) -> None:
        """The token counter of axolotl prints 0 while it is off."""
        self.builder.absent |= {"tokens/train_per_sec_per_gpu": 0.0}

    def concerns(self, text: bytes) -> bool:
        """Records are Python dicts, bars have a percentage."""
        return b"{'" in text or b"%|" in text

    def take(self, numbers: list[int], lines: list[bytes], places: list[int]) -> list[int]:
        """Use the records and bars of these lines; return the places of the lines that are neither."""
        rest: list[int] = []
        for at in places:
            line = lines[at]
            if (span := record_span(line)) is not None:
                if b"%|" in line:
                    self._bars.append(line[: span[0]])
                self._record(line[span[0] : span[1]], numbers[at])
            elif b"%|" in line:
                self._bars.append(line)
                if self._closing:
                    self._close(self._position())
                if line[line.find(b"]", line.rfind(b"%|")) + 1 :].strip():  # a logger wrote behind the bar
                    rest.append(at)
            else:
                rest.append(at)
        return rest

    def _position(self) -> tuple[int, int] | None:
        """Return (step, total) of the latest drawing of the longest bar: evaluation bars run inside the training's."""
        found: tuple[int, int] | None = None
        for text in reversed(self._bars):
            matches = _BAR.findall(text)
            if not matches:
                continue
            done, total = int(matches[-1][0]), int(matches[-1][1])
            if total > self._longest or (total == self._longest and found is None):
                self._longest, found = total, (done, total)
            if found is not None and self._run.rows:
                break
        self._bars.clear()
        return found

    def _record(self, text: bytes, line: int) -> None:
        if self._closing:  # no bar after the summary of the run before
            self._close(None)
        run = self._run
        if not run.rows and self.finished_line:
            self.new_run_at.append(line)
        position = self._position()
        if not run.rows and position is not None and position[0] == position[1]:
            position, self._longest = None, 0  # a full bar in front of the first record is of a loop before
        run.rows.append(text[1:-1])
        run.lines.append(line)
        run.positions.append(position)
        self.records += 1
        self.last_line = line
        if b"'train_runtime'" in text:
            self.finished_line, self._closing = line, True

    def finish(self) -> None:
        """Turn what is left into series; call once after the last block."""
        self._close(None)

    def _close(self, bar: tuple[int, int] | None) -> None:
        run, self._run = self._run, _Run()
        self._closing, self._longest = False, 0
        self._bars.clear()
        if not run.rows:
            return
        table = columns(run.rows, _LAYOUT)
        summary = np.array([b"'train_runtime'" in row for row in run.rows])
        steps = self._steps(run, table, summary, bar)
        lines = np.array(run.lines, dtype=np.int64)
        for key, (index, values) in table.items():
            keep = ~summary[index]
            self.builder.add(key, steps[index][keep], values[keep], lines[index][keep])
            if summary[index].any():
                self.config[key] = float(values[summary[index]][-1])

    def _steps(
        self,
        run: _Run,
        table: Columns,
        summary: NDArray[np.bool_],
        bar: tuple[int, int] | None,
    ) -> Floats:
        longest = max((position[1] for position in run.positions if position is not None), default=None)
        if longest is not None:
            self.config["max_steps"] = longest
            seen = np.maximum.accumulate([place[1] if place else 0 for place in run.positions])
            return _carried(
                [
                    place[0] if place and place[1] == most else None
                    for place, most in zip(run.positions, seen, strict=True)
                ]
            )
        epoch = table.get("epoch")
        if bar is not None and epoch is not None and summary.any() and summary[epoch[0][-1]]:
            self.config["max_steps"] = bar[1]
            per_epoch = bar[1] / max(float(epoch[1][-1]), 1e-9)
            known = dict(zip(epoch[0].tolist(), np.rint(epoch[1] * per_epoch).tolist(), strict=True))
            return _carried([known.get(row) for row in range(len(run.rows))])
        self.remarks.append("no progress bar beside the records: they are counted instead of given their steps")
        trains = np.array([not row.startswith(b"'eval_") for row in run.rows])
        return np.cumsum(trains).astype(np.float64)


def _carried(known: list[float | int | None]) -> Floats:
    """Fill gaps with the step before (an evaluation belongs to the step at which it starts)."""
    steps = np.zeros(len(known))
    last = 0.0
    for at, step in enumerate(known):
        last = float(step) if step is not None else last
        steps[at] = last
    return steps
