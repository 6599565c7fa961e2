"""Records that stand on one line, of any tool: a dialect says where the values are, the rest is the same for all.

Lines are grouped by shape (``columns.shapes``): a dialect is asked once a shape, and the answer holds for every line
of it. So the cost of a log depends on how many kinds of line it has. Values are kept by line until the end, because
some steps only follow from the whole: a line may state an epoch and no step, or a step that starts anew each epoch.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from engine.evidence.readers.columns import Columns, Shape, Spans, as_array, convert, joined, merged, shapes
from engine.evidence.readers.console.grammar import Grammar
from engine.evidence.readers.lines import without_prefix
from engine.evidence.readers.names import canonical
from engine.evidence.series import Floats, Ints

NUMBER = rb"[-+]?(?:\d+(?:,\d{3})*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|nan|NaN|inf|Infinity)"
_LONGEST = 2_000  # bytes of a line that is looked at: records of the known tools have at most 600
_MOST_RANKS = 1 << 16
_MOST_APART = 4_096  # ranks whose losses are held beside each other
_MOST_SHAPES = 20_000  # answers kept: 40 MB at the worst
_POSITION = frozenset({"step", "total", "epoch", "epochs"})
# one of these is in every record of every dialect; most lines of a log have none
_TELLING = re.compile(
    rb"oss|LOSS|norm|reward|score|SamplesPerSec|step|iter|tch=|[Ee]poch|tel:|trl:|Train |Eval |[Ll][Rr]\b|\[0+/"
)


@dataclass(slots=True)
class Table:
    """The records of one dialect: their lines, and each value by raw name with the numbers of its rows."""

    lines: Ints
    columns: Columns

    def column(self, name: str) -> Floats:
        """Return one value a row, NaN where a row has none."""
        values = np.full(len(self.lines), np.nan)
        index, given = self.columns.get(name, (np.zeros(0, np.int64), np.zeros(0)))
        values[index] = given
        return values

    def take(self, rows: NDArray[np.bool_]) -> Table:
        """Return the table of the chosen rows."""
        places = np.cumsum(rows) - 1
        columns = {
            name: (places[index[rows[index]]], values[rows[index]]) for name, (index, values) in self.columns.items()
        }
        return Table(self.lines[rows], {name: pair for name, pair in columns.items() if len(pair[0])})

    def last(self, name: str) -> float | None:
        """Return the last value of a name, None if there is none."""
        given = self.columns.get(name)
        return None if given is None else float(given[1][-1])


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one tool writes its records.

    ``spans`` returns the values of a line by raw name, none if the line is no record. The names ``step``, ``total``
    (steps of the run, or of the epoch where the steps start anew with it), ``epoch`` and ``epochs`` are the position;
    a line without any takes that of the line before. ``settle`` may change the table when all is read.
    A record with the bytes ``event`` is an event as well; ``absent`` is what stands for "not available".
    ``last_resort`` gives only names that nobody else gave.
    """

    name: str
    spans: Callable[[bytes], Spans]
    settle: Callable[[Table, Floats], Columns] | None = None
    event: bytes = b""
    absent: tuple[tuple[str, float], ...] = ()
    last_resort: bool = False


def pattern(*texts: bytes) -> Callable[[bytes], Spans]:
    """Return ``spans`` for regular expressions whose group names are the raw names; the first that is found counts."""
    compiled = [re.compile(text.replace(b"NUMBER", NUMBER)) for text in texts]

    def spans(row: bytes) -> Spans:
        for one in compiled:
            match = one.search(row)
            if match is not None:
                return [(name, *match.span(name)) for name in one.groupindex if match[name] is not None]
        return []

    return spans


@dataclass(slots=True)
class _Kind:
    """What is known of the lines of one shape: whose records they are, where values stand, length of the prefix."""

    dialect: int
    spans: Spans
    prefix: int
    record: bool  # has a value: a line with nothing but a position is no record
    event: bool


