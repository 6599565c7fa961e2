"""Which check to make next: the expected drop of entropy over the leading cause, per cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.inference.rank import Array, Ranking, descending
from engine.model.calibration import Costs
from engine.model.kb import Cause, Check, Finding, Remedy

MAX_JOINT = 3
MIN_GAIN_BITS = 0.02
SHOWN_AFTER = 3
NEGLIGIBLE = 1e-4
MAX_HYPOTHESES = 100  # by falling weight: what lies below them has next to no say in what to ask
MAX_CAUSES = 40  # those in the lead; the others count as one with unknown
LOG_NEVER = -1e3


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result of a check: its deciding finding, how likely it is, and the leading causes after it."""

    finding: str
    present: bool
    probability: float
    then: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A check or a question with its expected gain; ``gain / cost`` orders the list."""

    id: str
    kind: Literal["check", "question"]
    asks: tuple[str, ...]
    gain: float
    cost: float
    outcomes: tuple[Outcome, ...]


def plan(
    ranking: Ranking,
    checks: Mapping[str, Check],
    findings: Mapping[str, Finding],
    decided: frozenset[str],
    limit: int = 5,
) -> list[Planned]:
    """The best checks and questions under the present posterior, best gain per cost first.

    A check whose findings are all decided is never proposed, nor one that is not expected to teach anything.
    """
    view = _View.of(ranking, decided)
    costs = ranking.network.calibration.costs
    # The gain of several findings together is at most the sum of their own: only the promising are worked out.
    proposals = sorted(_proposals(checks, findings, view, costs), key=lambda p: (-p.at_most / p.cost, p.id))
    rated = [(_gain(view, p.asks), p) for p in proposals[: 2 * limit]]
    rated.sort(key=lambda item: (-item[0] / item[1].cost, item[1].id))
    chosen = _without_repeats([(gain, p) for gain, p in rated if gain >= MIN_GAIN_BITS])[:limit]
    return [Planned(p.id, p.kind, p.asks, gain, p.cost, _outcomes(view, p.asks[0])) for gain, p in chosen]


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A check or a question that could be worth its cost: ``at_most`` bounds its gain."""

    id: str
    kind: Literal["check", "question"]
    asks: tuple[str, ...]
    cost: float
    at_most: float


@dataclass(frozen=True)
class _View:
    """The part of the posterior that planning needs: likely hypotheses, causes in the lead, open findings."""

    causes: tuple[str, ...]
    weights: Array
    share: Array
    open: Mapping[str, int]
    chances: Array
    entropy: float
    gains: Mapping[str, float]

    @staticmethod
    def of(ranking: Ranking, decided: frozenset[str]) -> _View:
        network = ranking.network
        kept = np.array(descending(ranking.weights)[:MAX_HYPOTHESES], dtype=np.intp)
        kept = kept[ranking.weights[kept] > NEGLIGIBLE]
        rows = np.sort(np.array(descending(ranking.lead)[:MAX_CAUSES], dtype=np.intp))
        rows = rows[ranking.lead[rows] > NEGLIGIBLE]
        involved, members = ranking.members(kept)
        # A finding that none of the causes in question shows is as likely under each of them: it tells nothing.
        links = network.links[involved]
        telling: list[bool] = np.asarray(links.max(axis=0, initial=0.0) > 0).tolist()
        names = [f for f, tells in zip(network.findings, telling, strict=True) if tells and f not in decided]
        columns = np.array([network.column[f] for f in names], dtype=np.intp)
        with np.errstate(divide="ignore"):  # a sure link: log 0, and no chance to miss
            missed = np.log1p(-links[:, columns])
        together = np.exp(members @ np.maximum(missed, LOG_NEVER))
        chances = 1.0 - (1.0 - network.leaks[columns]) * together
        weights = ranking.weights[kept] / ranking.weights[kept].sum()
        share = ranking.shares(kept, rows)
        share = np.column_stack([share, 1.0 - share.sum(axis=1)])
        now = _entropy(weights @ share)
        after = sum(_expected_entropy(weights[:, None] * side, share) for side in (chances, 1.0 - chances))
        gains = dict(zip(names, np.maximum(0.0, now - after).tolist(), strict=True))
        return _View(
            tuple(network.causes[row].id for row in rows), weights, share,
            {f: index for index, f in enumerate(names)}, chances, now, gains,
        )  # fmt: skip

    def chance(self, finding: str, present: bool) -> Array:
        """P(finding is so | hypothesis), for every hypothesis kept."""
        column = self.chances[:, self.open[finding]]
        return column if present else 1.0 - column


