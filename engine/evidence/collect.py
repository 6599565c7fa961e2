"""A case and its files, read into facts and reported findings with their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.evidence import readers
from engine.evidence.case_file import CaseError, is_case, parse_document
from engine.evidence.detectors import context_of, detect
from engine.evidence.inputs import EvidenceFile, digest
from engine.evidence.normalise import Readings, read_config, read_facts, read_observations
from engine.evidence.ranks import incident
from engine.evidence.readers.results.compare import compare
from engine.evidence.series import ReadNote, RunEnd, RunRecord, together
from engine.evidence.signatures import SignatureScan, readings
from engine.evidence.text import TextReader, index_of
from engine.evidence.vocabulary import Vocabulary, typed
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Text
from engine.model.case import Case
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Source, Value
from engine.model.observed import Observed

Kept = Callable[[Callable[[], Any]], Any]
REPORT = "report"
UNREAD = "no known observation was found in it"
MAX_CONFIG_BYTES = 4 * 1024 * 1024
_RUNS_OF_TRACKERS = frozenset({"tensorboard", "wandb", "mlflow_run"})
_TRENDS = Text(en="trends over time", zh="随时间的趋势")
_NO_SERIES = Text(
    en="no numbers over time were given: add a log or a metrics file",
    zh="没有给出随时间变化的数值：请添加日志或指标文件",
)


class _Gathered:
    """What has been read so far."""

    def __init__(self) -> None:
        self.facts: list[FactReading] = []
        self.findings: list[FindingReading] = []
        self.held: list[FactReading] = []
        self.not_understood: list[NotUnderstood] = []
        self.read: list[dict[str, Any]] = []
        self.judged: list[Text] = []
        self.not_judged: list[tuple[Text, Text]] = []

    def add(self, found: Iterable[FactReading | FindingReading]) -> None:
        for reading in found:
            if isinstance(reading, FactReading):
                self.facts.append(reading)
            else:
                self.findings.append(reading)

    def take(self, readings_: Readings) -> None:
        self.facts += readings_.facts
        self.findings += readings_.findings
        self.held += readings_.held
        self.not_understood += readings_.not_understood


class Collector:
    """Built once for a knowledge base; ``collect`` keeps no state between cases."""

    def __init__(self, knowledge: Knowledge, kept: Kept = lambda build: build()) -> None:
        """``kept`` gives what a function works out of the knowledge, perhaps from an earlier time."""
        self._knowledge = knowledge
        self._vocabulary = Vocabulary(knowledge.facts, knowledge.findings, knowledge.lexicon)
        self._text = TextReader(self._vocabulary, kept(lambda: index_of(self._vocabulary)))
        self._signatures = SignatureScan(knowledge.signatures.values())

    def collect(self, case: Case, files: Sequence[EvidenceFile] = ()) -> Observed:
        """Read everything; what cannot be used is kept with the reason, and nothing raises on content."""
        out = _Gathered()
        self._statements(case, out)
        records = self._records(case, files, out)
        for record in records:
            self._note(record, out)
        hits = [hit for record in records for hit in self._signatures.hits(record)]
        out.add(self._known([*readings(hits, self._field), *incident(records, hits)]))
        for run in together(records):
            self._judge(run, case, out)
        out.add(self._known(_without_metrics(records)))
        comparison = compare(records)
        out.add(self._known(comparison.readings))
        out.judged += comparison.judged
        out.not_judged += comparison.not_judged
        if not any(record.series or record.evaluation for record in records):
            out.not_judged.append((_TRENDS, _NO_SERIES))
        if case.report.strip() or self._symptom(out):
            out.facts += out.held
        return Observed(
            tuple(out.facts), tuple(out.findings), case.paradigm, digest(case, files), tuple(out.not_understood),
            tuple(out.read), tuple(out.judged), tuple(out.not_judged), _words(case),
        )  # fmt: skip

    def _statements(self, case: Case, out: _Gathered) -> None:
        """What the case itself says: facts, observations, the report and contrasts."""
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

    def _records(self, case: Case, files: Sequence[EvidenceFile], out: _Gathered) -> list[RunRecord]:
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

    def _read(self, source: Any, name: str) -> RunRecord:
        return readers.read(source, name, readers.Limits(scan=self._signatures.blocks()))

    def _file(self, file: EvidenceFile) -> RunRecord:
        if file.data is not None:
            return self._small(file.name, file.data)
        assert file.path is not None, "an evidence file has a path or data"
        return self._read(file.path, file.name)

    def _small(self, name: str, data: bytes) -> RunRecord:
        """A fragment or an upload: keys in the way of a document that no tool writes are a configuration as well."""
        if len(data) <= MAX_CONFIG_BYTES and readers.sniff(data[:65536]) == "text":
            document = _document(data)
            if isinstance(document, Mapping) and not is_case(document):
                record = _configuration(name, document)
                # A line of a log ("RuntimeError: ...") parses as a key and its value as well.
                if data.lstrip().startswith(b"{") or read_config(name, document, self._vocabulary).facts:
                    return record
        return self._read(data, name)

    def _note(self, record: RunRecord, out: _Gathered) -> None:
        """What one file says outright: how much there is of it, its configuration and its statements."""
        out.read.append({
            "file": record.read.file, "format": record.read.format, "records": record.read.records,
            "lines": record.read.lines,
        })  # fmt: skip
        out.not_understood += [NotUnderstood(record.read.file, "", why) for why in record.not_understood]
        if record.config:
            out.take(read_config(record.read.file, record.config, self._vocabulary))
        out.add(self._known(record.readings))

    def _judge(self, run: RunRecord, case: Case, out: _Gathered) -> None:
        """The series of one run through the detectors; a file without any is no run."""
        if not run.series:
            return
        known = {fact.fact: fact.value for fact in out.facts}
        detections = detect(run.series, context_of(run, known, paradigm=case.paradigm))
        out.add(self._known(FactReading(found.fact, found.value, found.source) for found in detections.facts))
        out.judged += detections.topics
        out.not_judged += [(gap.what, gap.why) for gap in detections.gaps]

    def _known(self, found: Iterable[FactReading | FindingReading]) -> list[FactReading | FindingReading]:
        """What the knowledge base has a name for: one that leaves a part out is not told of it."""
        facts, findings = self._knowledge.facts, self._knowledge.findings
        return [
            one for one in found if (one.fact in facts if isinstance(one, FactReading) else one.finding in findings)
        ]

    def _symptom(self, out: _Gathered) -> bool:
        """Whether anything was stated or seen that may be wrong: only then is an option left off a suspect."""
        symptoms = {f.id for f in self._knowledge.findings.values() if f.role == "symptom"}
        return any(one.finding in symptoms and one.state == "present" for one in out.findings) or any(
            one.source.kind != "measured" for one in out.facts
        )

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


def _configuration(name: str, content: Mapping[str, Any]) -> RunRecord:
    end = RunEnd("unknown", Source("measured", name, "a configuration"))
    return RunRecord(ReadNote(name, "configuration", len(content), 0), end, config=content)


def _without_metrics(records: Sequence[RunRecord]) -> Iterator[FactReading]:
    """The tracker's file of a run that no metric was logged to, nor anywhere else that is known."""
    if any(record.series or record.evaluation for record in records):
        return
    for record in records:
        if record.read.format in _RUNS_OF_TRACKERS:
            yield FactReading("run.no_metrics", True, Source("measured", record.read.file, "no metric record in it"))


def _words(case: Case) -> str:
    """What the reporter wrote, to be compared with the descriptions of the causes."""
    named = (f"{item.name} {item.value}".replace("_", " ")[:500] for item in case.observations)
    return "\n".join(filter(None, (case.report, *named)))


def _document(data: bytes) -> Any:
    try:
        return parse_document(data.decode("utf-8"))
    except (CaseError, UnicodeDecodeError):
        return None
