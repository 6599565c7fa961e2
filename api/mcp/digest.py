"""From a diagnosis, an explanation and an audit, as they are kept, to what a model has to know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.mcp.results import (
    LONG,
    SHORT,
    AuditSummary,
    CaseResult,
    CauseEntry,
    CheckEntry,
    Explanation,
    GateEntry,
    Missing,
    Move,
    OutcomeResult,
    Reason,
    Rival,
    Unread,
    cut,
    entries,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.cases.view import CaseView
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

_WEIGHTY = 0.5  # bits below which a reason says too little to be told
_MOVED = 0.005  # a change that a percentage shows
_STATED = "facts."  # where what is stated by its id comes from


class Digest:
    """Puts results together in one language; ``detail`` for more of everything."""

    def __init__(self, knowledge: Knowledge, lang: Lang, *, detail: bool = False) -> None:
        self._knowledge = knowledge
        self._lang = lang
        self._causes, self._checks, self._reasons = (8, 5, 6) if detail else (3, 2, 2)
        self._detail = detail

    def case(self, view: CaseView, before: CaseView | None = None) -> CaseResult:
        """A case as it stands; since ``before``, what moved, and what more was not understood."""
        diagnosis = view.ranked.data(self._lang)
        told = before.ranked.data(self._lang) if before is not None else None
        unread = [item for item in diagnosis["not_understood"] if told is None or item not in told["not_understood"]]
        return CaseResult(
            case_id=view.id,
            status="resolved" if view.state.is_resolved else "open",
            summary=cut(diagnosis["summary"], 2 * LONG),
            causes=[self._cause(cause, not rank) for rank, cause in enumerate(diagnosis["causes"][: self._causes])],
            unknown=diagnosis["unknown"]["probability"],
            next_checks=[self._check(check) for check in diagnosis["next_checks"][: self._checks]],
            moved=_moves(told, diagnosis) if told is not None else [],
            not_understood=[_unread(item) for item in unread[: 4 * self._checks]],
            kb_version=diagnosis["kb_version"],
        )

    def explanation(self, case_id: str, why: Mapping[str, Any]) -> Explanation:
        """Why a cause has its place."""
        cause = self._knowledge.causes[why["cause"]]
        rivals = [item["cause"] for item in why["outweighed_by"]]
        boundaries = {rival.cause: rival.boundary.get(self._lang) for rival in cause.confused_with}
        return Explanation(
            case_id=case_id,
            cause=cause.id,
            title=cut(why["title"], SHORT),
            meaning=cut(cause.meaning.get(self._lang), LONG),
            rank=why["rank"],
            probability=why["probability"],
            supporting=[self._reason(item) for item in why["supporting"][: 2 * self._reasons]],
            opposing=[self._reason(item) for item in why["opposing"][: 2 * self._reasons]],
            missing=[self._missing(item) for item in why["missing"][: 2 * self._reasons]],
            outweighed_by=[Rival(**item) for item in why["outweighed_by"]],
            boundary=cut(next((boundaries[rival] for rival in rivals if rival in boundaries), ""), LONG),
        )

    def audit(self, audit: Mapping[str, Any]) -> AuditSummary:
        """The verdict, and the gates that decide it: roots of the failure first, then by severity."""
        failed = [gate for gate in audit["gates"] if gate["status"] == "fail"]
        failed.sort(key=lambda gate: (not gate["root"], _SEVERITIES.index(gate["severity"])))
        open_gates = [gate for gate in audit["gates"] if gate["status"] == "not_enough_evidence"]
        open_gates.sort(key=lambda gate: (not gate["required"], _SEVERITIES.index(gate["severity"])))
        return AuditSummary(
            audit_id=audit["id"],
            verdict=audit["verdict"],
            summary=cut(audit["summary"], 2 * LONG),
            policy=audit["policy"],
            counts=audit["counts"],
            failed=[_gate(gate) for gate in failed[: 6 * self._checks]],
            not_enough_evidence=[_gate(gate) for gate in open_gates[: 3 * self._checks]],
        )

    def _cause(self, cause: Mapping[str, Any], leads: bool) -> CauseEntry:
        told = self._detail or (leads and cause["probability"] >= 0.5)
        remedies = cause["remedies"][: self._reasons // 2] if told else []
        return CauseEntry(
            id=cause["id"],
            title=cut(cause["title"], SHORT),
            probability=cause["probability"],
            meaning=cut(cause["meaning"], LONG) if self._detail or leads else "",
            because=self._weighty(cause["evidence_for"], self._reasons),
            against=self._weighty(cause["evidence_against"], self._reasons // 2),
            remedies=[cut(remedy["do"], LONG) for remedy in remedies],
        )

    def _weighty(self, evidence: list[dict[str, Any]], most: int) -> list[Reason]:
        telling = [item for item in evidence if self._detail or abs(item["bits"]) >= _WEIGHTY]
        return [self._reason(item) for item in telling[:most]]

    def _reason(self, item: Mapping[str, Any]) -> Reason:
        """Words of ours in ``because``; what was sent stands in ``where`` and ``input_quote`` only."""
        sources = sorted(item["sources"], key=lambda source: source["where"].startswith(_STATED))
        source = next(iter(sources), {"where": "", "quote": ""})
        is_ours = not any(source["quote"] and source["quote"] in item["because"] for source in item["sources"])
        is_ours = is_ours and not any(self._knowledge.facts[fact].type == "text" for fact in item["facts"])
        is_stated = source["where"].startswith(_STATED)  # repeating what was stated by id says nothing
        return Reason(
            finding=item["finding"],
            bits=item["bits"],
            because=cut(item["because"] if is_ours else item["title"], LONG),
            where="facts" if is_stated else cut(source["where"], SHORT // 2),
            input_quote="" if is_stated else cut(source["quote"], LONG if self._detail else SHORT),
        )

    def _check(self, check: Mapping[str, Any]) -> CheckEntry:
        findings = self._knowledge.findings
        return CheckEntry(
            id=check["id"],
            kind=check["kind"],
            title=cut(check["title"], LONG),
            how=cut(check["how"], 2 * LONG if self._detail else LONG),
            command=cut(next(iter(check["commands"].values()), ""), 2 * LONG) if self._detail else "",
            minutes=check["minutes"],
            accelerators=check["accelerators"],
            asks=entries({name: findings[name].title.get(self._lang) for name in check["asks"][:4]}),
        )

    def _missing(self, item: Mapping[str, Any]) -> Missing:
        finding = self._knowledge.findings[item["finding"]]
        question = (finding.ask or finding.title).get(self._lang)
        return Missing(finding=finding.id, question=cut(question, LONG), bits=item["bits_if_present"])


_SEVERITIES = ("blocker", "major", "minor", "info")


def outcome(view: CaseView) -> OutcomeResult:
    """How a case ended, and where the ranking had the confirmed cause."""
    ended = view.state.outcome
    causes = view.ranked.data("en")["causes"]
    places = {cause["id"]: (rank, cause["probability"]) for rank, cause in enumerate(causes, 1)}
    cause = ended.cause if ended is not None else None
    rank, probability = places.get(cause, (None, None))
    return OutcomeResult(
        case_id=view.id,
        status="resolved" if ended is not None else "open",
        cause=cause,
        other=cut(ended.other, LONG) if ended is not None else "",
        rank=rank,
        probability=probability,
    )


def _moves(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Move]:
    """The causes whose probability changed, the largest change first."""
    was = {cause["id"]: cause["probability"] for cause in before["causes"]}
    now = {cause["id"]: cause["probability"] for cause in after["causes"]}
    moves = [Move(cause=id_, before=was.get(id_, 0.0), after=now.get(id_, 0.0)) for id_ in {**was, **now}]
    moves = [move for move in moves if abs(move.after - move.before) >= _MOVED]
    return sorted(moves, key=lambda move: (-abs(move.after - move.before), move.cause))[:4]


def _unread(item: Mapping[str, Any]) -> Unread:
    return Unread(where=cut(item["where"], SHORT), why=cut(item["why"], LONG), input_quote=cut(item["text"], SHORT))


def _gate(gate: Mapping[str, Any]) -> GateEntry:
    return GateEntry(
        id=gate["id"],
        title=cut(gate["title"], SHORT),
        severity=gate["severity"],
        because=cut(gate["because"], LONG),
        remedy=cut(next(iter(gate["remedies"]), ""), SHORT),
    )
