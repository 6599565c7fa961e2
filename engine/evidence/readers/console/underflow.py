"""``transformers.debug_utils``: the frames of the forward pass before the first inf or nan, smallest and largest value.

The columns are ``abs min  abs max  metadata``. The module whose output is not finite while all before it was is where
it began. If all values before stay within the range of fp16 and reach a tenth of it, that range was left there: bf16
and fp32 do not end at 65504.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.evidence.readers.columns import number
from engine.evidence.readers.console.grammar import Grammar
from engine.model.evidence import FactReading, Source

_BEGIN = re.compile(rb"Detected inf/nan during batch_number=(\d{1,15})")
_FRAME = re.compile(rb"^\s{8,}(\S*) (\w+)\s*$")
_VALUES = re.compile(rb"^\s*(\S+)\s+(\S+) (\w+(?:\[\d+\])*)\s*$")
_FP16_MAX = 65504.0
_NEAR = 0.1
_MOST_LINES = 10_000  # of a report: it shows the last 21 frames


@dataclass(slots=True)
class UnderflowOverflow(Grammar):
    """Reads the first report of a log; its lines stay events."""

    _left: int = 0
    _module: str = ""
    _largest: float = 0.0
    _largest_line: tuple[int, str] = (0, "")

    def concerns(self, text: bytes) -> bool:
        """A report has a fixed first line; it may go on in the next block."""
        return self._left > 0 or (not self.readings and not self._module and b"Detected inf/nan during" in text)

    def take(self, numbers: Sequence[int], lines: list[bytes], places: Sequence[int]) -> Sequence[int]:
        """Follow the report; every line is left for the others."""
        for at in places:
            line = lines[at]
            if self._left == 0:
                begin = _BEGIN.search(line) if not self._module else None
                if begin is not None:
                    self._left = _MOST_LINES
                    self.config["first_nonfinite_batch"] = int(begin[1])
                continue
            self._left -= 1
            if (frame := _FRAME.match(line)) is not None:
                self._module = f"{frame[1].decode('utf-8', 'replace')} {frame[2].decode()}".strip()
            elif (values := _VALUES.match(line)) is not None:
                self._value(values, numbers[at], line.decode("utf-8", "replace").strip())
        return places

    def _value(self, values: re.Match[bytes], line: int, quote: str) -> None:
        smallest, largest = number(values[1]), number(values[2])
        if smallest is None or largest is None:
            return
        if abs(largest) < float("inf"):
            if largest > self._largest:
                self._largest, self._largest_line = largest, (line, quote)
        elif values[3].startswith(b"output"):
            self._left = 0
            self.config["first_nonfinite_module"] = self._module
            self._conclude(largest, line, quote)

    def _conclude(self, value: float, line: int, quote: str) -> None:
        label = self.builder.origin
        if self._largest:
            place, text = self._largest_line
            source = Source("measured", f"{label}:{place}", text)
            self.readings.append(FactReading("activation.abs_max", self._largest, source))
        if value == float("inf") and _NEAR * _FP16_MAX <= self._largest <= _FP16_MAX:
            source = Source("measured", f"{label}:{line}", f"{self._module}: {quote}")
            self.readings.append(FactReading("activation.beyond_fp16", True, source))
