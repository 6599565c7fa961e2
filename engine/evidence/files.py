"""The files of a case, and what is like one: read, and judged run by run.

Apart from what a case states, because reading files takes most of the code there is: a sentence is answered without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.evidence import readers
from engine.evidence.case_file import CaseError, is_case, parse_document
from engine.evidence.configuration import read_config
from engine.evidence.detectors import Detections, compare_ranks, context_of, detect
from engine.evidence.gathered import Gathered
from engine.evidence.inputs import EvidenceFile
from engine.evidence.ranks import incident
from engine.evidence.ranks.of_files import side_by_side
from engine.evidence.readers.machines.alerts import joined
from engine.evidence.readers.results.compare import compare
from engine.evidence.series import ReadNote, RunEnd, RunRecord, together
from engine.evidence.signatures import Hit, SignatureScan, readings
from engine.evidence.vocabulary import Vocabulary, typed
from engine.knowledge.knowledge import Knowledge
from engine.model.case import Case
from engine.model.evidence import FactReading, NotUnderstood, Reading, Source, Value

MAX_CONFIG_BYTES = 4 * 1024 * 1024
_RUNS_OF_TRACKERS = frozenset({"tensorboard", "wandb", "mlflow_run"})


class FileEvidence:
    """Built once for a knowledge base; keeps no state between cases."""

    def __init__(self, knowledge: Knowledge, vocabulary: Vocabulary) -> None:
        self._knowledge = knowledge
        self._vocabulary = vocabulary
        self._signatures = SignatureScan(knowledge.signatures.values())

    def collect(self, case: Case, files: Sequence[EvidenceFile], out: Gathered) -> bool:
        """Read and judge everything that is a file or like one; whether there was anything over time."""
        records = self._records(case, files, out)
        for record in records:
            self._note(record, out)
        out.facts = joined(out.facts)
        hits: list[Hit] = []
        for record in records:
            found = self._signatures.hits(record)
            hits += found
            if not found and _says_nothing(record):
                lines = f"{record.read.lines} lines, of which none says" if record.read.lines else "nothing in it says"
                why = f"{lines} anything that is known here"
                out.not_understood.append(NotUnderstood(record.read.file, "", why))
        out.add(self._known([*readings(hits, self._field), *incident(records, hits)]))
        for run in together(records):
            self._judge(run, case, out)
        self._take(compare_ranks(side_by_side(records)), out)
        over_time = any(record.series or record.evaluation for record in records)
        if not over_time:
            out.add(self._known(_without_metrics(records)))
        comparison = compare(records)
        out.add(self._known(comparison.readings))
        out.judged += comparison.judged
        out.not_judged += comparison.not_judged
        return over_time

    def _records(self, case: Case, files: Sequence[EvidenceFile], out: Gathered) -> list[RunRecord]:
        """Everything that is a file or like one: the log, the case's own series, fragments, and files."""
        records = []
        if case.log:
            records.append(self._read("\n".join(case.log).encode(), "log"))
        if case.series:
            series, unread = readers.series_from_case([item.model_dump() for item in case.series])
            out.not_understood += [NotUnderstood("series", text, "this series cannot be read") for text in unread]
            end = RunEnd("unknown", Source("measured", "series"))
            records.append(RunRecord(ReadNote("series", "case", sum(map(len, series)), 0), end, tuple(series)))
        for name, content in sorted(case.files.items()):
            if isinstance(content, Mapping):
                records.append(_configuration(name, content))
            elif isinstance(content, str):
                records.append(self._small(name, content.encode()))
            else:
                out.not_understood.append(NotUnderstood(f"files/{name}", str(content)[:200], "neither keys nor text"))
        return records + [self._file(file) for file in files]

    def _read(self, source: Any, name: str, kind: str | None = None) -> RunRecord:
        return readers.read(source, name, readers.Limits(scan=self._signatures.blocks()), kind)

    def _file(self, file: EvidenceFile) -> RunRecord:
        if file.data is not None:
            return self._small(file.name, file.data)
        assert file.path is not None, "an evidence file has a path or data"
        try:
            if file.path.is_file() and file.path.stat().st_size <= MAX_CONFIG_BYTES:
                return self._small(file.name, file.path.read_bytes())
        except OSError:
            pass  # the reader says why
        return self._read(file.path, file.name)

    def _small(self, name: str, data: bytes) -> RunRecord:
        """A fragment or an upload: keys in the way of a document that no tool writes are a configuration as well."""
        kind = None
        if len(data) <= MAX_CONFIG_BYTES and readers.sniff(data[:65536]) == "text":
            repeated: list[str] = []
            kind, document = "text", _document(data, repeated)
            if isinstance(document, Mapping) and not is_case(document):
                record = _configuration(name, document, repeated)
                # A line of a log ("RuntimeError: ...") parses as a key and its value as well.
                if data.lstrip().startswith(b"{") or read_config(name, document, self._vocabulary).facts:
                    return record
        record = self._read(data, name, kind)
        if data.lstrip()[:1] in (b"{", b"[") and _says_nothing(record):
            return replace(record, not_understood=(_fault_of(data),))
        return record

    def _note(self, record: RunRecord, out: Gathered) -> None:
        """What one file says outright: how much there is of it, its configuration and its statements."""
        out.read.append({
            "file": record.read.file, "format": record.read.format, "records": record.read.records,
            "lines": record.read.lines,
        })  # fmt: skip
        out.not_understood += [NotUnderstood(record.read.file, "", why) for why in record.not_understood]
        if record.config:
            out.take(read_config(record.read.file, record.config, self._vocabulary))
        out.add(self._known(record.readings))

    def _judge(self, run: RunRecord, case: Case, out: Gathered) -> None:
        """The series of one run through the detectors; a file without any is no run."""
        if not run.series:
            return
        known = {fact.fact: fact.value for fact in out.facts}
        self._take(detect(run.series, context_of(run, known, paradigm=case.paradigm)), out)

    def _take(self, detections: Detections, out: Gathered) -> None:
        out.add(self._known(FactReading(found.fact, found.value, found.source) for found in detections.facts))
        out.judged += detections.topics
        out.not_judged += [(gap.what, gap.why) for gap in detections.gaps]

    def _known(self, found: Iterable[Reading]) -> list[Reading]:
        """What the knowledge base has a name for: one that leaves a part out is not told of it."""
        facts, findings = self._knowledge.facts, self._knowledge.findings
        return [
            one for one in found if (one.fact in facts if isinstance(one, FactReading) else one.finding in findings)
        ]

    def _field(self, fact: str, text: str) -> Value | None:
        return typed(self._knowledge.facts[fact], text).value


