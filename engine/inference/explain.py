"""The proof, in the words of the knowledge base: why each cause, why not another, what to do next."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.inference.conclude import Conclusion
from engine.inference.plan import Outcome, Planned
from engine.inference.rank import Ranking, descending
from engine.inference.resolve import Settled
from engine.inference.template import CauseTemplate, Part, template_of
from engine.inference.wording import percent, say
from engine.model.base import Lang
from engine.model.evidence import Source, Value
from engine.model.kb import Cause, Check, Fact, Finding

MAX_SOURCES = 4
MIN_BITS = 0.05
_ABNORMAL = ("symptom", "mechanism")
_PLACE = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+)\}")


def number(value: Value) -> Value:
    """A value as people write it: six significant digits, whole numbers without a fraction."""
    if isinstance(value, bool | str):
        return value
    if -1e6 < value < 1e6 and value == int(value):  # most are, and need no rounding
        return int(value)
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def source_part(source: Source) -> Part:
    """The source as the answer shows it."""
    return {
        "kind": source.kind,
        "where": source.where,
        "quote": source.quote[:200],
        "step": source.step,
        "rank": source.rank,
    }


def _source_parts(sources: Sequence[Source]) -> list[Part]:
    return [source_part(source) for source in sources[:MAX_SOURCES]]


@dataclass(frozen=True)
class Explainer:
    """Puts one case into words, in one language.

    ``templates`` is filled with what was worked out of a cause, and may be handed to the next one of this language.
    ``alike`` gives the words that make the report resemble causes, by their rows.
    """

    lang: Lang
    templates: dict[str, CauseTemplate]
    ranking: Ranking
    concluded: Mapping[str, Conclusion]
    facts: Mapping[str, Settled[Value]]
    fact_definitions: Mapping[str, Fact]
    finding_definitions: Mapping[str, Finding]
    checks: Mapping[str, Check]
    unread: bool = False
    alike: Callable[[Sequence[int]], list[list[str]]] | None = None
    _told_of: dict[str, Part] = field(default_factory=dict, init=False, repr=False)

    def causes(self, limit: int) -> list[Part]:
        """The causes above the shown-from probability, best first; ties by id."""
        lead = self.ranking.lead
        likely = (lead >= self.ranking.network.calibration.shown_from).nonzero()[0]
        rows = likely[descending(lead[likely])][:limit].tolist()
        words = self.alike(rows) if self.alike and rows else [[] for _ in rows]
        return [self._cause(row, told) for row, told in zip(rows, words, strict=True)]

    def _cause(self, row: int, words: list[str]) -> Part:
        cause = self.ranking.network.causes[row]
        template = self._template(cause)
        support = self._evidence(row)
        marginal = float(self.ranking.marginal[row])
        resemblance = float(self.ranking.resemblance[row])
        return {
            **template.texts,
            "probability": round(float(self.ranking.lead[row]), 4),
            "marginal": round(marginal, 4),
            "resembles": round(resemblance, 2),
            "resembles_by": words if resemblance > 0 else [],
            "evidence_for": [item for item in support if item["bits"] > 0],
            "evidence_against": [item for item in support if item["bits"] < 0],
            "not_explained": [
                name for name, group in self._to_explain if name not in template.shows and group not in template.groups
            ],
            "not_confirmed": [name for name in template.mostly_shows if name not in self.concluded],
            "remedies": [{**texts, "chance": round(marginal * share, 4)} for texts, share in template.remedies],
        }

    def _template(self, cause: Cause) -> CauseTemplate:
        template = self.templates.get(cause.id)
        if template is None:
            calibration = self.ranking.network.calibration
            template = template_of(cause, self.finding_definitions, calibration, self.lang)
            self.templates[cause.id] = template
        return template

    @cached_property
    def _to_explain(self) -> list[tuple[str, str | None]]:
        """Every abnormal finding with its group."""
        return [(c.finding, self.finding_definitions[c.finding].group) for c in self.abnormal]

    def _evidence(self, row: int) -> list[Part]:
        """What speaks for and against a cause: the strongest first, then what rules it out."""
        known = self.ranking.evidence.known
        weights = self.ranking.bits[row]
        telling = np.abs(weights) >= MIN_BITS
        places = telling.nonzero()[0].tolist()
        found = sorted(zip(weights[telling].tolist(), places, strict=True), key=lambda item: -abs(item[0]))
        items = [self._evidence_item(known[place].finding, bits) for bits, place in found]
        items += [self._evidence_item(name, -bits) for name, bits in self.ranking.excluded.get(row, {}).items()]
        return items

    def _evidence_item(self, name: str, bits: float) -> Part:
        return {**self._told(name), "bits": round(bits, 2)}

    def _told(self, name: str) -> Part:
        """A finding in words, which several causes and the list of findings have in common; bits still None."""
        told = self._told_of.get(name)
        if told is None:
            conclusion = self.concluded[name]
            told = self._told_of[name] = {
                "finding": name,
                "title": self.finding_definitions[name].title.get(self.lang),
                "state": "present" if conclusion.present else "absent",
                "bits": None,
                "because": self.because(conclusion),
                "facts": list(conclusion.facts),
                "sources": _source_parts(conclusion.sources),
            }
        return told

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
        if "{" not in template:
            return template
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

    @cached_property
    def present(self) -> list[Conclusion]:
        return [conclusion for conclusion in self.concluded.values() if conclusion.present]

    @cached_property
    def abnormal(self) -> list[Conclusion]:
        """Present findings that are not mere context or normality."""
        return [c for c in self.present if self.finding_definitions[c.finding].role in _ABNORMAL]

    @cached_property
    def context(self) -> list[Conclusion]:
        """Present findings that are context or normal."""
        return [c for c in self.present if self.finding_definitions[c.finding].role not in _ABNORMAL]

    def finding(self, conclusion: Conclusion) -> Part:
        told = self._told(conclusion.finding)
        return {
            "id": conclusion.finding,
            "title": told["title"],
            "because": told["because"],
            "concluded_by": "rule" if conclusion.by_rule else "report",
            "facts": told["facts"],
            "sources": told["sources"],
            "contradicted_by": _source_parts(conclusion.against),
        }

    def fact(self, fact: str) -> Part:
        settled, definition = self.facts[fact], self.fact_definitions[fact]
        against = [{"value": number(value), "source": source_part(source)} for value, source in settled.against]
        return {
            "id": fact,
            "title": definition.title.get(self.lang),
            "value": number(settled.value),
            "unit": definition.unit,
            "sources": _source_parts(settled.sources),
            "contradicted_by": against,
        }

    def next_check(self, planned: Planned) -> Part:
        if planned.kind == "question":
            finding = self.finding_definitions[planned.id]
            title, how, commands = (finding.ask or finding.title).get(self.lang), "", {}
            minutes, accelerators, risk = self.ranking.network.calibration.costs.question, 0, "none"
        else:
            check = self.checks[planned.id]
            title, how, commands = check.title.get(self.lang), check.how.get(self.lang), dict(check.commands)
            minutes, accelerators, risk = check.minutes, check.accelerators, check.risk
        return {
            "id": planned.id,
            "kind": planned.kind,
            "title": title,
            "how": how,
            "commands": commands,
            "minutes": minutes,
            "accelerators": accelerators,
            "risk": risk,
            "asks": list(planned.asks),
            "gain_bits": round(planned.gain, 3),
            "if": [self._outcome(outcome) for outcome in planned.outcomes],
        }

    def _outcome(self, outcome: Outcome) -> Part:
        title = self.finding_definitions[outcome.finding].title.get(self.lang)
        return {
            "outcome": say("seen" if outcome.present else "not_seen", self.lang, title=title),
            "finding": outcome.finding,
            "state": "present" if outcome.present else "absent",
            "probability": round(outcome.probability, 4),
            "then": [
                {"cause": cause, "probability": round(p, 4)}
                for cause, p in outcome.then
                if p >= self.ranking.network.calibration.shown_from
            ],
        }

    def families(self) -> list[Part]:
        network = self.ranking.network
        total = np.bincount(network.family_of, self.ranking.lead, len(network.families))
        likely = (total >= network.calibration.shown_from).nonzero()[0]
        shown = [(network.families[n], p) for n, p in zip(likely.tolist(), total[likely].tolist(), strict=True)]
        shown.sort(key=lambda item: (-round(item[1], 9), item[0]))
        return [{"family": name, "probability": round(p, 4)} for name, p in shown]

    def also_likely(self, causes: Sequence[Part]) -> list[Part]:
        """Other causes that are likely present beside the first, and explain what the first leaves over."""
        if not causes:
            return []
        left_over = set(causes[0]["not_explained"])
        return [
            {"cause": cause["id"], "probability": cause["marginal"]}
            for cause in causes[1:]
            if cause["marginal"] >= 0.3 and any(item["finding"] in left_over for item in cause["evidence_for"])
        ]

    @property
    def _abstain_above(self) -> float:
        return self.ranking.network.calibration.abstain_above

    def unknown(self, planned: Sequence[Part], listed: bool) -> Part:
        """What stands beside the causes; all there is if none is ``listed``."""
        if not self.abnormal:
            why = say("words_only" if listed else "nothing_to_explain", self.lang)
            return {"probability": round(self.ranking.unknown, 4) if listed else 1.0, "why": why, "would_help": []}
        linked = [c for c in self.abnormal if c.finding in self.ranking.network.column]
        if self.ranking.unknown < self._abstain_above:
            why = say("residual", self.lang)
        else:
            why = say("few" if len(linked) <= 2 else "unexplained", self.lang, count=len(self.abnormal))
        return {
            "probability": round(self.ranking.unknown, 4),
            "why": why,
            "would_help": [check["title"] for check in planned[:3]],
        }

    def summary(self, causes: Sequence[Part], planned: Sequence[Part]) -> str:
        parts = []
        shown = causes[:2]
        if not self.abnormal:
            opening = self._without_finding()
            parts.append(say(opening, self.lang))
            if opening == "only_report_unread":  # what was judged is fine: likeness of a few words names no cause
                shown = [cause for cause in shown if cause["probability"] > self.ranking.unknown]
        elif not causes or self.ranking.unknown >= min(self._abstain_above, causes[0]["probability"]):
            parts.append(say("abstain", self.lang, percent=percent(self.ranking.unknown)))
            if causes and causes[0]["expected"]:  # a small chance of it calms nobody rightly
                parts.append(say("faint", self.lang))
                shown = []
        for position, cause in enumerate(shown):
            bare = self.ranking.grounds[self.ranking.network.row[cause["id"]]] <= 0
            key = "then" if position else "reads_like" if bare else "expected" if cause["expected"] else "leads"
            if position == 0 or cause["probability"] >= 0.1:
                parts.append(say(key, self.lang, title=cause["title"], percent=percent(cause["probability"])))
        if planned:
            title = planned[0]["title"]
            end = "" if title[-1] in "?？。." else ("." if self.lang == "en" else "。")
            parts.append(say("decides", self.lang, title=title + end))
        return (" " if self.lang == "en" else "").join(parts)

    def _without_finding(self) -> str:
        """Which sentence opens a summary without an abnormal finding.

        What is known beside a report of which nothing was understood comes from files and numbers. How a run ended says
        nothing of what it did.
        """
        reported = any(not conclusion.by_rule for conclusion in self.concluded.values())
        judged = reported or bool(self.context) or any(fact != "run.end" for fact in self.facts)
        if self.unread:
            return "only_report_unread" if judged else "not_read"
        return "nothing" if judged else "nothing_judged"

    def why_not(self, cause_id: str) -> Part:
        """What keeps a cause down: opposing evidence, what is missing, who outweighs it, and what would lift it.

        Raises:
            KeyError: if the cause is not one that is diagnosed.
        """
        row = self.ranking.network.row[cause_id]
        cause = self.ranking.network.causes[row]
        lead = self.ranking.lead
        order = descending(lead).tolist()
        evidence = self._evidence(row)
        return {
            "cause": cause_id,
            "title": cause.title.get(self.lang),
            "rank": order.index(row) + 1 if lead[row] > 0 else None,
            "probability": round(float(lead[row]), 4),
            "supporting": [item for item in evidence if item["bits"] > 0],
            "opposing": [item for item in evidence if item["bits"] < 0],
            "missing": self._missing(cause),
            "outweighed_by": [
                {"cause": self.ranking.network.causes[r].id, "probability": round(float(lead[r]), 4)}
                for r in order[:3]
                if lead[r] > lead[row]
            ],
        }

    def _missing(self, cause: Cause) -> list[Part]:
        network = self.ranking.network
        rows: list[Part] = []
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
        return sorted(rows, key=lambda item: (-item["bits_if_present"], item["finding"]))
