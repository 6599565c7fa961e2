"""The proof, in the words of the knowledge base: why each cause, why not another, what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.inference.conclude import Conclusion
from engine.inference.plan import Planned, remedies
from engine.inference.rank import Ranking, descending
from engine.inference.resolve import Settled
from engine.inference.wording import percent, say
from engine.model.base import Lang
from engine.model.diagnosis import (
    CauseOut,
    EvidenceOut,
    FactOut,
    FamilyOut,
    FindingOut,
    NextCheckOut,
    OutcomeOut,
    RankedCause,
    ReferenceOut,
    RemedyOut,
    SourceOut,
    UnknownOut,
    WhyNotOut,
)
from engine.model.evidence import Source, Value
from engine.model.kb import Cause, Check, Fact, Finding

MAX_SOURCES = 4
_PLACE = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+)\}")


def number(value: Value) -> Value:
    """A value as people write it: six significant digits, whole numbers without a fraction."""
    if isinstance(value, bool | str):
        return value
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def source_out(source: Source) -> SourceOut:
    """The source as the answer shows it."""
    return SourceOut(kind=source.kind, where=source.where, quote=source.quote[:200], step=source.step, rank=source.rank)


@dataclass(frozen=True)
class Explainer:
    """Renders one diagnosis in one language."""

    lang: Lang
    ranking: Ranking
    concluded: Mapping[str, Conclusion]
    facts: Mapping[str, Settled[Value]]
    fact_definitions: Mapping[str, Fact]
    finding_definitions: Mapping[str, Finding]
    checks: Mapping[str, Check]
    unread: bool = False

    def causes(self, limit: int) -> list[CauseOut]:
        """The causes above the shown-from probability, best first; ties by id."""
        lead = self.ranking.lead
        shown_from = self.ranking.network.calibration.shown_from
        order = descending(lead)
        return [self._cause(row) for row in order[:limit] if lead[row] >= shown_from]

    def _cause(self, row: int) -> CauseOut:
        cause = self.ranking.network.causes[row]
        support = self._evidence(row)
        shown = {link.finding for link in cause.shows}
        groups = {self.finding_definitions[finding].group for finding in shown} - {None}
        marginal = float(self.ranking.marginal[row])
        return CauseOut(
            id=cause.id,
            family=cause.family,
            title=cause.title.get(self.lang),
            meaning=cause.meaning.get(self.lang),
            station=cause.station,
            probability=round(float(self.ranking.lead[row]), 4),
            marginal=round(marginal, 4),
            status=cause.status,
            expected=cause.expected,
            resembles=round(float(self.ranking.resemblance[row]), 2),
            evidence_for=[item for item in support if item.bits > 0],
            evidence_against=[item for item in support if item.bits < 0],
            not_explained=[
                c.finding for c in self.abnormal() if c.finding not in shown and self._group(c) not in groups
            ],
            not_confirmed=[
                link.finding
                for link in cause.shows
                if link.how in ("always", "usually") and link.finding not in self.concluded
            ],
            confused_with=[
                {"cause": other.cause, "boundary": other.boundary.get(self.lang)} for other in cause.confused_with
            ],
            impact=cause.impact.get(self.lang),
            blind_spots=cause.blind_spots.get(self.lang),
            remedies=self._remedies(cause, marginal),
            references=[ReferenceOut(title=ref.title, url=ref.url) for ref in cause.references],
        )

    def _group(self, conclusion: Conclusion) -> str | None:
        return self.finding_definitions[conclusion.finding].group

    def _evidence(self, row: int) -> list[EvidenceOut]:
        known = self.ranking.evidence.known
        weights = self.ranking.bits[row]
        items = [
            self._evidence_item(known[k].finding, float(weights[k]))
            for k in np.argsort(-np.abs(weights), kind="stable")
            if abs(weights[k]) >= 0.05
        ]
        items += [self._evidence_item(name, -bits) for name, bits in self.ranking.excluded.get(row, {}).items()]
        return items

    def _evidence_item(self, name: str, bits: float) -> EvidenceOut:
        conclusion = self.concluded[name]
        return EvidenceOut(
            finding=name,
            title=self.finding_definitions[name].title.get(self.lang),
            state="present" if conclusion.present else "absent",
            bits=round(bits, 2),
            because=self.because(conclusion),
            facts=list(conclusion.facts),
            sources=[source_out(source) for source in conclusion.sources[:MAX_SOURCES]],
        )

    def because(self, conclusion: Conclusion) -> str:
        """One sentence: the finding's own words with the case's values, or the words of the report."""
        definition = self.finding_definitions[conclusion.finding]
        if not conclusion.by_rule and conclusion.sources and conclusion.sources[0].quote:
            key = "reported" if conclusion.present else "denied"
            return say(key, self.lang, title=definition.title.get(self.lang), quote=conclusion.sources[0].quote[:200])
        if not conclusion.present:
            return say("not_so", self.lang, title=definition.title.get(self.lang))
        if definition.because is None:
            return definition.title.get(self.lang)
        template = definition.because.get(self.lang)
        if any(place not in self.facts for place in _PLACE.findall(template)):
            return definition.title.get(self.lang)
        return _PLACE.sub(lambda place: self._shown(place.group(1)), template)

    def _shown(self, fact: str) -> str:
        """A value within a sentence: three digits, shares in percent."""
        value = self.facts[fact].value
        if isinstance(value, bool | str):
            return str(value)
        if self.fact_definitions[fact].unit == "ratio" and 0 <= value <= 1:
            return f"{value:.3g}" if 0 < value < 0.001 else f"{value * 100:.3g} %"
        return f"{value:.3g}" if abs(value) < 100 and not value.is_integer() else str(number(value))

    def _remedies(self, cause: Cause, marginal: float) -> list[RemedyOut]:
        return [
            RemedyOut(
                do=remedy.do.get(self.lang),
                chance=round(chance, 4),
                minutes=remedy.minutes,
                risk=remedy.risk,
                undo=remedy.undo.get(self.lang) if remedy.undo else None,
            )
            for remedy, chance in remedies(cause, marginal, self.ranking)
        ]

    def abnormal(self) -> list[Conclusion]:
        """Present findings that are not mere context or normality."""
        return [c for c in self.present() if self.finding_definitions[c.finding].role in ("symptom", "mechanism")]

    def present(self) -> list[Conclusion]:
        return [conclusion for conclusion in self.concluded.values() if conclusion.present]

    def finding_out(self, conclusion: Conclusion) -> FindingOut:
        return FindingOut(
            id=conclusion.finding,
            title=self.finding_definitions[conclusion.finding].title.get(self.lang),
            because=self.because(conclusion),
            concluded_by="rule" if conclusion.by_rule else "report",
            facts=list(conclusion.facts),
            sources=[source_out(source) for source in conclusion.sources[:MAX_SOURCES]],
            contradicted_by=[source_out(source) for source in conclusion.against[:MAX_SOURCES]],
        )

    def fact_out(self, fact: str) -> FactOut:
        settled, definition = self.facts[fact], self.fact_definitions[fact]
        return FactOut(
            id=fact,
            title=definition.title.get(self.lang),
            value=number(settled.value),
            unit=definition.unit,
            sources=[source_out(source) for source in settled.sources[:MAX_SOURCES]],
            contradicted_by=[
                {"value": number(value), "source": source_out(source).model_dump()} for value, source in settled.against
            ],
        )

    def next_check(self, planned: Planned) -> NextCheckOut:
        outcomes = [
            OutcomeOut(
                outcome=say(
                    "seen" if outcome.present else "not_seen",
                    self.lang,
                    title=self.finding_definitions[outcome.finding].title.get(self.lang),
                ),
                finding=outcome.finding,
                state="present" if outcome.present else "absent",
                probability=round(outcome.probability, 4),
                then=[RankedCause(cause=cause, probability=round(p, 4)) for cause, p in outcome.then],
            )
            for outcome in planned.outcomes
        ]
        if planned.kind == "question":
            finding = self.finding_definitions[planned.id]
            title = (finding.ask or finding.title).get(self.lang)
            costs = self.ranking.network.calibration.costs
            return NextCheckOut(
                id=planned.id, kind="question", title=title, minutes=costs.question, asks=list(planned.asks),
                gain_bits=round(planned.gain, 3), outcomes=outcomes,
            )  # fmt: skip
        check = self.checks[planned.id]
        return NextCheckOut(
            id=check.id, kind="check", title=check.title.get(self.lang), how=check.how.get(self.lang),
            commands=check.commands, minutes=check.minutes, accelerators=check.accelerators, risk=check.risk,
            asks=list(planned.asks), gain_bits=round(planned.gain, 3), outcomes=outcomes,
        )  # fmt: skip

    def families(self) -> list[FamilyOut]:
        total: dict[str, float] = {}
        for cause, lead in zip(self.ranking.network.causes, self.ranking.lead.tolist(), strict=True):
            total[cause.family] = total.get(cause.family, 0.0) + lead
        shown_from = self.ranking.network.calibration.shown_from
        order = sorted(total.items(), key=lambda item: (-round(item[1], 9), item[0]))
        return [FamilyOut(family=name, probability=round(p, 4)) for name, p in order if p >= shown_from]

    def also_likely(self, causes: Sequence[CauseOut]) -> list[RankedCause]:
        """Other causes that are likely present beside the first, and explain what the first leaves over."""
        if not causes:
            return []
        left_over = set(causes[0].not_explained)
        return [
            RankedCause(cause=cause.id, probability=cause.marginal)
            for cause in causes[1:]
            if cause.marginal >= 0.3 and any(item.finding in left_over for item in cause.evidence_for)
        ]

    def unknown(self, planned: Sequence[NextCheckOut]) -> UnknownOut:
        abnormal = self.abnormal()
        if not abnormal:
            return UnknownOut(probability=1.0, why=say("nothing_to_explain", self.lang))
        unlinked = [c for c in abnormal if c.finding not in self.ranking.network.column]
        if self.ranking.unknown < self.ranking.network.calibration.abstain_above:
            why = say("residual", self.lang)
        elif len(abnormal) - len(unlinked) <= 2:
            why = say("few", self.lang, count=len(abnormal))
        else:
            why = say("unexplained", self.lang, count=len(abnormal))
        return UnknownOut(
            probability=round(self.ranking.unknown, 4), why=why, would_help=[check.title for check in planned[:3]]
        )

    def summary(self, causes: Sequence[CauseOut], planned: Sequence[NextCheckOut]) -> str:
        if not self.abnormal():
            return say("not_read" if self.unread else "nothing", self.lang)
        parts = []
        if self.ranking.unknown >= self.ranking.network.calibration.abstain_above or not causes:
            parts.append(say("abstain", self.lang, percent=percent(self.ranking.unknown)))
        for position, cause in enumerate(causes[:2]):
            key = "then" if position else ("expected" if cause.expected else "leads")
            if position == 0 or cause.probability >= 0.1:
                parts.append(say(key, self.lang, title=cause.title, percent=percent(cause.probability)))
        if planned:
            end = "" if planned[0].title[-1] in "?？。." else ("." if self.lang == "en" else "。")
            parts.append(say("decides", self.lang, title=planned[0].title + end))
        return (" " if self.lang == "en" else "").join(parts)

    def why_not(self, cause_id: str) -> WhyNotOut:
        """What keeps a cause down: opposing evidence, what is missing, who outweighs it, and what would lift it.

        Raises:
            KeyError: if the cause is not one that is diagnosed.
        """
        row = self.ranking.network.row[cause_id]
        cause = self.ranking.network.causes[row]
        lead = self.ranking.lead
        order = descending(lead)
        evidence = self._evidence(row)
        return WhyNotOut(
            cause=cause_id,
            title=cause.title.get(self.lang),
            rank=order.index(row) + 1 if lead[row] > 0 else None,
            probability=round(float(lead[row]), 4),
            supporting=[item for item in evidence if item.bits > 0],
            opposing=[item for item in evidence if item.bits < 0],
            missing=self._missing(cause),
            outweighed_by=[
                RankedCause(cause=self.ranking.network.causes[r].id, probability=round(float(lead[r]), 4))
                for r in order[:3]
                if lead[r] > lead[row]
            ],
        )

    def _missing(self, cause: Cause) -> list[dict[str, str | float]]:
        network = self.ranking.network
        rows: list[dict[str, str | float]] = []
        for link in cause.shows:
            if link.finding in self.concluded:
                continue
            leak = float(network.leaks[network.column[link.finding]])
            share = network.calibration.links[link.how]
            bits = float(np.log2((1 - (1 - leak) * (1 - share)) / leak))
            if self.finding_definitions[link.finding].role == "context":
                bits = min(bits, network.calibration.caps.context_bits)
            title = self.finding_definitions[link.finding].title.get(self.lang)
            rows.append({"finding": link.finding, "title": title, "bits_if_present": round(bits, 2)})
        return sorted(rows, key=lambda item: (-float(item["bits_if_present"]), str(item["finding"])))