def _configuration(name: str, content: Mapping[str, Any], repeated: Sequence[str] = ()) -> RunRecord:
    end = RunEnd("unknown", Source("measured", name, "a configuration"))
    remarks = tuple(f"the key {key!r} stands twice: the last value counts" for key in dict.fromkeys(repeated))
    return RunRecord(ReadNote(name, "configuration", len(content), 0), end, config=content, not_understood=remarks)


def _without_metrics(records: Sequence[RunRecord]) -> Iterator[FactReading]:
    """The tracker's files, of a case in which nothing has a metric, that are of a run."""
    for record in records:
        if record.read.format in _RUNS_OF_TRACKERS:
            yield FactReading("run.no_metrics", True, Source("measured", record.read.file, "no metric record in it"))


def _says_nothing(record: RunRecord) -> bool:
    """Whether nothing was read but lines, if that: they may still be those of a signature."""
    found = (record.series, record.evaluation, record.config, record.readings, record.not_understood)
    return record.end.kind == "unknown" and not any(found)


def _fault_of(data: bytes) -> str:
    """Why nothing is read of what looks like JSON."""
    try:
        json.loads(data)
    except RecursionError:
        return "JSON that is nested too deep"
    except ValueError as error:
        return f"JSON that is damaged or cut short: {str(error)[:200]}"
    return "JSON in which nothing is known here"


def _document(data: bytes, repeated: list[str]) -> Any:
    try:
        return parse_document(data.decode("utf-8"), repeated)
    except (CaseError, UnicodeDecodeError):
        return None
