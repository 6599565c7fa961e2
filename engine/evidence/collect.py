"""A case and its files, read into facts and reported findings with their sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine.evidence.gathered import Gathered
from engine.evidence.inputs import EvidenceFile, digest
from engine.evidence.normalise import read_facts, read_observations
from engine.evidence.pasted import cut
from engine.evidence.text import TextReader, index_of
from engine.evidence.vocabulary import Vocabulary
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Text
from engine.model.case import Case
from engine.model.evidence import FindingReading, NotUnderstood, Source
from engine.model.observed import Observed

if TYPE_CHECKING:
    from engine.evidence.files import FileEvidence

Kept = Callable[[Callable[[], Any]], Any]
REPORT = "report"
UNREAD = "no known observation was found in it"
_TRENDS = Text(en="trends over time", zh="随时间的趋势")
_NO_SERIES = Text(
    en="no numbers over time were given: add a log or a metrics file",
    zh="没有给出随时间变化的数值：请添加日志或指标文件",
)


class Collector:
    """Built once for a knowledge base; ``collect`` keeps no state between cases."""

    def __init__(self, knowledge: Knowledge, kept: Kept = lambda build: build()) -> None:
        """``kept`` gives what a function works out of the knowledge, perhaps from an earlier time."""
        self._knowledge = knowledge
        self._vocabulary = Vocabulary(knowledge.facts, knowledge.findings, knowledge.lexicon)
        self._text = TextReader(self._vocabulary, kept(lambda: index_of(self._vocabulary)))

    @cached_property
    def _files(self) -> FileEvidence:
        """Loaded when there is a file: a sentence is answered sooner without."""
        from engine.evidence.files import FileEvidence

        return FileEvidence(self._knowledge, self._vocabulary)

    def concepts(self, text: str) -> list[str]:
        """The concepts of the lexicon that the text names, as often as it does."""
        return self._text.concepts(text)

    def collect(self, case: Case, files: Sequence[EvidenceFile] = ()) -> Observed:
        """Read everything; what cannot be used is kept with the reason, and nothing raises on content."""
        out = Gathered()
        words, pasted = cut(case.report)
        self._statements(case, words, out)
        given = bool(case.log or case.series or case.files or files or pasted)
        if not (given and self._files.collect(case, [*pasted, *files], out)):
            out.not_judged.append((_TRENDS, _NO_SERIES))
        if out.held and (case.report.strip() or self._symptom(out)):
            out.facts += out.held
        return Observed(
            tuple(out.facts), tuple(out.findings), case.paradigm, digest(case, files), tuple(out.not_understood),
            tuple(out.read), tuple(out.judged), tuple(out.not_judged), case.words,
        )  # fmt: skip

    def _statements(self, case: Case, words: str, out: Gathered) -> None:
        """What the case itself says: facts, observations, the words of the report and contrasts."""
        out.take(read_facts(case.facts, self._vocabulary))
        out.take(read_observations(case.observations, self._vocabulary, self._text))
        if words.strip():
            found, unclear = self._text.read(words)
            out.add(found)
            out.not_understood += unclear
            if not found:
                out.not_understood.append(NotUnderstood(REPORT, words.strip()[:200], UNREAD))
        for contrast in case.contrast:
            self._contrast(contrast.dimension, contrast.good, contrast.bad, out)

    def _symptom(self, out: Gathered) -> bool:
        """Whether anything was stated or seen that may be wrong: only then is an option left off a suspect."""
        findings = self._knowledge.findings
        return any(one.state == "present" and findings[one.finding].role == "symptom" for one in out.findings) or any(
            one.source.kind != "measured" for one in out.facts
        )

    def _contrast(self, dimension: str, good: Any, bad: Any, out: Gathered) -> None:
        finding = f"contrast({dimension.strip().lower().replace('_', '-').replace(' ', '-')})"
        quote = f"{dimension}: works with {good}, fails with {bad}"
        if finding in self._knowledge.findings:
            out.findings.append(FindingReading(finding, "present", Source("stated", "contrast", quote)))
        else:
            known = sorted(f for f in self._knowledge.findings if f.startswith("contrast("))
            out.not_understood.append(
                NotUnderstood("contrast", quote, f"unknown dimension; known: {', '.join(k[9:-1] for k in known)}")
            )
