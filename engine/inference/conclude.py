"""Findings with their states and reasons: what rules decided, what was reported, and where the two differ."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from engine.inference.resolve import Settled, weakest
from engine.inference.rules import Decision
from engine.model.evidence import Source, SourceKind, Value
from engine.model.kb import Finding


class Conclusion(NamedTuple):
    """A decided finding: by a rule (with the facts and findings it rests on) or as it was reported."""

    finding: str
    present: bool
    kind: SourceKind
    by_rule: bool
    facts: tuple[str, ...]
    findings: tuple[str, ...]
    sources: tuple[Source, ...]
    against: tuple[Source, ...] = ()


def conclusions(
    findings: Mapping[str, Finding],
    decisions: Mapping[str, Decision],
    facts: Mapping[str, Settled[Value]],
    reported: Mapping[str, Settled[bool]],
) -> dict[str, Conclusion]:
    """Every decided finding by id, in sorted order. A rule's word counts before a report; a conflict is kept."""
    result: dict[str, Conclusion] = {}

    def conclude(name: str) -> Conclusion | None:
        if name in result:
            return result[name]
        report = reported.get(name)
        decision = decisions.get(name)
        if decision is not None:
            rests_on = [c for c in map(conclude, decision.findings) if c is not None]
            result[name] = _by_rule(name, decision, facts, rests_on, report)
        elif report is not None:
            against = tuple(source for _, source in report.against)
            result[name] = Conclusion(name, report.value, report.kind, False, (), (), report.sources, against)
        return result.get(name)

    for name in (*decisions, *reported):
        if name in findings:
            conclude(name)
    return dict(sorted(result.items()))


def _by_rule(
    name: str,
    decision: Decision,
    facts: Mapping[str, Settled[Value]],
    rests_on: list[Conclusion],
    report: Settled[bool] | None,
) -> Conclusion:
    grounds: list[Settled[Value] | Conclusion] = [facts[fact] for fact in decision.facts if fact in facts]
    grounds += rests_on
    sources = [ground.sources for ground in grounds]
    against: tuple[Source, ...] = ()
    if report is not None:
        same = report.value is decision.holds
        sources += [report.sources] if same else []
        against = report.sources if not same else tuple(source for _, source in report.against)
    kind = weakest([ground.kind for ground in grounds])
    cited = sources[0] if len(sources) == 1 else tuple(dict.fromkeys(chain.from_iterable(sources)))
    return Conclusion(name, decision.holds, kind, True, decision.facts, decision.findings, cited, against)
