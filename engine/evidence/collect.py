"""A case and its files, read into facts and reported findings with their sources."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.evidence import readers
from engine.evidence.case_file import CaseError, is_case, parse_document
from engine.evidence.detectors import DetectContext, context_of, detect
from engine.evidence.normalise import Readings, read_config, read_facts, read_observations
from engine.evidence.series import ReadNote, RunEnd, RunRecord, together
from engine.evidence.signatures import SignatureScan, readings
from engine.evidence.text import TextReader
from engine.evidence.vocabulary import Vocabulary, typed
from engine.knowledge.knowledge import Knowledge
from engine.model.case import Case
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Source, Value
from engine.model.observed import Observed

REPORT = "report"
UNREAD = "no known observation was found in it"
MAX_CONFIG_BYTES = 4 * 1024 * 1024
# Facts of a case that tell detectors what to compare with, by the name of the detectors' context.
_CONTEXT_FACTS = {"vocabulary": "model.vocab_size", "batch": "batch.micro"}


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """A file to read: from disk, or its bytes. ``name`` is what the answer calls it."""

    name: str
    path: Path | None = None
    data: bytes | None = None


class _Gathered:
    """What has been read so far."""

    def __init__(self) -> None:
        self.facts: list[FactReading] = []
        self.findings: list[FindingReading] = []
        self.not_understood: list[NotUnderstood] = []
        self.read: list[dict[str, Any]] = []
        self.judged: list[str] = []
        self.not_judged: list[tuple[str, str]] = []

    def add(self, found: Iterable[FactReading | FindingReading]) -> None:
        for reading in found:
            if isinstance(reading, FactReading):
                self.facts.append(reading)
            else:
                self.findings.append(reading)

    def take(self, readings_: Readings) -> None:
        self.facts += readings_.facts
        self.findings += readings_.findings
        self.not_understood += readings_.not_understood


class Collector:
    """Built once for a knowledge base; ``collect`` keeps no state between cases."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._vocabulary = Vocabulary(knowledge.facts, knowledge.findings, knowledge.lexicon)
        self._text = TextReader(self._vocabulary)
        self._signatures = SignatureScan(knowledge.signatures.values())

    def collect(self, case: Case, files: Sequence[EvidenceFile] = ()) -> Observed:
        """Read everything; what cannot be used is kept with the reason, and nothing raises on content."""
        out = _Gathered()
        out.take(read_facts(case.facts, self._vocabulary))
        out.take(read_observations(case.observations, self._vocabulary, self._text))
        if case.report.strip():
            found, unclear = self._text.read(case.report)
            out.add(found)
            out.not_understood += unclear
            if not found:
                out.not_understood.append(NotUnderstood(REPORT, case.report.strip()[:200], UNREAD))
        for contrast in case.contrast:
            self._contrast(contrast.dimension, contrast.good, contrast.bad, out)
        records = self._records(case, files, out)
        context = {fact.fact: fact.value for fact in out.facts}
        for record in records:
            self._note(record, out)
        for record in together(records):
            self._judge(record, context, out)
        if not records:
            out.not_judged.append(("trends over time", "no numbers over time were given: add a log or a metrics file"))
        return Observed(
            tuple(out.facts), tuple(out.findings), case.paradigm, digest(case, files), tuple(out.not_understood),
            tuple(out.read), tuple(out.judged), tuple(out.not_judged), _words(case),
        )  # fmt: skip

    def _records(self, case: Case, files: Sequence[EvidenceFile], out: _Gathered) -> list[RunRecord]:
        """Everything with numbers over time: the log, the case's own series, fragments that are logs, and files."""
        records = []
        if case.log:
            records.append(readers.read("\n".join(case.log).encode(), "log"))
        if case.series:
            series, unread = readers.series_from_case([item.model_dump() for item in case.series])
            out.not_understood += [NotUnderstood("series", text, "this series cannot be read") for text in unread]
            end = RunEnd("unknown", Source("measured", "series"))
            records.append(RunRecord(ReadNote("series", "case", sum(map(len, series)), 0), end, tuple(series)))
        for name, content in sorted(case.files.items()):
            records += self._fragment(name, content, out)
        for file in files:
            records += self._file(file, out)
        return records

    def _fragment(self, name: str, content: Any, out: _Gathered) -> list[RunRecord]:
        if isinstance(content, str):
            return self._text_file(name, content.encode(), out)
        if isinstance(content, Mapping):
            return self._configuration(name, content, read_config(name, content, self._vocabulary), out)
        out.not_understood.append(NotUnderstood(f"files/{name}", str(content)[:200], "neither keys nor text"))
        return []

    def _configuration(self, name: str, content: Mapping[str, Any], found: Readings, out: _Gathered) -> list[RunRecord]:
        """A configuration has no numbers over time: its facts are taken, and there is no record."""
        out.take(found)
        out.read.append({"file": name, "format": "configuration", "keys": len(content)})
        return []

    def _file(self, file: EvidenceFile, out: _Gathered) -> list[RunRecord]:
        if file.data is not None:
            return self._text_file(file.name, file.data, out)
        assert file.path is not None, "an evidence file has a path or data"
        try:
            small = file.path.is_file() and file.path.stat().st_size <= MAX_CONFIG_BYTES
            if small:
                return self._text_file(file.name, file.path.read_bytes(), out)
        except OSError as error:
            out.not_understood.append(NotUnderstood(file.name, "", f"cannot be read: {error.strerror}"))
            return []
        return [readers.read(file.path, file.name)]

    def _text_file(self, name: str, data: bytes, out: _Gathered) -> list[RunRecord]:
        """A small file: a configuration if it parses as one, else whatever the readers make of it."""
        if readers.sniff(data[:65536]) == "text" and len(data) <= MAX_CONFIG_BYTES:
            document = _document(data)
            if isinstance(document, Mapping) and not is_case(document):
                found = read_config(name, document, self._vocabulary)
                # A line of a log ("RuntimeError: ...") parses as a key and its value as well.
                if found.facts or data.lstrip().startswith(b"{"):
                    return self._configuration(name, document, found, out)
        return [readers.read(data, name)]

    def _note(self, record: RunRecord, out: _Gathered) -> None:
        """What one file says outright: its configuration, its statements, its lines through the signatures."""
        out.read.append({
            "file": record.read.file, "format": record.read.format, "records": record.read.records,
            "lines": record.read.lines,
        })  # fmt: skip
        out.not_understood += [NotUnderstood(record.read.file, "", why) for why in record.not_understood]
        if record.config:
            out.take(read_config(record.read.file, record.config, self._vocabulary))
        out.add(record.readings)
        hits = self._signatures.scan(
            (f"{record.read.file}:{event.line}", event.text, event.rank) for event in record.events
        )
        out.add(readings(hits, self._field))

    def _judge(self, record: RunRecord, known: Mapping[str, Value], out: _Gathered) -> None:
        """The series of one run through the detectors."""
        detections = detect(record.series, self._context(record, known, out))
        out.facts += [
            FactReading(found.fact, found.value, found.source)
            for found in detections.facts
            if found.fact in self._knowledge.facts
        ]
        out.judged += detections.judged
        out.not_judged += detections.not_judged

    def _context(self, record: RunRecord, known: Mapping[str, Value], out: _Gathered) -> DetectContext:
        values = dict(known) | {
            reading.fact: reading.value for reading in out.facts if reading.source.kind == "measured"
        }
        counts = {
            name: int(value) for name, fact in _CONTEXT_FACTS.items() if isinstance(value := values.get(fact), float)
        }
        return context_of(record, **counts)

    def _field(self, fact: str, text: str) -> Value | None:
        return typed(self._knowledge.facts[fact], text).value

    def _contrast(self, dimension: str, good: Any, bad: Any, out: _Gathered) -> None:
        finding = f"contrast({dimension.strip().lower().replace('_', '-').replace(' ', '-')})"
        quote = f"{dimension}: works with {good}, fails with {bad}"
        if finding in self._knowledge.findings:
            out.findings.append(FindingReading(finding, "present", Source("stated", "contrast", quote)))
        else:
            known = sorted(f for f in self._knowledge.findings if f.startswith("contrast("))
            out.not_understood.append(
                NotUnderstood("contrast", quote, f"unknown dimension; known: {', '.join(k[9:-1] for k in known)}")
            )


