"""Which check to make next: the expected drop of entropy over the leading cause, per cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.inference.network import Array, Network, marked
from engine.inference.rank import Ranking, descending, foremost
from engine.model.calibration import Calibration
from engine.model.kb import Cause, Check, Finding, Remedy

MAX_JOINT = 3
MIN_GAIN_BITS = 0.02
SHOWN_AFTER = 3
NEGLIGIBLE = 1e-4
MAX_HYPOTHESES = 100  # by falling weight: what lies below them has next to no say in what to ask
MAX_CAUSES = 40  # those in the lead; the others count as one with unknown


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


@dataclass(frozen=True, slots=True)
class Proposal:
    """A check or a question: what it may settle, as columns of the network, and what it costs."""

    id: str
    kind: Literal["check", "question"]
    columns: tuple[int, ...]
    cost: float


@dataclass(frozen=True)
class _View:
    """The part of the posterior that planning needs: likely hypotheses, causes in the lead, open findings.

    ``shown[h, i]`` = P(a member of hypothesis h shows open finding i), ``leaks[i]`` that it is there anyway.
    ``gains`` is by column of the network, 0 for what is not open.
    """

    causes: tuple[str, ...]
    weights: Array
    share: Array
    place: NDArray[np.intp]
    shown: Array
    leaks: Array
    entropy: float
    gains: Array

    def chances(self, columns: Sequence[int]) -> Array:
        """P(finding | hypothesis), for every hypothesis kept and these open columns of the network."""
        place = self.place[list(columns)]
        leaks = self.leaks[place]
        return np.asarray(leaks + (1.0 - leaks) * self.shown[:, place], dtype=np.float64)


class Planner:
    """All checks and questions of a knowledge base, laid out to be weighed together."""

    def __init__(self, network: Network, checks: Mapping[str, Check], findings: Mapping[str, Finding]) -> None:
        self._network = network
        proposals = sorted(_proposals(network, checks, findings), key=lambda proposal: proposal.id)
        self.proposals = proposals
        self._columns = np.array([column for p in proposals for column in p.columns], dtype=np.intp)
        self._starts = np.cumsum([0, *(len(p.columns) for p in proposals)], dtype=np.intp)[:-1]
        self._costs = np.array([p.cost for p in proposals])
        self._askable = np.zeros(len(network.findings), dtype=bool)
        self._askable[self._columns] = True

    def plan(self, ranking: Ranking, limit: int = 5, passed: Set[str] = frozenset()) -> list[Planned]:
        """The best checks and questions under the present posterior, best gain per cost first.

        A check whose findings are all decided is never proposed, nor one that is not expected to teach anything, nor
        one of the ids ``passed``, which nobody could answer, nor a check for a finding that was passed as a question.
        """
        if not self.proposals:
            return []
        view = self._view(
            ranking, [self._network.column[name] for name in sorted(passed) if name in self._network.column]
        )
        # The gain of several findings together is at most the sum of their own: only the promising are worked out.
        at_most = np.add.reduceat(view.gains[self._columns], self._starts)
        promising = (at_most >= MIN_GAIN_BITS).nonzero()[0]
        if passed:
            promising = promising[[self.proposals[n].id not in passed for n in promising.tolist()]]
        promising = promising[descending((at_most / self._costs)[promising])][: 2 * limit]
        rated = self._rated(view, [self.proposals[number] for number in promising.tolist()])
        rated.sort(key=lambda item: (-round(item[0] / item[1].cost, 9), item[1].id))
        chosen = _without_repeats([item for item in rated if item[0] >= MIN_GAIN_BITS])[:limit]
        names = self._network.findings
        outcomes = _outcomes(view, [(asks[0], names[asks[0]]) for _, _, asks in chosen])
        return [
            Planned(p.id, p.kind, tuple([names[column] for column in asks]), gain, p.cost, after)
            for (gain, p, asks), after in zip(chosen, outcomes, strict=True)
        ]

    def _rated(self, view: _View, proposals: Sequence[Proposal]) -> list[_Rated]:
        """What each proposal gains, and what it asks that is still open, best first."""
        gains, names = view.gains, self._network.findings
        asked: list[tuple[int, ...]] = []
        for proposal in proposals:
            open_ = [column for column in proposal.columns if view.place[column] >= 0]
            if len(open_) > 1:
                open_.sort(key=lambda column: (-gains[column], names[column]))
            asked.append(tuple(open_))
        several = [asks[:MAX_JOINT] for asks in asked if len(asks) > 1]
        joint = iter(_joint_gains(view, several) if several else ())
        return [
            (next(joint) if len(asks) > 1 else float(gains[asks[0]]), proposal, asks)
            for proposal, asks in zip(proposals, asked, strict=True)
        ]

    def _view(self, ranking: Ranking, passed: Sequence[int]) -> _View:
        network = self._network
        kept = foremost(ranking.weights, NEGLIGIBLE, MAX_HYPOTHESES)
        rows = np.sort(foremost(ranking.lead, NEGLIGIBLE, MAX_CAUSES))
        weights = ranking.weights[kept] / ranking.weights[kept].sum()
        members = ranking.members[kept]
        share = _share_of(rows, members, ranking.shares[kept], network.nobody)
        beyond = np.concatenate([ranking.evidence.columns, np.array(passed, dtype=np.intp)])
        open_, shown = self._open(members, beyond)
        leaks = network.leaks[open_]
        gains = np.zeros(len(network.findings))
        gains[open_] = _gains(weights, share, shown, leaks)
        place = np.full(len(network.findings), -1)
        place[open_] = np.arange(len(open_))
        names = tuple([network.causes[row].id for row in rows.tolist()])
        return _View(names, weights, share, place, shown, leaks, _entropy(weights @ share), gains)

    def _open(self, members: NDArray[np.intp], decided: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
        """The columns that may teach something, and P(a member shows the finding) for each of these hypotheses."""
        network = self._network
        causes = marked(members.ravel(), network.nobody + 1)
        positions = np.empty(network.nobody + 1, dtype=np.intp)
        positions[causes] = np.arange(len(causes))
        row, column, misses = network.shows.of(causes)
        # A finding that none of the causes in question shows is as likely under each of them: it tells nothing.
        telling = np.zeros(len(network.findings), dtype=bool)
        telling[column] = True
        telling[decided] = False
        columns = (telling & self._askable).nonzero()[0]
        place = np.full(len(telling), len(columns))  # what is not asked for is put in a column too many
        place[columns] = np.arange(len(columns))
        missed = np.ones((len(causes), len(columns) + 1))
        missed[row, place[column]] = misses
        together = missed[positions[members[:, 0]], :-1]
        for member in members[:, 1:].T:
            several = (member != network.nobody).nonzero()[0]
            together[several] *= missed[positions[member[several]], :-1]
        return columns, 1.0 - together


_Rated = tuple[float, Proposal, tuple[int, ...]]


def _proposals(network: Network, checks: Mapping[str, Check], findings: Mapping[str, Finding]) -> Iterator[Proposal]:
    """Every check that settles what causes show, and every question."""
    costs = network.calibration.costs
    for check in checks.values():
        columns = tuple(network.column[finding] for finding in check.settles if finding in network.column)
        if columns:
            cost = costs.fixed + check.minutes + costs.accelerator * check.accelerators + costs.risk[check.risk]
            yield Proposal(check.id, "check", columns, cost)
    for name, column in network.column.items():
        # What only a check can tell is not worth asking a person.
        if findings[name].ask is not None and findings[name].visible:
            yield Proposal(name, "question", (column,), costs.question + costs.fixed)


def _share_of(rows: NDArray[np.intp], members: NDArray[np.intp], shares: Array, nobody: int) -> Array:
    """A row for each hypothesis: the part of its mass that each of the causes ``rows`` leads with, and the rest."""
    place = np.full(nobody + 1, len(rows))
    place[rows] = np.arange(len(rows))
    result = np.zeros((len(members), len(rows) + 1))
    result[np.arange(len(members))[:, None], place[members]] = shares
    result[:, -1] = 1.0 - result[:, :-1].sum(axis=1)
    return result


def _gains(weights: Array, share: Array, shown: Array, leaks: Array) -> Array:
    """Expected entropy drop of the lead for each finding alone: H(finding) - sum of P(c leads) H(finding | c leads)."""
    lead = weights @ share
    led = (weights[:, None] * share).T @ shown  # P(c leads, and the finding is shown)
    cause, finding = np.nonzero(led)  # few pairs; for all others the finding is there as often as its leak
    chance = leaks[finding] + (1.0 - leaks[finding]) * led[cause, finding] / lead[cause]
    plain = _uncertainty(leaks)
    less = lead[cause] * (plain[finding] - _uncertainty(chance))
    at_all = leaks + (1.0 - leaks) * (weights @ shown)
    gains = _uncertainty(at_all) - plain + np.bincount(finding, less, len(leaks))
    return np.asarray(np.maximum(0.0, gains), dtype=np.float64)


def _uncertainty(chance: Array) -> Array:
    """Entropy of a yes or no, in bits."""
    yes, no = np.maximum(chance, 1e-300), np.maximum(1.0 - chance, 1e-300)
    return np.asarray(-(yes * np.log2(yes) + no * np.log2(no)), dtype=np.float64)


def _joint_gains(view: _View, asked: Sequence[tuple[int, ...]]) -> list[float]:
    """Expected entropy drop of learning two or three findings at once, which are independent given the hypothesis."""
    columns = [column for asks in asked for column in (*asks, asks[0])[:MAX_JOINT]]
    yes = view.chances(columns).reshape(len(view.weights), len(asked), MAX_JOINT)
    yes[:, [len(asks) < MAX_JOINT for asks in asked], -1] = 1.0  # two findings and one that is always there
    both = np.stack([yes, 1.0 - yes])  # of each finding, that it is there and that it is not
    joint = view.weights[:, None] * both[:, None, None, :, :, 0]
    joint = joint * both[None, :, None, :, :, 1] * both[None, None, :, :, :, 2]
    after = _expected_entropy(joint, view.share)
    gains: list[float] = np.maximum(0.0, view.entropy - after.reshape(-1, len(asked)).sum(axis=0)).tolist()
    return gains


def _expected_entropy(joint: Array, share: Array) -> Array:
    """For every outcome (and proposal) of ``joint[..., hypothesis, proposal]``: P(outcome) times H(lead after it)."""
    total = joint.sum(axis=-2)
    lead = share.T @ joint
    unsure = (lead * np.log2(np.maximum(lead, 1e-300))).sum(axis=-2)
    return np.asarray(total * np.log2(np.maximum(total, 1e-300)) - unsure, dtype=np.float64)


def _entropy(distribution: Array) -> float:
    return float(-(distribution * np.log2(np.maximum(distribution, 1e-300))).sum())


def _outcomes(view: _View, asked: Sequence[tuple[int, str]]) -> Iterator[tuple[Outcome, Outcome]]:
    """For each finding, as column and name: what follows if it is there, and if it is not."""
    chances = view.chances([column for column, _ in asked])
    joint = view.weights * np.concatenate([chances, 1.0 - chances], axis=1).T
    total = joint.sum(axis=1)
    leads = (joint @ view.share)[:, :-1] / np.maximum(total, 1e-300)[:, None]  # the last is unknown
    first = np.argsort(-np.round(leads, 9), axis=1, kind="stable")[:, :SHOWN_AFTER].tolist()
    for number, (_, finding) in enumerate(asked):
        yes, no = (
            Outcome(
                finding,
                row == number,
                float(total[row]),
                tuple((view.causes[i], float(leads[row, i])) for i in first[row]),
            )
            for row in (number, number + len(asked))
        )
        yield yes, no


def _without_repeats(rated: Sequence[_Rated]) -> list[_Rated]:
    """Of several ways to learn the same finding, keep the one with the best gain per cost: the first."""
    asked: set[int] = set()
    kept = []
    for item in rated:
        asks = item[2]
        if asks[0] not in asked:
            kept.append(item)
            asked.update(asks)
    return kept


def remedies(cause: Cause, calibration: Calibration) -> list[tuple[Remedy, float]]:
    """Remedies with P(it repairs | the cause is there), in descending order of that over cost (p/c; Kadane & Simon)."""
    costs = calibration.costs
    rated = [(remedy, calibration.links[remedy.repairs]) for remedy in cause.remedies]
    return sorted(rated, key=lambda item: -item[1] / (costs.fixed + item[0].minutes + costs.risk[item[0].risk]))
