"""An engine with the interface of the real one and behaviour that tests can steer; importable by a spawned process."""

import os
import threading
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from api.reader import Source
from engine.knowledge.knowledge import Family, Knowledge
from engine.model.base import Text
from engine.model.case import Case
from engine.model.diagnosis import CauseOut, Diagnosis, FactOut, UnknownOut, WhyNotOut
from engine.model.kb import Cause, Check, Fact, Finding, Link, Remedy

SECRET = "hunter2-in-an-exception"


def text(en: str, zh: str) -> Text:
    return Text(en=en, zh=zh)


def make_cause(slug: str, family: str, status: Any = "stable") -> Cause:
    return Cause(
        id=f"numerics/{slug}",
        family=family,
        title=text(f"Cause {slug}", f"原因 {slug}"),
        status=status,
        station="forward",
        meaning=text("Numbers leave the range.", "数值超出范围。"),
        impact=text("Updates are lost.", "更新丢失。"),
        prior="usual",
        presentation={"en": ("The loss is NaN.",), "zh": ("损失为 NaN。",)},
        shows=(Link(finding="loss.nan", how="usually"), Link(finding="grad.nan", how="often")),
        checks=("look-at-log",),
        remedies=(Remedy(do=text("Use bf16.", "改用 bf16。")),),
        blind_spots=text("Rare layers.", "少见的层。"),
    )


def make_knowledge(digest: str = "digest-1", version: str = "1.0.0") -> Knowledge:
    causes = {
        cause.id: cause
        for cause in (
            make_cause("overflow", "fp16_range"),
            make_cause("underflow", "fp16_range", "trial"),
            make_cause("planned", "other", "draft"),
        )
    }
    findings = {key: Finding(id=key, title=text(f"Finding {key}", f"发现 {key}")) for key in ("loss.nan", "grad.nan")}
    facts = {
        f"loss.value{n:03d}": Fact(id=f"loss.value{n:03d}", type="number", title=text(f"Loss {n}", f"损失 {n}"))
        for n in range(120)
    }
    check = Check(
        id="look-at-log", title=text("Look", "查看"), how=text("Read it.", "读。"), minutes=1, settles=("loss.nan",)
    )
    return Knowledge.model_construct(
        version=version,
        digest=digest,
        facts=facts,
        findings=findings,
        causes=causes,
        checks={check.id: check},
        gates={},
        families={"fp16_range": Family(area="numerics", meaning="numbers beyond the range of fp16")},
        pipelines={},
    )


@dataclass(frozen=True)
class Seen:
    """What the fake read, from which thread and process."""

    case: Case
    files: tuple[tuple[str, bytes], ...]
    process: int


@dataclass
class FakeDiagnoser:
    knowledge: Knowledge
    closed: bool = False
    stats: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(cases=0, answered_by_reference=0, disagreements=0, rebuilds=0)
    )
    threads: set[int] = field(default_factory=set)

    def collect(self, case: Case, files: Sequence[Any] = ()) -> Seen:
        if "explode" in case.report:
            raise RuntimeError(SECRET)
        if "crash the process" in case.report:
            os._exit(1)
        if "take for ever" in case.report:
            time.sleep(3600)
        return Seen(case, tuple((file.name, file.path.read_bytes()) for file in files), os.getpid())

    def conclude(self, observed: Seen, *, lang: str = "en", limit: int = 10) -> Diagnosis:
        assert not self.closed, "used after close"
        self.threads.add(threading.get_ident())
        self.stats.cases += 1
        if "disagree" in observed.case.report:
            self.stats.disagreements += 1
            self.stats.rebuilds += 1
        causes = [
            CauseOut(
                id=cause.id,
                family=cause.family,
                title=cause.title.get(lang),
                meaning=cause.meaning.get(lang),
                station=cause.station,
                probability=0.4,
                marginal=0.4,
                status=cause.status,
            )
            for cause in self.knowledge.active_causes.values()
        ]
        read = [{"name": name, "bytes": len(data)} for name, data in observed.files]
        read.append({"process": observed.process})
        return Diagnosis(
            kb_version=self.knowledge.version,
            kb_digest=self.knowledge.digest,
            engine_version="0",
            input_digest="0",
            answered_by="durable-rules",
            summary=observed.case.report[:50],
            causes=causes[:limit],
            unknown=UnknownOut(probability=0.2, why="why"),
            facts=[FactOut(id=o.name, title=o.name, value=o.value) for o in observed.case.observations],
            coverage={"read": read},
        )

    def informed(self, observed: Seen, facts: Mapping[str, Any]) -> Seen:
        return replace(observed, case=observed.case.model_copy(update={"facts": {**observed.case.facts, **facts}}))

    def explain(self, observed: Seen, cause_id: str, *, lang: str = "en") -> WhyNotOut:
        return self.why_not(observed.case, cause_id, lang=lang)

    def answers(
        self,
        observed: Seen,
        langs: Sequence[str],
        *,
        limit: int = 10,
        passed: Set[str] = frozenset(),  # noqa: ARG002
    ) -> dict[str, dict[str, Any]]:
        return {lang: self.conclude(observed, lang=lang, limit=limit).model_dump(by_alias=True) for lang in langs}

    def diagnose(self, case: Case, files: Sequence[Any] = (), *, lang: str = "en", limit: int = 10) -> Diagnosis:
        return self.conclude(self.collect(case, files), lang=lang, limit=limit)

    def why_not(self, case: Case, cause_id: str, files: Sequence[Any] = (), *, lang: str = "en") -> WhyNotOut:
        self.collect(case, files)
        cause = self.knowledge.active_causes[cause_id]
        return WhyNotOut(cause=cause_id, title=cause.title.get(lang), rank=1, probability=0.4)

    def close(self) -> None:
        self.closed = True


SOURCE = Source(load=make_knowledge, build=FakeDiagnoser)
