"""The one function that carries a case from what was given to a diagnosis; every face is a thin caller of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from engine import __version__
from engine.evidence.collect import REPORT, UNREAD, Collector
from engine.evidence.inputs import EvidenceFile
from engine.inference import similarity
from engine.inference.conclude import Conclusion, conclusions
from engine.inference.derive import Derivation, parse
from engine.inference.explain import Explainer, number, source_part
from engine.inference.network import Array, Network
from engine.inference.plan import Planned, Planner
from engine.inference.rank import Known, Ranking, rank
from engine.inference.resolve import Settled, add_derived, dependence_order, settle_facts, settle_findings
from engine.inference.rules import AnsweredBy, Decision, EngineStats, RuleBook, RuleEngine
from engine.inference.similarity import Similarity
from engine.inference.template import CauseTemplate, Part
from engine.knowledge import cache
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.case import Case
from engine.model.conditions import Condition, NotOf
from engine.model.evidence import Value
from engine.model.kb import Gate
from engine.model.observed import Observed, together

if TYPE_CHECKING:
    from engine.model.diagnosis import Diagnosis, WhyNotOut

__all__ = ["Diagnoser", "EvidenceFile"]

_PASSES, _FAILS, _ADVICE, _AGAINST = "passes:", "fails:", "advice:", "against:"
_TIMELINE_LIMIT = 30


@dataclass(frozen=True)
class _Findings:
    """What the rules and reports of a case come to, before anything is ranked."""

    facts: dict[str, Settled[Value]]
    derived: tuple[str, ...]
    decisions: dict[str, Decision]
    answered_by: AnsweredBy
    concluded: dict[str, Conclusion]


@dataclass(frozen=True)
class _Worked:
    """A case after inference, before it is put into words of either language."""

    observed: Observed
    found: _Findings
    ranking: Ranking


class Diagnoser:
    """The engine over one knowledge base. One a process, called from one thread; ``close`` frees its memory.

    Args:
        knowledge: the loaded knowledge base.
        check: hold every answer of durable-rules against the reference evaluator.
        keep: keep what is worked out of the knowledge in the user's cache folder, under the knowledge's digest. Only
            for a knowledge base as it was loaded: a changed copy has the same digest.
    """

    def __init__(self, knowledge: Knowledge, check: bool = True, keep: bool = False) -> None:
        def kept(kind: str, build: Callable[[], Any]) -> Any:
            return cache.kept(kind, knowledge.digest, build) if keep else build()

        self.knowledge = knowledge
        # Plain dictionaries: a case looks into them hundreds of times.
        self._facts, self._finding_definitions = dict(knowledge.facts), dict(knowledge.findings)
        self._checks = dict(knowledge.checks)
        self.collector = Collector(knowledge, lambda index: kept("text", index))
        self._derivations = derivations(knowledge)
        self._engine = RuleEngine(RuleBook.compile(rules(knowledge)), check)
        self._network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, knowledge.calibration)
        self._planner = Planner(self._network, knowledge.checks, knowledge.findings)
        causes, findings = self._network.causes, knowledge.findings
        self._templates: dict[Lang, dict[str, CauseTemplate]] = {lang: {} for lang in get_args(Lang)}
        worth, examples, reports = knowledge.calibration.resemblance, knowledge.examples, knowledge.reports
        concepts = self.collector.concepts
        index = kept("words", lambda: similarity.index_of(causes, findings, examples, reports, concepts))
        self._similarity = Similarity(index, worth, concepts)

    @property
    def stats(self) -> EngineStats:
        return self._engine.stats

    def close(self) -> None:
        """Free what durable-rules holds. The diagnoser cannot be used afterwards."""
        self._engine.close()

    def diagnose(
        self, case: Case, files: Sequence[EvidenceFile] = (), *, lang: Lang = "en", limit: int = 10
    ) -> Diagnosis:
        """The diagnosis of a case with its files; the same input gives the same bytes."""
        return self.conclude(self.collect(case, files), lang=lang, limit=limit)

    def collect(self, case: Case, files: Sequence[EvidenceFile] = ()) -> Observed:
        """Read everything there is into facts and reported findings. The result can be sent between processes."""
        return self.collector.collect(case, files)

    def informed(self, observed: Observed, facts: Mapping[str, Any]) -> Observed:
        """What was observed together with what was answered about it: facts and findings by canonical id."""
        return together(observed, self.collect(Case(facts=dict(facts))))

    def why_not(self, case: Case, cause_id: str, files: Sequence[EvidenceFile] = (), *, lang: Lang = "en") -> WhyNotOut:
        """Why a cause is not (or is) first for this case.

        Raises:
            KeyError: if no diagnosed cause has that id.
        """
        return self.explain(self.collect(case, files), cause_id, lang=lang)

    def explain(self, observed: Observed, cause_id: str, *, lang: Lang = "en") -> WhyNotOut:
        """The same for what was read already.

        Raises:
            KeyError: if no diagnosed cause has that id.
        """
        from engine.model.diagnosis import WhyNotOut

        return WhyNotOut.model_validate(self._explainer(self._work(observed), lang).why_not(cause_id))

    def facts(self, observed: Observed) -> dict[str, Value]:
        """Every fact of a case as it is settled, derived ones included."""
        settled, _ = add_derived(settle_facts(observed.facts), self._derivations)
        return {fact: one.value for fact, one in settled.items()}

    def known(self, observed: Observed) -> list[Known]:
        """Every decided finding of a case, as the ranking sees it; what scores, fits and examples are made of."""
        return _known(self._findings(observed).concluded)

    def conclude(self, observed: Observed, *, lang: Lang = "en", limit: int = 10, own: str | None = None) -> Diagnosis:
        """From what was read to the diagnosis, in ``lang``, with at most ``limit`` causes.

        ``own`` is the cause whose examples hold this very text: see :meth:`resemblance`.
        """
        from engine.model.diagnosis import Diagnosis  # slow to load, and not needed for plain data

        return Diagnosis.model_validate(self.answer(observed, lang=lang, limit=limit, own=own))

    def answer(
        self,
        observed: Observed,
        *,
        lang: Lang = "en",
        limit: int = 10,
        own: str | None = None,
        passed: Set[str] = frozenset(),
    ) -> Part:
        """The same as plain data in the order of the contract, ready to be written as JSON: what a service sends.

        ``passed`` are the ids of checks and questions that could not be answered: they are not proposed again.
        """
        return self.answers(observed, (lang,), limit=limit, own=own, passed=passed)[lang]

    def answers(
        self,
        observed: Observed,
        langs: Sequence[Lang] = get_args(Lang),
        *,
        limit: int = 10,
        own: str | None = None,
        passed: Set[str] = frozenset(),
    ) -> dict[Lang, Part]:
        """The same in several languages, worked out once."""
        worked = self._work(observed, own)
        explainers = {lang: self._explainer(worked, lang) for lang in langs}
        listed = any(explainer.abnormal for explainer in explainers.values()) or self._reads_like_one(worked)
        planned = self._planner.plan(worked.ranking, passed=passed) if listed else []
        return {lang: self._told(worked, explainer, planned, limit, listed) for lang, explainer in explainers.items()}

    def _told(
        self, worked: _Worked, explainer: Explainer, planned: Sequence[Planned], limit: int, listed: bool
    ) -> Part:
        observed, found, lang = worked.observed, worked.found, explainer.lang
        causes = explainer.causes(limit) if listed else []
        next_checks = [explainer.next_check(item) for item in planned]
        return {
            "kb_version": self.knowledge.version,
            "kb_digest": self.knowledge.digest,
            "engine_version": __version__,
            "input_digest": observed.digest,
            "answered_by": found.answered_by,
            "summary": explainer.summary(causes, next_checks),
            "causes": causes,
            "unknown": explainer.unknown(next_checks, listed),
            "next_checks": next_checks,
            "families": explainer.families() if listed else [],
            "also_likely": explainer.also_likely(causes),
            "findings": [explainer.finding(c) for c in explainer.abnormal],
            "context": [explainer.finding(c) for c in explainer.context],
            "facts": [explainer.fact(fact) for fact in sorted(found.facts)],
            "coverage": _coverage(observed, lang),
            "timeline": _timeline(found, explainer),
            "not_understood": _not_understood(observed),
            "calculations": [self._calculation(fact, found, lang) for fact in found.derived],
            "advice": self._advice(found.decisions, lang),
            "checklist": self._checklist(worked, lang),
            "impact": [causes[0]["impact"]] if causes else [],  # what it costs, apart from what caused it
        }

    def _reads_like_one(self, worked: _Worked) -> bool:
        """Whether the report is so like what is written of a cause that it is named though no finding is there.

        Where the run was found to do well more is asked: what nobody complains of reads like a cause as well, but "the
        loss falls" also stands in complaints.
        """
        worth = self.knowledge.calibration.resemblance
        well = any(
            one.present and self._finding_definitions[one.finding].reassures for one in worked.found.concluded.values()
        )
        least = worth.listed_despite if well else worth.listed_from
        return float(worked.ranking.resemblance.max(initial=0.0)) >= least

    def _findings(self, observed: Observed) -> _Findings:
        facts, derived = add_derived(settle_facts(observed.facts), self._derivations)
        reported = settle_findings(observed.findings)
        decisions, answered_by = self._engine.decide(
            {fact: settled.value for fact, settled in facts.items()},
            {finding: settled.value for finding, settled in reported.items()},
        )
        concluded = conclusions(self._finding_definitions, decisions, facts, reported)
        return _Findings(facts, derived, decisions, answered_by, concluded)

    def _work(self, observed: Observed, own: str | None = None) -> _Worked:
        found = self._findings(observed)
        known, alike = _known(found.concluded), self.resemblance(observed, own)
        return _Worked(observed, found, rank(self._network, known, observed.paradigm, alike))

    def _explainer(self, worked: _Worked, lang: Lang) -> Explainer:
        observed, found = worked.observed, worked.found
        return Explainer(
            lang, self._templates[lang], worked.ranking, found.concluded, found.facts,
            # Plain dictionaries: a case looks into them hundreds of times.
        self._facts, self._finding_definitions, self._checks, _unread(observed),
            lambda rows: self._similarity.words(observed.text, rows),
        )  # fmt: skip

    def resemblance(self, observed: Observed, own: str | None = None) -> Array:
        """For every diagnosed cause in order of id, the bits by which the words resemble what is written of it.

        An example is not compared with itself: ``own`` names the cause beside which it stands.
        """
        row = self._network.row.get(own) if own is not None else None
        return self._similarity.bits(observed.text, row)

    def _calculation(self, fact: str, found: _Findings, lang: Lang) -> Part:
        derivation = self._derivations[fact]
        return {
            "fact": fact,
            "title": self._facts[fact].title.get(lang),
            "value": number(found.facts[fact].value),
            "unit": self._facts[fact].unit,
            "formula": derivation.text,
            "inputs": {name: number(found.facts[name].value) for name in derivation.facts},
        }

    def _advice(self, decisions: dict[str, Decision], lang: Lang) -> list[Part]:
        recommended: list[Part] = []
        for name, advice in self.knowledge.advice.items():
            speaks_for = decisions.get(_ADVICE + name)
            speaks_against = decisions.get(_AGAINST + name)
            if speaks_for and speaks_for.holds and not (speaks_against and speaks_against.holds):
                recommended.append(
                    {
                        "id": name,
                        "title": advice.title.get(lang),
                        "why": advice.use_when.get(lang),
                        "costs": advice.costs.get(lang),
                        "verdict": advice.verdict.get(lang),
                    }
                )
        return recommended

    def _checklist(self, worked: _Worked, lang: Lang) -> list[Part]:
        """The release checklist in its order; only for a release, where missing evidence must not look like a pass."""
        if worked.observed.paradigm != "release":
            return []
        gates = sorted(_asked(self.knowledge), key=lambda gate: (gate.stage, gate.id))
        result: list[Part] = []
        for gate in gates:
            held = [
                status
                for prefix, status in ((_PASSES, "pass"), (_FAILS, "fail"))
                if (decision := worked.found.decisions.get(prefix + gate.id)) is not None and decision.holds
            ]
            status = held[0] if held else "not_enough_evidence"
            result.append(
                {
                    "id": gate.id,
                    "title": gate.title.get(lang),
                    "stage": gate.stage,
                    "severity": gate.severity,
                    "status": status,
                    "because": gate.because.get(lang),
                    "requires": gate.requires.get(lang),
                    "next_checks": list(gate.checks) if status != "pass" else [],
                    "leads_to": list(gate.leads_to) if status == "fail" else [],
                }
            )
        return result


def rules(knowledge: Knowledge) -> dict[str, Condition]:
    """Every rule of the knowledge base by id: findings by their own, gates and advice with a prefix."""
    conditions: dict[str, Condition] = {f.id: f.when for f in knowledge.findings.values() if f.when is not None}
    # A gate fails by a rule that fires, like it passes: never because nothing was heard of it.
    conditions |= {_PASSES + gate.id: gate.passes for gate in _asked(knowledge)}
    conditions |= {_FAILS + gate.id: NotOf.model_validate({"not": gate.passes}) for gate in _asked(knowledge)}
    conditions |= {_ADVICE + advice.id: advice.when for advice in knowledge.advice.values()}
    conditions |= {_AGAINST + a.id: a.against for a in knowledge.advice.values() if a.against is not None}
    return conditions


def _asked(knowledge: Knowledge) -> list[Gate]:
    """The gates whose facts a person can state; the others need the files, which an audit reads."""
    return [gate for gate in knowledge.gates.values() if gate.asked]


def derivations(knowledge: Knowledge) -> dict[str, Derivation]:
    """The derived facts, parsed, each after those it reads."""
    return dependence_order({f.id: parse(f.derive) for f in knowledge.facts.values() if f.derive is not None})


def _known(concluded: Mapping[str, Conclusion]) -> list[Known]:
    return [Known(c.finding, c.present, c.kind) for c in concluded.values()]


def _unread(observed: Observed) -> bool:
    """Whether there is a report of which nothing at all was understood."""
    return any(item.where == REPORT for item in observed.not_understood if item.why == UNREAD)


def _coverage(observed: Observed, lang: Lang) -> Part:
    gaps = sorted({(what.get(lang), why.get(lang)) for what, why in observed.not_judged})
    return {
        "read": sorted(observed.read, key=lambda item: str(sorted(item.items()))),
        "judged": sorted({topic.get(lang) for topic in observed.judged}),
        "not_judged": [{"what": what, "why": why} for what, why in gaps],
    }


def _not_understood(observed: Observed) -> list[Part]:
    kept = sorted({(item.where, item.text[:200], item.why) for item in observed.not_understood})
    return [{"where": where, "text": text, "why": why} for where, text, why in kept]


def _timeline(found: _Findings, explainer: Explainer) -> list[Part]:
    """What happened at which step: facts that were read with a step and are true or a number of note."""
    events = {
        (source.step, explainer.fact_definitions[fact].title.get(explainer.lang), source)
        for fact, settled in found.facts.items()
        if settled.value is True
        for source in settled.sources
        if source.step is not None
    }
    ordered = sorted(events, key=lambda event: (event[0], event[1], event[2].where, event[2].quote))
    return [{"step": step, "what": title, "source": source_part(source)} for step, title, source in ordered][
        :_TIMELINE_LIMIT
    ]
