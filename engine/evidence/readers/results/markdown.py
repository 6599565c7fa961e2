"""Tables that lm-evaluation-harness and lighteval print, alone or in a console log."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import IO

from engine.evidence.readers.console.reader import read_console
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, line_blocks, without_prefix
from engine.evidence.readers.results.document import number_of
from engine.evidence.readers.results.judge import record_of
from engine.evidence.readers.results.scores import Evaluation, Score, chance_of, rises
from engine.evidence.series import RunRecord

_HEADER = re.compile(rb"\|\s*(?:Tasks?|Groups)\s*\|\s*Version\s*\|[^\n]*\|\s*Value\s*\|[^\n]*Stderr", re.IGNORECASE)
# The harness says the model above its table: "hf (pretrained=...), gen_kwargs: (None), limit: None, ..."
_MODEL = re.compile(r"^[\w-]+ \((.*)\), (?:gen_kwargs|limit|provide_description): .*?limit: ([\w.]+)")
_NUMPY = re.compile(r"np\.float\d+\((.*)\)")
_MOST_ROWS, _LONGEST = 20_000, 4_000


@dataclass(slots=True)
class Tables:
    """Takes the lines of a log one by one; of a table printed twice ("Groups" repeats) each score counts once."""

    header: list[str] = field(default_factory=list)
    task: str = ""
    shots: dict[str, str] = field(default_factory=dict)
    scores: dict[tuple[str, str], Score] = field(default_factory=dict)
    model: str = ""
    limited: bool = False

    def take(self, line: str) -> None:
        """Read a row, a header, or the line that names the model."""
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "|" not in line:
            self.header = []
            if found := _MODEL.match(line.strip()):
                self.model, self.limited = found[1], found[2] != "None"
        elif _HEADER.match(line.strip().encode()):
            self.header = [cell.lower() for cell in cells]
        elif self.header and len(cells) == len(self.header) and len(self.scores) < _MOST_ROWS:
            self._row(dict(zip(self.header, cells, strict=True)))

    def _row(self, row: dict[str, str]) -> None:
        self.task = row.get("tasks") or row.get("task") or row.get("groups") or self.task
        task, metric = self.task.lstrip("- "), row.get("metric", "")
        value = _number(row.get("value", ""))
        if value is None or metric in ("", "alias") or task in ("", "all"):
            return
        if shots := row.get("n-shot") or row.get("num_fewshot"):
            self.shots[f"n-shot {task}"] = shots
        filter_ = row.get("filter", "")
        name = metric if filter_ in ("", "none") else f"{metric},{filter_}"
        rising = rises(metric) if "↓" not in row.get("", "") else False
        self.scores.setdefault(
            (task, name), Score(task, name, value, _number(row.get("stderr", "")), rising, chance_of(task, metric))
        )

    def evaluation(self, label: str) -> Evaluation:
        """All scores seen so far."""
        return Evaluation(
            label, "table", tuple(self.scores.values()), self.model, limited=self.limited, protocol=self.shots
        )


def _number(cell: str) -> float | None:
    wrapped = _NUMPY.fullmatch(cell)
    return number_of(wrapped[1] if wrapped else cell)


def read_evaluation_log(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read a console log, and the tables in it."""
    console = read_console(stream, label, limits)
    stream.seek(0)
    tables = Tables()
    for _, lines in line_blocks(stream, limits, Notes([])):
        for line in lines:
            if tables.header or b"Stderr" in line or b"limit: " in line:
                tables.take(without_prefix(line)[0][:_LONGEST].decode("utf-8", "replace"))
    notes = Notes(list(console.not_understood))
    record = record_of(tables.evaluation(label), "evaluation_log", notes)
    return replace(
        console,
        read=replace(console.read, format="evaluation_log", records=console.read.records + record.read.records),
        evaluation=record.evaluation,
        readings=(*console.readings, *record.readings),
        not_understood=record.not_understood,
    )


EVALUATION_LOG = Format(
    "evaluation_log", lambda head: head[:1] not in b"{[" and _HEADER.search(head) is not None, read_evaluation_log
)