def _proposals(
    checks: Mapping[str, Check], findings: Mapping[str, Finding], view: _View, costs: Costs
) -> Iterator[_Proposal]:
    gains = view.gains
    for check in checks.values():
        open_ = [finding for finding in check.settles if finding in gains]
        at_most = sum([gains[finding] for finding in open_])
        if at_most >= MIN_GAIN_BITS:
            asks = tuple(sorted(open_, key=lambda f: (-gains[f], f)))
            cost = costs.fixed + check.minutes + costs.accelerator * check.accelerators + costs.risk[check.risk]
            yield _Proposal(check.id, "check", asks, cost, at_most)
    for name, gain in gains.items():
        # What only a check can tell is not worth asking a person.
        if gain >= MIN_GAIN_BITS and findings[name].ask is not None and findings[name].visible:
            yield _Proposal(name, "question", (name,), costs.question + costs.fixed, gain)


def _gain(view: _View, asks: tuple[str, ...]) -> float:
    """Expected entropy drop of learning the findings, which are independent given the hypothesis."""
    if len(asks) == 1:
        return view.gains[asks[0]]
    joint = view.weights[:, None]
    for finding in asks[:MAX_JOINT]:
        chance = view.chance(finding, True)[:, None]
        joint = np.concatenate([joint * chance, joint * (1.0 - chance)], axis=1)
    return max(0.0, view.entropy - float(_expected_entropy(joint, view.share).sum()))


def _expected_entropy(joint: Array, share: Array) -> Array:
    """For each column of ``joint`` (hypothesis, outcome): P(outcome) times the entropy of the lead after it."""
    total = joint.sum(axis=0)
    lead = share.T @ joint
    positive = np.maximum(lead, 1e-300)
    return np.asarray(
        -(lead * np.log2(positive)).sum(axis=0) + total * np.log2(np.maximum(total, 1e-300)), dtype=np.float64
    )


def _entropy(distribution: Array) -> float:
    return float(-(distribution * np.log2(np.maximum(distribution, 1e-300))).sum())


def _outcomes(view: _View, finding: str) -> tuple[Outcome, ...]:
    return _outcome(view, finding, True), _outcome(view, finding, False)


def _outcome(view: _View, finding: str, present: bool) -> Outcome:
    joint = view.weights * view.chance(finding, present)
    total = float(joint.sum())
    lead = (joint / max(total, 1e-300)) @ view.share
    order = descending(lead[:-1])[:SHOWN_AFTER]  # the last is unknown
    return Outcome(finding, present, total, tuple((view.causes[row], float(lead[row])) for row in order))


def _without_repeats(rated: Sequence[tuple[float, _Proposal]]) -> list[tuple[float, _Proposal]]:
    """Of several ways to learn the same finding, keep the one with the best gain per cost: the first."""
    asked: set[str] = set()
    kept = []
    for gain, proposal in rated:
        if proposal.asks[0] not in asked:
            kept.append((gain, proposal))
            asked.update(proposal.asks)
    return kept


def remedies(cause: Cause, marginal: float, ranking: Ranking) -> list[tuple[Remedy, float]]:
    """Remedies with P(it repairs | evidence), in descending order of that chance over cost (p/c; Kadane & Simon)."""
    costs = ranking.network.calibration.costs
    links = ranking.network.calibration.links
    rated = [(remedy, marginal * links[remedy.repairs]) for remedy in cause.remedies]
    return sorted(rated, key=lambda item: -item[1] / (costs.fixed + item[0].minutes + costs.risk[item[0].risk]))
