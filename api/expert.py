"""The expert system as the service holds it: one engine in use, swapped whole for the next on reload."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from api.messages import say
from api.problem import Problem
from api.reader import Collect, Reader, ReaderError, Source, evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from api.audits import AuditJob
    from api.settings import Settings
    from api.submission import Submission
    from api.telemetry import Metrics
    from engine.audit.decide import Auditor
    from engine.diagnose import Diagnoser
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang
    from engine.model.case import Case
    from engine.model.diagnosis import WhyNotOut
    from engine.model.observed import Observed

_KINDS = ("facts", "findings", "causes", "checks", "gates")


class ReloadError(Exception):
    """The new knowledge base cannot be used, and the old one stays; the text says why."""


def default_source(settings: Settings, knowledge: Knowledge | None) -> Source:
    """The real engine on ``knowledge``, or on the folder of the settings, or on the bundled one."""
    load = partial(_load, settings.knowledge) if knowledge is None else partial(_given, knowledge)
    return Source(load=load, build=_build)


def _load(folder: Path | None) -> Knowledge:
    from engine.knowledge.load import load_knowledge

    return load_knowledge(folder)


def _given(knowledge: Knowledge) -> Knowledge:
    return knowledge


def _build(knowledge: Knowledge) -> Diagnoser:
    from engine.diagnose import Diagnoser

    return Diagnoser(knowledge, keep=True)


def _build_auditor(knowledge: Knowledge) -> Auditor:
    from engine.audit.decide import Auditor

    return Auditor(knowledge)


@dataclass(frozen=True)
class WhyNot:
    """Parse a submission and explain why a cause does not lead; a job for the reading process."""

    submission: Submission
    cause: str
    lang: Lang

    def __call__(self, diagnoser: Diagnoser) -> Any:
        """The explanation."""
        return diagnoser.why_not(self.submission.case(), self.cause, evidence(self.submission), lang=self.lang)


@dataclass
class Generation:
    """An engine with the knowledge it was built from, and the processes that read for it and that audit."""

    knowledge: Knowledge
    diagnoser: Diagnoser
    reader: Reader
    auditing: Reader
    users: int = 0
    retired: bool = False

    def close_if_unused(self) -> None:
        """Close a retired engine as soon as its last request has gone."""
        if self.retired and not self.users:
            self.diagnoser.close()
            self.reader.close()
            self.auditing.close()


class Expert:
    """Answers cases with the engine in use. Everything runs on the event loop but the reading of large cases."""

    def __init__(self, settings: Settings, source: Source, metrics: Metrics) -> None:
        self._settings = settings
        self._source = source
        self._metrics = metrics
        self._current: Generation | None = None
        self._reloading = asyncio.Lock()

    async def start(self) -> None:
        """Load knowledge and engine. Raises what loading raises."""
        self._swap(await self._new_generation(self._new_reader()))

    async def close(self) -> None:
        """End engine and reading process."""
        self._swap(None)

    async def reload(self) -> str:
        """Load the knowledge base anew and answer from it; requests under way finish with the old one.

        It is tried out in a process of its own first, so that a knowledge base that fails, hangs or crashes the
        engine harms nothing; that process then becomes the new reading process.

        Returns:
            The digest of the knowledge base now in use.

        Raises:
            ReloadError: if it cannot be used; the old one stays in use.
        """
        async with self._reloading:
            reader = self._new_reader()
            try:
                digest = await reader.start()
                generation = await self._new_generation(reader)
                if generation.knowledge.digest != digest:
                    generation.diagnoser.close()
                    raise ReaderError("the knowledge base changed while it was loaded")
            except Exception as error:
                reader.close()
                self._metrics.reloads.labels("failed").inc()
                raise ReloadError(str(error)) from error
            self._swap(generation)
            self._metrics.reloads.labels("done").inc()
            return digest

    @property
    def knowledge(self) -> Knowledge:
        """The knowledge base in use.

        Raises:
            Problem: 503 ``not-ready`` before the start and after the end.
        """
        return self._in_use().knowledge

    @contextmanager
    def lease(self) -> Iterator[Generation]:
        """The engine in use, which stays open until the end of the ``with`` even if it is replaced meanwhile."""
        generation = self._in_use()
        generation.users += 1
        try:
            yield generation
        finally:
            generation.users -= 1
            generation.close_if_unused()

    async def diagnose(self, submission: Submission, lang: Lang, limit: int) -> dict[str, Any]:
        """The diagnosis of a submission as plain data; a large one is read in the reading process and concluded here.

        Raises:
            Problem: if the submission cannot be read, does not fit, or is empty.
        """
        with self.lease() as generation:
            observed = await self.collect(generation, submission)
            return self.answers(generation, observed, (lang,), limit)[lang]

    async def collect(self, generation: Generation, submission: Submission) -> Observed:
        """Read a submission; a large one in the reading process.

        Raises:
            Problem: as :meth:`diagnose`.
        """
        if self._is_small(submission):
            return generation.diagnoser.collect(submission.case(), ())
        observed: Observed = await generation.reader.run(Collect(submission))
        return observed

    def answers(
        self,
        generation: Generation,
        observed: Observed,
        langs: Sequence[Lang],
        limit: int = 10,
        passed: AbstractSet[str] = frozenset(),
    ) -> dict[Lang, dict[str, Any]]:
        """Conclude from what was read, tell it in some languages, and count how it went."""
        diagnoser = generation.diagnoser
        before = diagnoser.stats.disagreements, diagnoser.stats.rebuilds
        answers: dict[Lang, dict[str, Any]] = diagnoser.answers(observed, langs, limit=limit, passed=passed)
        self._metrics.disagreements.inc(diagnoser.stats.disagreements - before[0])
        self._metrics.rebuilds.inc(diagnoser.stats.rebuilds - before[1])
        self._metrics.diagnoses.labels(answers[langs[0]]["answered_by"]).inc()
        return answers

    async def why_not(self, submission: Submission, cause: str, lang: Lang) -> WhyNotOut:
        """Why ``cause`` does not lead the ranking of a submission.

        Raises:
            Problem: as :meth:`diagnose`, and 404 ``unknown-id`` if there is no such cause.
        """
        with self.lease() as generation:
            if cause not in generation.knowledge.active_causes:
                raise Problem("unknown-id", say("no-active-cause"))
            job = WhyNot(submission, cause, lang)
            answer: WhyNotOut = (
                job(generation.diagnoser) if self._is_small(submission) else await generation.reader.run(job)
            )
            return answer

    async def audit(self, job: AuditJob) -> dict[Lang, bytes]:
        """Audit a checkpoint in a process of its own, one after the other; the result as JSON in each language.

        Raises:
            Problem: if the checkpoint cannot be audited, or not in time.
        """
        with self.lease() as generation:
            texts: dict[Lang, bytes] = await generation.auditing.run(job)
            return texts

    def self_test(self, case: Case) -> str:
        """What answered a known ``case``; raises what the engine raises."""
        with self.lease() as generation:
            return generation.diagnoser.diagnose(case, (), lang="en", limit=1).answered_by

    def _is_small(self, submission: Submission) -> bool:
        return not submission.files and len(submission.text) <= self._settings.inline_bytes

    def _in_use(self) -> Generation:
        if self._current is None:
            raise Problem("not-ready", say("no-knowledge"), headers={"Retry-After": "5"})
        return self._current

    def _new_reader(self) -> Reader:
        return Reader(
            self._source,
            start_seconds=self._settings.validation_seconds,
            seconds=self._settings.reading_seconds,
            queue=self._settings.reading_queue,
        )

    async def _new_generation(self, reader: Reader) -> Generation:
        knowledge = await asyncio.to_thread(self._source.load)
        return Generation(knowledge, self._source.build(knowledge), reader, self._new_auditing())

    def _new_auditing(self) -> Reader:
        return Reader(
            Source(self._source.load, _build_auditor),
            start_seconds=self._settings.validation_seconds,
            seconds=self._settings.audit_seconds,
            queue=self._settings.audit_queue,
            late="audit-timeout",
        )

    def _swap(self, generation: Generation | None) -> None:
        old, self._current = self._current, generation
        if generation is not None:
            for kind in _KINDS:
                self._metrics.knowledge.labels(kind).set(len(getattr(generation.knowledge, kind)))
        if old is not None:
            old.retired = True
            old.close_if_unused()
