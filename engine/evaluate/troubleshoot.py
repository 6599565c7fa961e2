"""Troubleshooting simulated, to judge which check is proposed next.

A true cause and all its findings are drawn from the network itself (noisy-OR: a link's chance, and the leak), so that
the ranking is right about the world and only the order of the checks is judged. The person starts with one or two
symptoms that can be seen, makes one check or answers one question after another, each answered by what was drawn, and
stops when the true cause stands first, above unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

import numpy as np

from engine.inference.network import Array, Network
from engine.inference.plan import Planner, Proposal
from engine.inference.rank import Known, Ranking, descending, rank
from engine.model.kb import Check, Finding

MAX_CHECKS = 20
_TRIES = 50  # draws of findings until the cause shows something that can be seen


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is the matter: the true cause, every finding's true state, and what is noticed first."""

    cause: int
    states: Mapping[str, bool]
    noticed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """How one troubleshooting went: ``found`` within ``MAX_CHECKS``, after so many checks that cost so many minutes."""

    found: bool
    checks: int
    cost: float


@dataclass(frozen=True, slots=True)
class Judged:
    """The courses of one strategy. Medians count what was not found as more than ``MAX_CHECKS``."""

    found: float
    median_checks: float
    mean_cost: float


Strategy = Callable[[Ranking, Random], Proposal | None]


class Workshop:
    """A network with its planner, and the ways to choose the next check that are compared."""

    def __init__(self, network: Network, checks: Mapping[str, Check], findings: Mapping[str, Finding]) -> None:
        self.network = network
        self.planner = Planner(network, checks, findings)
        self._seen = [findings[name].visible and findings[name].role == "symptom" for name in network.findings]
        self._by_id = {proposal.id: proposal for proposal in self.planner.proposals}
        self._settling: dict[int, list[Proposal]] = {}
        for proposal in self.planner.proposals:
            for column in proposal.columns:
                self._settling.setdefault(column, []).append(proposal)
        self.strategies: dict[str, Strategy] = {
            "planner": self._planned, "random": self._random, "cheapest": self._cheapest, "likeliest": self._likeliest,
        }  # fmt: skip

    def troubles(self, count: int, seed: int) -> Iterator[Trouble]:
        """Draws of a cause by its prior and of its findings, in which it shows a symptom that can be seen."""
        random = np.random.default_rng(seed)
        weights = np.exp2(self.network.priors["any"])
        while count:
            cause = int(random.choice(len(weights), p=weights / weights.sum()))
            trouble = self._trouble(cause, random)
            if trouble is not None:
                count -= 1
                yield trouble

    def _trouble(self, cause: int, random: np.random.Generator) -> Trouble | None:
        network = self.network
        chances, shown = chances_of(network, cause)
        for _ in range(_TRIES):
            drawn = random.random(len(chances)) < chances
            noticed = [int(column) for column in shown if drawn[column] and self._seen[column]]
            if noticed:
                size = min(len(noticed), 1 + int(random.integers(2)))
                first = sorted(random.choice(noticed, size, replace=False).tolist())
                states = dict(zip(network.findings, drawn.tolist(), strict=True))
                return Trouble(cause, states, tuple(network.findings[column] for column in first))
        return None

    def course(self, trouble: Trouble, choose: Strategy, seed: int) -> Course:
        """Make the checks that ``choose`` names until the true cause stands first."""
        random = Random(seed)  # noqa: S311 - a simulation
        known = {noticed.finding: noticed for noticed in _noticed(trouble)}
        cost = 0.0
        for made in range(MAX_CHECKS + 1):
            ranking = rank(self.network, tuple(known.values()))
            if leads(ranking, trouble.cause):
                return Course(True, made, cost)
            chosen = choose(ranking, random) if made < MAX_CHECKS else None
            if chosen is None:
                break
            cost += chosen.cost
            for column in chosen.columns:
                name = self.network.findings[column]
                known.setdefault(name, Known(name, trouble.states[name], "answer"))
        return Course(False, made, cost)

    def open_at_start(self, count: int, seed: int) -> list[Trouble]:
        """Of ``count`` draws those that the symptoms alone do not settle."""
        drawn = self.troubles(count, seed)
        return [trouble for trouble in drawn if not leads(rank(self.network, _noticed(trouble)), trouble.cause)]

    def courses(self, strategy: str, troubles: Sequence[Trouble]) -> list[Course]:
        """One course for each, with a seed of its own."""
        choose = self.strategies[strategy]
        return [self.course(trouble, choose, seed) for seed, trouble in enumerate(troubles)]

    def _planned(self, ranking: Ranking, _random: Random) -> Proposal | None:
        planned = self.planner.plan(ranking)
        return self._by_id[planned[0].id] if planned else None

    def _random(self, ranking: Ranking, random: Random) -> Proposal | None:
        possible = self.bearing(ranking)
        return random.choice(possible) if possible else None

    def _cheapest(self, ranking: Ranking, _random: Random) -> Proposal | None:
        return min(self.bearing(ranking), key=lambda proposal: (proposal.cost, proposal.id), default=None)

    def _likeliest(self, ranking: Ranking, _random: Random) -> Proposal | None:
        """What would confirm the likeliest cause for which anything is open: its strongest finding, told cheapest."""
        open_ = self._open(ranking)
        for row in listed(ranking):
            columns, misses = self.network.shows.of(np.array([row]))[1:]
            for _, column in sorted(zip(misses.tolist(), columns.tolist(), strict=True)):
                if open_[column] and column in self._settling:
                    return min(self._settling[column], key=lambda proposal: (proposal.cost, proposal.id))
        return None

    def bearing(self, ranking: Ranking) -> list[Proposal]:
        """Every check and question that may settle something which a listed cause shows, in order of id."""
        _, columns, _ = self.network.shows.of(np.array(listed(ranking), dtype=np.intp))
        open_ = self._open(ranking)
        found = {p.id: p for column in set(columns.tolist()) if open_[column] for p in self._settling.get(column, ())}
        return [found[name] for name in sorted(found)]

    def _open(self, ranking: Ranking) -> Array:
        open_ = np.ones(len(self.network.findings))
        open_[ranking.evidence.columns] = 0.0
        return open_


def _noticed(trouble: Trouble) -> tuple[Known, ...]:
    return tuple(Known(name, True, "observation") for name in trouble.noticed)


def chances_of(network: Network, cause: int) -> tuple[Array, list[int]]:
    """P(finding | the cause alone) for every finding, and the findings that it shows."""
    _, columns, misses = network.shows.of(np.array([cause]))
    chances = network.leaks.copy()
    chances[columns] = 1.0 - (1.0 - network.leaks[columns]) * misses
    return chances, columns.tolist()


def leads(ranking: Ranking, cause: int) -> bool:
    """Whether the cause stands first, above unknown."""
    return int(descending(ranking.lead)[0]) == cause and float(ranking.lead[cause]) > ranking.unknown


def listed(ranking: Ranking) -> list[int]:
    """The causes that an answer would list, best first."""
    order = descending(ranking.lead)
    rows: list[int] = order[ranking.lead[order] >= ranking.network.calibration.shown_from].tolist()
    return rows


def judged(courses: Sequence[Course]) -> Judged:
    """The figures of a strategy."""
    checks = [course.checks if course.found else MAX_CHECKS + 1 for course in courses]
    found = sum(course.found for course in courses) / len(courses)
    return Judged(found, median(checks), sum(course.cost for course in courses) / len(courses))
