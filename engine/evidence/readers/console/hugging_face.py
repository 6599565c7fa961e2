"""Hugging Face Trainer console: records as Python dicts between progress bars; also TRL, axolotl, LLaMA-Factory, swift.

The records carry no step. It is read from the training bar in front of the record, else worked out from the epoch and
the length of the run (announced at its start, or that of the bar that follows), else the records are counted (and
that is said). A sweep or a file that is appended to holds several runs, each closed by its ``train_runtime``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.evidence.readers.columns import Columns, Shape, Spans, as_array, convert, joined, merged, shapes
from engine.evidence.readers.console.grammar import Grammar
from engine.evidence.readers.console.records import carried
from engine.evidence.readers.console.training_bars import TrainingBars, no_bars
from engine.evidence.series import Floats, Ints

_PAIR = re.compile(rb"'([^']+)': *'?([^\s',}]+(?:,\d{3}\b[^\s',}]*)*)")
# no description in front and steps as its unit: neither "Map: ..." nor a download is the training bar
_BAR = re.compile(rb"(?:^|[\r\n])\s*\d{1,3}%\|[^|]*\|\s*(\d{1,12})/(\d{1,12}) \[[^\]]*(?:it/s|s/it|\?it/s)[^\]]*\]")
_PLACE = re.compile(rb"'global_step/max_steps': '(\d{1,12})/(\d{1,12})'")  # ms-swift says it outright
_ANNOUNCED = re.compile(
    rb"(Num examples|Num Epochs|Instantaneous batch size per device|Gradient Accumulation steps"
    rb"|Total optimization steps|Total train batch size)[^=\n]{0,60}= *(\d[\d,]{0,17})\s*$"
)
_KEYS = (b"loss': ", b"'grad_norm': ", b"'learning_rate': ", b"_runtime': ", b"'objective/kl': ")
_OPTIONS = {
    b"Num examples": "num_examples",
    b"Num Epochs": "num_train_epochs",
    b"Instantaneous batch size per device": "per_device_train_batch_size",
    b"Gradient Accumulation steps": "gradient_accumulation_steps",
    b"Total optimization steps": "max_steps",
    b"Total train batch size": "global_batch_size",
}
_MOST_RUNS = 1_000


def record_span(text: bytes) -> tuple[int, int] | None:
    """Return where the first Trainer record (a flat dict on one line) begins and ends."""
    begin, end = 0, text.find(b"}")
    while end >= 0:
        start = text.rfind(b"{'", begin, end)
        if start >= 0 and text.find(b"{", start + 1, end) < 0 and _is_record(text[start + 1 : end]):
            return start, end + 1
        begin, end = end + 1, text.find(b"}", end + 1)
    return None


def _is_record(text: bytes) -> bool:
    """One of these keys names a Trainer record; a dict without them is somebody else's."""
    return any(key in text for key in _KEYS)


@dataclass(slots=True)
class _Block:
    """Records and bars of one block by place; ``bars`` is (place, done, total), a bar before the record of its line."""

    values: dict[str, list[tuple[Ints, Floats]]] = field(default_factory=lambda: defaultdict(list))
    records: list[Ints] = field(default_factory=list)
    summaries: list[Ints] = field(default_factory=list)
    bars: list[Ints] = field(default_factory=list)
    rest: list[Ints] = field(default_factory=list)