@dataclass(slots=True)
class _Gathered:
    """Records of one dialect so far; ``ranks`` numbers the prefixes of launchers, 0 is that of lines without one."""

    lines: list[Ints] = field(default_factory=list)
    columns: dict[str, list[tuple[Ints, Floats]]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0
    of_rank: list[Ints] = field(default_factory=list)
    ranks: dict[bytes, int] = field(default_factory=lambda: {b"": 0})
    records: int = 0
    last_line: int = 0


@dataclass(slots=True)
class LineRecords(Grammar):
    """Takes the records of all dialects; the first dialect that knows a line has it."""

    dialects: tuple[Dialect, ...] = ()
    _known: dict[bytes, _Kind | None] = field(default_factory=dict)
    _gathered: dict[int, _Gathered] = field(default_factory=lambda: defaultdict(_Gathered))

    def concerns(self, text: bytes) -> bool:
        """Anything with a loss or a step may be a record."""
        return any(part in text for part in (b"oss", b"step", b"poch", b"LOSS", b"iter", b"trl:"))

    def take(self, numbers: Sequence[int], lines: list[bytes], places: Sequence[int]) -> Sequence[int]:
        """Use the records of these lines; return the places of the lines that are none."""
        rows = lines if len(places) == len(lines) else [lines[at] for at in places]
        found: dict[int, list[tuple[Shape, _Kind]]] = defaultdict(list)
        rest: list[Ints] = []
        for shape in shapes(rows):
            kind = self._kind(shape)
            if kind is not None:
                found[kind.dialect].append((shape, kind))
            if kind is None or kind.event:
                rest.append(shape.index)
        where = as_array(numbers)[as_array(places)] if found else as_array(())
        for dialect, groups in found.items():
            self._gather(self._gathered[dialect], groups, where)
        left = np.sort(np.concatenate(rest)) if rest else as_array(())
        return places if len(left) == len(places) else as_array(places)[left].tolist()

    def _kind(self, shape: Shape) -> _Kind | None:
        text = shape.text
        if len(text) > _LONGEST or _TELLING.search(text) is None:
            return None
        if text not in self._known:
            if len(self._known) >= _MOST_SHAPES:
                self._known.clear()
            self._known[text] = self._asked(shape.rows[0])
        return self._known[text]

    def _asked(self, row: bytes) -> _Kind | None:
        for number, dialect in enumerate(self.dialects):
            spans = dialect.spans(row)
            if spans:
                record = any(name not in _POSITION for name, _, _ in spans)
                loose = not any(name in _POSITION for name, _, _ in spans) and dialect.last_resort
                event = not record or loose or (dialect.event != b"" and dialect.event in row)
                return _Kind(number, spans, len(row) - len(without_prefix(row)[0]), record, event)
        return None

    def _gather(self, into: _Gathered, groups: list[tuple[Shape, _Kind]], where: Ints) -> None:
        """Keep the values of one block's records, and the rank that wrote each."""
        kept = np.sort(np.concatenate([shape.index for shape, _ in groups]))
        ranks = np.zeros(len(kept), dtype=np.int64)
        values: dict[str, list[tuple[Ints, Floats]]] = defaultdict(list)
        for shape, kind in groups:
            if kind.record:
                into.records += len(shape.index)
                into.last_line = max(into.last_line, int(where[shape.index[-1]]))
            index = np.searchsorted(kept, shape.index)
            if kind.prefix:
                ranks[index] = _numbered(map(itemgetter(slice(kind.prefix)), shape.rows), into.ranks)
            for name, given in convert(shape, kind.spans).items():
                values[name].append((index + into.count, given))
        for name, pieces in values.items():
            into.columns[name].append(merged(pieces))
        into.lines.append(where[kept])
        into.of_rank.append(ranks)
        into.count += len(kept)

    def finish(self) -> None:
        """Give every record its step and hand the series over."""
        names = []
        for number in sorted(self._gathered):
            dialect, gathered = self.dialects[number], self._gathered[number]
            columns = {name: joined(pieces) for name, pieces in gathered.columns.items()}
            table = Table(np.concatenate(gathered.lines), columns)
            ranks = np.concatenate(gathered.of_rank)
            own = of_one_rank(ranks)
            if not own.all():
                self._apart(table, ranks, gathered.ranks)
                self.remarks.append(f"{np.count_nonzero(~own)} records of other ranks were left out")
                table = table.take(own)
            if self._hand_over(dialect, table):
                names.append(dialect.name)
                self.records += gathered.records
                self.last_line = max(self.last_line, gathered.last_line)
        self.name = "+".join(dict.fromkeys(names))

    def _apart(self, table: Table, ranks: Ints, prefixes: Mapping[bytes, int]) -> None:
        """Keep loss and gradient norm of every rank where one is not finite: it tells who was first."""
        numbers = {at: without_prefix(text)[1] for text, at in prefixes.items()}
        steps = table.column("step")
        for name, (index, values) in table.columns.items():
            metric = canonical(name).name
            if metric not in {"loss", "grad_norm"} or np.isfinite(values).all():
                continue
            order = np.argsort(ranks[index], kind="stable")
            for part in np.split(order, np.flatnonzero(np.diff(ranks[index][order])) + 1)[:_MOST_APART]:
                rank, rows = numbers.get(int(ranks[index[part[0]]])), index[part]
                if rank is not None and np.isfinite(steps[rows]).all():
                    self.builder.add(f"{metric}/rank{rank}", steps[rows], values[part], table.lines[rows])

    def _hand_over(self, dialect: Dialect, table: Table) -> bool:
        """Tell whether there was a value to hand over."""
        if not table.columns.keys() - _POSITION:
            return False
        steps = positions(table)
        uncounted = bool(np.isnan(steps).all()) and not dialect.last_resort
        if uncounted:
            steps = np.arange(1.0, len(steps) + 1)
        columns = table.columns if dialect.settle is None else dialect.settle(table, steps)
        taken = {canonical(name).name for name in self.builder.points} if dialect.last_resort else set()
        values = {
            name: pair
            for name, pair in columns.items()
            if name not in _POSITION - {"epoch"} and canonical(name).name not in taken
        }
        if np.isnan(steps).all() or not values.keys() - {"epoch"}:
            return False
        if uncounted:
            self.remarks.append(f"{dialect.name}: the records carry no step, they are counted instead")
        self.builder.absent |= dict(dialect.absent)
        for name, (index, given) in values.items():
            known = ~np.isnan(steps[index])
            kept = slice(None) if known.all() else known
            self.builder.add(name, steps[index[kept]], given[kept], table.lines[index[kept]])
        total, epochs = table.last("total"), table.last("epochs")
        if total is not None and "epoch" not in table.columns and total >= np.nanmax(steps, initial=-np.inf):
            self.config["max_steps"] = total
        if epochs is not None:
            self.config["num_train_epochs"] = epochs
        return True


def _numbered(prefixes: Iterable[bytes], ranks: dict[bytes, int]) -> list[int]:
    texts = list(prefixes)
    for text in dict.fromkeys(texts):
        if len(ranks) < _MOST_RANKS:
            ranks.setdefault(text, len(ranks))
    return [ranks.get(text, 0) for text in texts]


def of_one_rank(ranks: Ints) -> NDArray[np.bool_]:
    """Tell which records are of the rank that wrote first, and of those that began when it had written its last.

    Several ranks that write the same record stand in turn; after a restart another rank may write in its place.
    """
    known, first = np.unique(ranks, return_index=True)
    last = len(ranks) - 1 - np.unique(ranks[::-1], return_index=True)[1]
    kept, end = [0], -1
    for at in np.argsort(first).tolist():
        if known[at] and first[at] > end:
            kept.append(int(known[at]))
            end = int(last[at])
    return np.isin(ranks, kept)


def positions(table: Table) -> Floats:
    """Return the step of every row: as stated, counted on over epochs that start anew, else that of the row before.

    A log without steps is one of epochs; rows before the first step are at 0. NaN where there is neither.
    """
    steps, epochs = table.column("step"), carried(table.column("epoch"))
    if np.isnan(steps).all():
        return epochs
    stated = np.flatnonzero(~np.isnan(steps))
    at, epoch = steps[stated], epochs[stated]
    anew = (np.diff(at) <= 0) & (np.diff(epoch) > 0)
    if anew.any() and anew.sum() >= 0.5 * (np.diff(epoch) > 0).sum():
        totals = carried(table.column("total"))[stated]
        lengths = np.where(np.isnan(totals[:-1]), at[:-1], totals[:-1])[anew]
        first = np.nan_to_num(totals[0], nan=0.0) * max(
            np.floor(epoch[0]) - min(np.floor(np.nanmin(epoch, initial=np.inf)), 1.0), 0.0
        )
        offsets = np.zeros(len(at))
        offsets[1:][anew] = lengths * np.maximum(np.diff(epoch)[anew], 1.0)
        steps[stated] = at + np.cumsum(offsets) + first
    return np.nan_to_num(carried(steps), nan=0.0)


def carried(values: Floats) -> Floats:
    """Fill each NaN with the value before it; those in front of the first value stay."""
    known = np.where(np.isnan(values), -1, np.arange(len(values)))
    place = np.maximum.accumulate(known)
    return np.where(place >= 0, values[np.maximum(place, 0)], np.nan)
