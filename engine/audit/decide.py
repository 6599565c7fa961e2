"""From the facts of a checkpoint to the verdict: the gates of the knowledge base, decided by the rule engine."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from engine import __version__
from engine.audit.checkpoint import Checkpoint
from engine.audit.intent import Waiver
from engine.audit.ledger import Ledger, Place
from engine.audit.probes import PROBES
from engine.audit.wording import say
from engine.inference.derive import Derivation, parse
from engine.inference.resolve import Settled, add_derived, dependence_order, settle_facts
from engine.inference.rules import RuleBook, RuleEngine
from engine.knowledge.knowledge import Knowledge
from engine.model.audit import AuditedFile, AuditedGate, AuditResult, CheckOut, GateStatus, PlaceOut, Verdict
from engine.model.base import Lang
from engine.model.conditions import Condition, NotOf, facts_read
from engine.model.evidence import FactReading, Source, Value
from engine.model.kb import Gate, Policy, Severity

_PASSES, _FAILS, _APPLIES, _OUTSIDE, _MILDER = "passes:", "fails:", "applies:", "outside:", "milder:"
GIVE_EVIDENCE = "give-evidence"
"""The id of the next check that says what to add to which file."""

_BLOCKING: frozenset[Severity] = frozenset({"blocker", "major"})


class UnknownPolicyError(KeyError):
    """A policy was asked for that the knowledge base does not have."""


@dataclass(frozen=True)
class _Judged:
    """One gate with its status, before it is put into words."""

    gate: Gate
    status: GateStatus
    severity: Severity
    follows_from: str | None = None
    waiver: Waiver | None = None


class Auditor:
    """The gates of one knowledge base, compiled. One a process, called from one thread; ``close`` frees its memory."""

    def __init__(self, knowledge: Knowledge, check: bool = True) -> None:
        self.knowledge = knowledge
        self.gates = sorted(knowledge.gates.values(), key=lambda gate: (gate.stage, gate.id))
        needed = {fact for condition in rules(self.gates).values() for fact in facts_read(condition)}
        derived = {f.id: parse(f.derive) for f in knowledge.facts.values() if f.derive is not None}
        self._derivations = dependence_order(_reachable(needed, derived))
        self._engine = RuleEngine(RuleBook.compile(rules(self.gates)), check)

    def close(self) -> None:
        """Free what durable-rules holds. The auditor cannot be used afterwards."""
        self._engine.close()

    def audit(
        self, checkpoint: Checkpoint, *, policy: str | None = None, today: datetime.date, lang: Lang = "en"
    ) -> AuditResult:
        """Probe the checkpoint and decide every gate.

        Args:
            policy: id of a policy; by default the intent's, or the most specific one that fits.
            today: the day on which waivers are looked at.

        Raises:
            UnknownPolicyError: if there is no such policy.
        """
        return self.judge(checkpoint, self.look(checkpoint), policy=policy, today=today, lang=lang)

    def look(self, checkpoint: Checkpoint) -> Ledger:
        """Let every probe state its facts."""
        ledger = Ledger()
        for probe in PROBES:
            probe(checkpoint, ledger)
        return ledger

    def judge(
        self, checkpoint: Checkpoint, ledger: Ledger, *, policy: str | None, today: datetime.date, lang: Lang
    ) -> AuditResult:
        """The verdict from facts that were read before."""
        chosen = self.policy(checkpoint, policy or checkpoint.intent.policy)
        facts, _ = add_derived(
            settle_facts(
                FactReading(fact, seen.value, Source("measured", _where(seen.places)))
                for fact, seen in ledger.seen.items()
            ),
            self._derivations,
        )
        decisions, answered_by = self._engine.decide({fact: settled.value for fact, settled in facts.items()}, {})
        held = {rule for rule, decision in decisions.items() if decision.holds}
        valid = {w.gate: w for w in checkpoint.intent.waivers if w.until >= today}
        judged = _folded([self._judge(gate, held, checkpoint, valid) for gate in self.gates])
        required = _required(chosen, self.gates)
        # A folder without weights is no release, whatever else is in it; states of a sharded run are listed elsewhere.
        without = ledger.value("audit.has_weights") is False and checkpoint.kind != "distributed"
        verdict = _verdict(judged, required, without)
        used = {item.gate.id for item in judged if item.status == "waived"}
        gates = [self._worded(item, item.gate.id in required, ledger, facts, lang) for item in judged]
        return AuditResult(
            verdict=verdict,
            summary=_summary(verdict, judged, required, lang),
            kind=checkpoint.kind,
            paradigm=checkpoint.intent.paradigm,
            policy=chosen.id,
            gates=gates,
            counts={status: sum(item.status == status for item in judged) for status in get_args(GateStatus)},
            files=_files(checkpoint),
            waivers_unused=sorted({w.gate for w in checkpoint.intent.waivers} - used),
            not_understood=checkpoint.intent.not_understood(),
            repeated_keys=checkpoint.repeated_keys(),
            answered_by=answered_by,
            kb_version=self.knowledge.version,
            kb_digest=self.knowledge.digest,
            engine_version=__version__,
        )

    def policy(self, checkpoint: Checkpoint, wanted: str | None = None) -> Policy:
        """The policy that was asked for, else the one that fits the checkpoint with most of its conditions."""
        policies = self.knowledge.policies
        if wanted is not None:
            if wanted not in policies:
                raise UnknownPolicyError(wanted)
            return policies[wanted]
        fitting = [p for p in policies.values() if _fits(p, checkpoint)]
        return min(fitting, key=lambda p: (-sum(map(bool, (p.kinds, p.paradigms, p.release_kinds))), p.id))

    def _judge(self, gate: Gate, held: set[str], checkpoint: Checkpoint, waivers: Mapping[str, Waiver]) -> _Judged:
        paradigm = checkpoint.intent.paradigm
        elsewhere = paradigm not in (None, "any") and not {"any", paradigm} & set(gate.paradigms)
        if elsewhere or _OUTSIDE + gate.id in held:
            return _Judged(gate, "not_applicable", gate.severity)
        undecided = gate.applies is not None and _APPLIES + gate.id not in held
        if undecided or not {_PASSES + gate.id, _FAILS + gate.id} & held:
            return _Judged(gate, "not_enough_evidence", gate.severity)
        if _PASSES + gate.id in held:
            return _Judged(gate, "pass", gate.severity)
        mild = gate.milder is not None and _MILDER + gate.id in held
        severity = gate.milder.severity if mild and gate.milder else gate.severity
        waiver = waivers.get(gate.id)
        return _Judged(gate, "waived" if waiver else "fail", severity, waiver=waiver)

    def _worded(
        self, item: _Judged, required: bool, ledger: Ledger, facts: Mapping[str, Settled[Value]], lang: Lang
    ) -> AuditedGate:
        gate = item.gate
        read = self._inputs(gate)
        places = [place for fact in read if fact in ledger.seen for place in ledger.seen[fact].places]
        first = places[0] if places and item.status != "not_applicable" else Place("")
        failing = item.status in ("fail", "waived")
        because = gate.because.get(lang)
        if item.status == "not_enough_evidence":
            missing = dict.fromkeys(ledger.missing[fact].get(lang) for fact in read if fact in ledger.missing)
            because = " ".join(missing) or say("needs", lang, what=gate.requires.get(lang))
            wanted = list(dict.fromkeys(ledger.wanted[fact].get(lang) for fact in read if fact in ledger.wanted))
        else:
            wanted = []
        open_ = item.status in ("fail", "not_enough_evidence")
        return AuditedGate(
            id=gate.id,
            title=gate.title.get(lang),
            stage=gate.stage,
            severity=item.severity,
            status=item.status,
            required=required,
            root=failing and item.follows_from is None,
            follows_from=item.follows_from,
            where=f"{first.file}: {first.at}" if first.at else first.file,
            observed=first.observed,
            expected=first.expected,
            expected_from=first.expected_from or "",
            because=because,
            places=[
                PlaceOut(
                    file=p.file, at=p.at, observed=p.observed, expected=p.expected, expected_from=p.expected_from or ""
                )
                for p in places[:20]
            ],
            place_count=sum(ledger.seen[fact].count for fact in read if fact in ledger.seen),
            facts={fact: facts[fact].value for fact in read if fact in facts},
            next_checks=[
                *(CheckOut(id=GIVE_EVIDENCE, title=title) for title in wanted),
                *(self._check(name, lang) for name in gate.checks if open_),
            ],
            remedies=[remedy.do.get(lang) for remedy in gate.remedies] if failing else [],
            leads_to=list(gate.leads_to) if failing else [],
            waived_by=f"{item.waiver.by}, {item.waiver.until}: {item.waiver.reason}" if item.waiver else None,
        )

    def _check(self, name: str, lang: Lang) -> CheckOut:
        check = self.knowledge.checks[name]
        return CheckOut(id=name, title=check.title.get(lang), command=next(iter(check.commands.values()), ""))

    def _inputs(self, gate: Gate) -> list[str]:
        """The facts that decide the gate, what they are derived from included, in the order of reading."""
        todo, found = facts_read(gate.passes) + (facts_read(gate.applies) if gate.applies else []), dict[str, None]()
        while todo:
            fact = todo.pop(0)
            if fact not in found:
                found[fact] = None
                todo += self._derivations[fact].facts if fact in self._derivations else ()
        return list(found)


def rules(gates: Sequence[Gate]) -> dict[str, Condition]:
    """Every rule of the gates by id. A gate fails by a rule that fires, like it passes: never for want of a fact."""
    found: dict[str, Condition] = {}
    for gate in gates:
        found[_PASSES + gate.id] = gate.passes
        found[_FAILS + gate.id] = NotOf.model_validate({"not": gate.passes})
        if gate.applies is not None:
            found[_APPLIES + gate.id] = gate.applies
            found[_OUTSIDE + gate.id] = NotOf.model_validate({"not": gate.applies})
        if gate.milder is not None:
            found[_MILDER + gate.id] = gate.milder.when
    return found


def _reachable(needed: set[str], derived: Mapping[str, Derivation]) -> dict[str, Derivation]:
    """The derivations that the needed facts rest on."""
    found: dict[str, Derivation] = {}
    todo = list(needed)
    while todo:
        fact = todo.pop()
        if fact in derived and fact not in found:
            found[fact] = derived[fact]
            todo += derived[fact].facts
    return found


def _fits(policy: Policy, checkpoint: Checkpoint) -> bool:
    intent = checkpoint.intent
    return (
        (not policy.kinds or checkpoint.kind in policy.kinds)
        and (not policy.paradigms or intent.paradigm in policy.paradigms)
        and (not policy.release_kinds or intent.release_kind in policy.release_kinds)
    )


def _required(policy: Policy, gates: Sequence[Gate]) -> frozenset[str]:
    staged = (gate.id for gate in gates if gate.stage in policy.stages)
    return frozenset((*policy.requires, *staged))


def _folded(judged: Sequence[_Judged]) -> list[_Judged]:
    """A failure that another failure explains is put under the first in the chain; a waived one explains nothing.

    One that does not block explains none that does: a space in a header is no reason for NaN in the weights.
    """
    failing = {item.gate.id: item for item in judged if item.status == "fail"}

    def origin(gate: Gate, blocks: bool, path: frozenset[str]) -> str | None:
        for name in gate.follows:
            if name in failing and name not in path and (failing[name].severity in _BLOCKING or not blocks):
                return origin(failing[name].gate, blocks, path | {name}) or name
        return None

    return [
        _Judged(
            item.gate,
            item.status,
            item.severity,
            origin(item.gate, item.severity in _BLOCKING, frozenset({item.gate.id})),
            item.waiver,
        )
        if item.status == "fail"
        else item
        for item in judged
    ]


def _verdict(judged: Sequence[_Judged], required: frozenset[str], without_weights: bool) -> Verdict:
    """Fail by a root blocker or major; incomplete where required evidence or the weights are missing; else pass."""
    if any(i.status == "fail" and i.follows_from is None and i.severity in _BLOCKING for i in judged):
        return "fail"
    lacking = any(i.status == "not_enough_evidence" and i.gate.id in required for i in judged)
    if lacking or without_weights or not any(i.status == "pass" for i in judged):
        return "incomplete"
    return "pass"


def _summary(verdict: Verdict, judged: Sequence[_Judged], required: frozenset[str], lang: Lang) -> str:
    roots = [i for i in judged if i.status == "fail" and i.follows_from is None and i.severity in _BLOCKING]
    lacking = [i for i in judged if i.status == "not_enough_evidence" and i.gate.id in required]
    named = sorted(roots or lacking, key=lambda item: get_args(Severity).index(item.severity))
    titles = "; ".join(item.gate.title.get(lang) for item in named[:3]) + ("; …" if len(named) > 3 else "")
    if verdict == "incomplete" and not named:
        return say("no_weights", lang)
    return say(verdict, lang, count=len(named), titles=titles)


def _files(checkpoint: Checkpoint) -> list[AuditedFile]:
    hashes = checkpoint.hashes
    return [AuditedFile(path=e.path, size=e.size, sha256=hashes.get(e.path)) for e in checkpoint.folder.files()]


def _where(places: Sequence[Place]) -> str:
    return places[0].file if places else ""