def _words(case: Case) -> str:
    """What the reporter wrote, to be compared with the descriptions of the causes."""
    named = (f"{item.name} {item.value}".replace("_", " ")[:500] for item in case.observations)
    return "\n".join(filter(None, (case.report, *named)))


def _document(data: bytes) -> Any:
    try:
        return parse_document(data.decode("utf-8"))
    except (CaseError, UnicodeDecodeError):
        return None


def digest(case: Case, files: Sequence[EvidenceFile]) -> str:
    """sha256 over the content of the case and its files, whatever the order of keys, observations and files."""
    body = case.model_dump(exclude_defaults=True)
    if case.observations:
        body["observations"] = sorted(json.dumps(_plain(o), sort_keys=True) for o in body["observations"])
    digest_ = hashlib.sha256(json.dumps(_plain(body), sort_keys=True, ensure_ascii=True).encode())
    for name, content in sorted((file.name, _file_digest(file)) for file in files):
        digest_.update(f"\0{name}\0{content}".encode(errors="backslashreplace"))
    return "sha256:" + digest_.hexdigest()


def _file_digest(file: EvidenceFile) -> str:
    if file.data is not None:
        return hashlib.sha256(file.data).hexdigest()
    try:
        if file.path is not None and file.path.is_file():
            with file.path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        pass
    return "unreadable"


def _plain(value: Any) -> Any:
    """A value that JSON can write: NaN and infinity as text, anything else that is not plain as its text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