@dataclass(slots=True)
class HfConsole(Grammar):
    """Takes the records out of blocks of lines; what belongs to which run is told apart at the end.

    Of every record are kept its line, and step and length of the training bar in front of it (0: none).
    """

    name: str = "hf_console"
    _values: dict[str, list[tuple[Ints, Floats]]] = field(default_factory=lambda: defaultdict(list))
    _lines: list[Ints] = field(default_factory=list)
    _positions: list[Ints] = field(default_factory=list)
    _bars: TrainingBars = field(default_factory=TrainingBars)
    _announced: list[tuple[int, str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The token counter of axolotl prints 0 while it is off."""
        self.builder.absent |= {"tokens/train_per_sec_per_gpu": 0.0}

    def concerns(self, text: bytes) -> bool:
        """Records are Python dicts, bars have a percentage."""
        braced, barred, starred = b"{" in text, b"%" in text, b"*" in text  # one byte is found ten times as fast as two
        return (braced and b"{'" in text) or (barred and b"%|" in text) or (starred and b"Num Epochs = " in text)

    def take(self, numbers: Sequence[int], lines: list[bytes], places: Sequence[int]) -> Sequence[int]:
        """Use the records and bars of these lines; return the places of the lines that are neither."""
        rows = lines if len(places) == len(lines) else [lines[at] for at in places]
        block = _Block()
        where = as_array(numbers)[as_array(places)]
        for shape in shapes(rows):
            if shape.text.strip() and not self._sort(shape, block):
                block.rest.append(shape.index)
                self._announcement(shape, where)
        if block.records or block.bars:
            self._add(block, where)
        rest = np.sort(np.concatenate(block.rest)) if block.rest else where[:0]
        return places if len(rest) == len(places) else as_array(places)[rest].tolist()

    def _sort(self, shape: Shape, block: _Block) -> bool:
        """Put the lines of one shape where they belong; tell whether nothing else is in them."""
        first = shape.rows[0]
        bar = first.rfind(b"%|")
        span = record_span(first)
        if span is None and (bar < 0 or b"=" in first[bar:]):  # a bar with metrics beside it is another grammar's
            return False
        if span is not None:
            block.records.append(shape.index)
            if b"'train_runtime'" in first[slice(*span)]:
                block.summaries.append(shape.index)
            for name, values in convert(shape, _pairs(first, *span)).items():
                block.values[name].append((shape.index, values))
        place = list(_BAR.finditer(first[: span[0]] if span is not None else first))[-1:] if bar >= 0 else []
        place = place or ([] if span is None else list(_PLACE.finditer(first, *span)))
        if place:
            position = convert(shape, [("done", *place[0].span(1)), ("total", *place[0].span(2))])
            block.bars.append(np.stack([shape.index, *(position[name].astype(np.int64) for name in ("done", "total"))]))
        return span is not None or not first[first.find(b"]", bar) + 1 :].strip()  # a logger wrote behind the bar

    def _announcement(self, shape: Shape, where: Ints) -> None:
        match = _ANNOUNCED.search(shape.rows[0]) if b" = " in shape.text else None
        if match is None:
            return
        for at, row in zip(shape.index.tolist(), shape.rows, strict=True):
            value = float(row[match.start(2) : match.end(2)].replace(b",", b""))
            if len(self._announced) < _MOST_RUNS * len(_OPTIONS):
                self._announced.append((int(where[at]), _OPTIONS[match[1]], value))

    def _add(self, block: _Block, where: Ints) -> None:
        """Give the records of a block their numbers in the file, and each the training bar in front of it."""
        records = np.sort(np.concatenate(block.records)) if block.records else np.zeros(0, np.int64)
        bars = np.concatenate(block.bars, axis=1) if block.bars else no_bars()
        bars = bars[:, np.argsort(bars[0], kind="stable")]
        for name, pieces in block.values.items():
            index, values = merged(pieces)
            self._values[name].append((np.searchsorted(records, index) + self.records, values))
        closing = np.sort(np.concatenate(block.summaries)) if block.summaries else records[:0]
        self._positions.append(self._bars.positions(records, closing, bars, self.records))
        if len(records):
            self._lines.append(where[records])
            self.records += len(records)
            self.last_line = int(where[records[-1]])
        if len(closing):
            self.finished_line = int(where[closing[-1]])

    def finish(self) -> None:
        """Tell the runs apart, give their records steps, and hand the series over."""
        if not self.records:
            return
        lines, bars = np.concatenate(self._lines), np.concatenate(self._positions, axis=1)
        table = {name: joined(pieces) for name, pieces in self._values.items()}
        summary = np.zeros(self.records, dtype=np.bool_)
        summary[table.get("train_runtime", (np.zeros(0, np.int64),))[0]] = True
        steps = np.zeros(self.records)
        closed = np.flatnonzero(summary)[:_MOST_RUNS]
        begin = 0
        for end in [*(closed + 1).tolist(), self.records]:
            if begin < end:
                if begin:
                    self.new_run_at.append(int(lines[begin]))
                steps[begin:end] = self._steps(begin, end, bars[:, begin:end], table, int(lines[end - 1]))
            begin = end
        for name, (index, values) in table.items():
            closing = summary[index]
            if closing.any():
                self.config[name] = float(values[closing][-1])
            kept = ~closing if closing.any() else slice(None)
            self.builder.add(name, steps[index[kept]], values[kept], lines[index[kept]])

    def _steps(self, begin: int, end: int, bars: Ints, table: Columns, line: int) -> Floats:
        """Return the steps of the records of one run."""
        announced = {name: value for at, name, value in sorted(self._announced) if at <= line}
        self.config |= announced
        done, total = bars
        if total.any():
            self.config["max_steps"] = int(total.max())
            training = (total > 0) & (total == np.maximum.accumulate(total))
            return np.nan_to_num(carried(np.where(training, done.astype(np.float64), np.nan)))
        index, epochs = table.get("epoch", (np.zeros(0, np.int64), np.zeros(0)))
        inside = (index >= begin) & (index < end)
        index, epochs = index[inside] - begin, epochs[inside]
        length, planned = float(self._bars.closing.get(end - 1, 0)), float(epochs[-1]) if len(epochs) else 0.0
        if not length and announced.get("num_train_epochs"):
            length, planned = _length(announced), announced["num_train_epochs"]
        if length and planned > 0:
            self.config.setdefault("max_steps", int(length))
            known = np.full(end - begin, np.nan)
            known[index] = np.rint(epochs * length / planned)
            return np.nan_to_num(carried(known))
        why = "no progress bar beside the records: they are counted instead of given their steps"
        self.remarks += [why] if why not in self.remarks else []
        trains = np.ones(end - begin, dtype=np.bool_)
        for name, (rows, _) in table.items():
            if name.startswith("eval_"):
                trains[rows[(rows >= begin) & (rows < end)] - begin] = False
        return np.cumsum(trains).astype(np.float64)


def _length(announced: dict[str, float]) -> float:
    """Return the steps that make up the announced epochs; the last batch of an epoch may be a part of one."""
    whole = announced.get("max_steps", 0.0)
    batch = announced.get("global_batch_size", 0.0)
    parts = announced.get("num_examples", 0.0) / batch * announced["num_train_epochs"] if batch else 0.0
    return parts if abs(parts - whole) <= announced["num_train_epochs"] else whole


def _pairs(row: bytes, start: int, end: int) -> Spans:
    return [(pair[1].decode("utf-8", "replace"), *pair.span(2)) for pair in _PAIR.finditer(row, start, end)]
