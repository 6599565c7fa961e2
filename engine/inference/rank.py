"""Which causes explain the findings: noisy-OR (BN2O) with the best hypotheses enumerated.

For a set S of causes and a finding f with leak l: P(f | S) = 1 - (1-l) * prod over c in S of (1 - q_cf). What was
reported is virtual evidence: a source says so with P(hit) if the finding is there and P(false) if not. Everything is
measured against the empty set, which is the honest *unknown*: its own evidence is zero bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from engine.model.calibration import Calibration
from engine.model.evidence import SourceKind
from engine.model.kb import Cause, Finding, Paradigm

Array = NDArray[np.float64]
LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Known:
    """A decided finding and how far its source is to be believed."""

    finding: str
    present: bool
    kind: SourceKind


@dataclass(frozen=True)
class Network:
    """The knowledge base as arrays: ``links[c, f]`` = P(f | only c), ``leaks[f]``; rows and columns by id."""

    causes: tuple[Cause, ...]
    findings: tuple[str, ...]
    links: Array
    leaks: Array
    groups: tuple[str | None, ...]
    context: NDArray[np.bool_]
    column: Mapping[str, int]
    row: Mapping[str, int]
    exclusions: Mapping[str, tuple[tuple[int, bool], ...]]
    priors: Mapping[str, Array]
    calibration: Calibration

    @staticmethod
    def build(causes: Sequence[Cause], findings: Mapping[str, Finding], calibration: Calibration) -> Network:
        ordered = tuple(sorted(causes, key=lambda cause: cause.id))
        linked = {link.finding for cause in ordered for link in cause.shows}
        excluded = {exclusion.finding for cause in ordered for exclusion in cause.rules_out}
        names = tuple(sorted(linked | excluded))
        column = {name: index for index, name in enumerate(names)}
        links = np.zeros((len(ordered), len(names)))
        for row, cause in enumerate(ordered):
            for link in cause.shows:
                links[row, column[link.finding]] = calibration.links[link.how]
        context = np.array([findings[name].role == "context" for name in names], dtype=bool)
        leaks = np.array([calibration.leaks[findings[name].leak] for name in names])
        leaks = np.where(context, np.maximum(leaks, calibration.context_leak), leaks)
        return Network(
            ordered, names, links, leaks, tuple(findings[name].group for name in names), context, column,
            {cause.id: index for index, cause in enumerate(ordered)}, _exclusions(ordered),
            {paradigm: _prior_bits(ordered, calibration, paradigm) for paradigm in get_args(Paradigm)}, calibration,
        )  # fmt: skip


def _exclusions(causes: Sequence[Cause]) -> dict[str, tuple[tuple[int, bool], ...]]:
    """By finding: the causes (as rows) that it rules out, and by which of its states."""
    found: dict[str, list[tuple[int, bool]]] = {}
    for row, cause in enumerate(causes):
        for exclusion in cause.rules_out:
            found.setdefault(exclusion.finding, []).append((row, exclusion.is_ == "present"))
    return {finding: tuple(rows) for finding, rows in found.items()}


def _prior_bits(causes: Sequence[Cause], calibration: Calibration, paradigm: str) -> Array:
    """log2 of each cause's prior against the unknown's; all causes together hold ``known_share``."""
    weight = np.array([calibration.priors[cause.prior] for cause in causes])
    if paradigm != "any":
        fits = [paradigm in cause.paradigms or "any" in cause.paradigms for cause in causes]
        weight = np.where(fits, weight, weight * calibration.other_paradigm)
    odds = calibration.known_share / (1 - calibration.known_share)
    return np.asarray(np.log2(odds * weight / max(float(weight.sum()), 1e-9)), dtype=np.float64)


@dataclass(frozen=True)
class Evidence:
    """The decided findings that some cause speaks about, as columns, ready to weigh any hypothesis."""

    known: tuple[Known, ...]
    columns: NDArray[np.intp]
    present: NDArray[np.bool_]
    hit: Array
    false: Array
    prose: NDArray[np.bool_]
    context: NDArray[np.bool_]
    groups: tuple[NDArray[np.intp], ...]


@dataclass(frozen=True)
class Ranking:
    """Posterior over hypotheses. ``lead[c]`` sums to 1 with ``unknown``; ``bits[c, k]`` is finding k's weight for c.

    How the mass of a hypothesis is split among its causes stands in three parallel arrays, one entry a member.
    """

    network: Network
    evidence: Evidence
    hypotheses: tuple[tuple[int, ...], ...]
    weights: Array
    member_of: NDArray[np.intp]
    member: NDArray[np.intp]
    member_share: Array
    lead: Array
    marginal: Array
    unknown: float
    bits: Array
    excluded: Mapping[int, Mapping[str, float]]
    resemblance: Array

    def shares(self, hypotheses: NDArray[np.intp], causes: NDArray[np.intp]) -> Array:
        """The part of each of these hypotheses' mass (a row) that each of these causes (a column) leads with."""
        return self._spread(hypotheses, causes, self.member_share)

    def members(self, hypotheses: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
        """The causes that these hypotheses hold, rising, and a row for each hypothesis with 1 for those it holds."""
        wanted = np.zeros(len(self.hypotheses), dtype=bool)
        wanted[hypotheses] = True
        causes = np.unique(self.member[wanted[self.member_of]])
        return causes, self._spread(hypotheses, causes, np.ones(len(self.member)))

    def _spread(self, hypotheses: NDArray[np.intp], causes: NDArray[np.intp], values: Array) -> Array:
        rows = np.full(len(self.hypotheses), -1)
        rows[hypotheses] = np.arange(len(hypotheses))
        columns = np.full(len(self.network.causes), -1)
        columns[causes] = np.arange(len(causes))
        row, column = rows[self.member_of], columns[self.member]
        wanted = (row >= 0) & (column >= 0)
        found = np.zeros((len(hypotheses), len(causes)))
        found[row[wanted], column[wanted]] = values[wanted]
        return found


def descending(values: Array) -> list[int]:
    """Positions by falling value; values that differ only by rounding keep their order, so that ties go by id."""
    return [int(position) for position in np.argsort(-np.round(values, 9), kind="stable")]


def gather(network: Network, known: Sequence[Known]) -> Evidence:
    """Keep the findings that the network speaks about, in a total order, with their sources' reliability."""
    kept = tuple(sorted((k for k in known if k.finding in network.column), key=lambda k: k.finding))
    columns = np.array([network.column[k.finding] for k in kept], dtype=np.intp)
    sources = network.calibration.sources
    members: dict[str, list[int]] = {}
    for position, k in enumerate(kept):
        group = network.groups[network.column[k.finding]]
        if group is not None:
            members.setdefault(group, []).append(position)
    return Evidence(
        kept,
        columns,
        np.array([k.present for k in kept], dtype=bool),
        np.array([sources[k.kind].hit for k in kept]),
        np.array([sources[k.kind].false for k in kept]),
        np.array([k.kind in ("prose", "mention") for k in kept], dtype=bool),
        network.context[columns] if len(kept) else np.zeros(0, dtype=bool),
        tuple(np.array(positions, dtype=np.intp) for positions in members.values() if len(positions) > 1),
    )


def weigh(network: Network, evidence: Evidence, miss: Array) -> Array:
    """Bits of every known finding for every hypothesis, after groups and caps; ``miss[h, k]`` = prod(1 - q).

    Of a group only the strongest finding for, and the strongest against, counts. Context supports by at most its cap.
    Prose together counts in full up to its cap, and by a small share beyond, which decides between equals.
    """
    caps = network.calibration.caps
    leak = network.leaks[evidence.columns]
    # Written so that a finding which no member shows has exactly its leak, and so exactly no bits.
    seen = leak + (1.0 - leak) * (1.0 - miss)
    hit, false = evidence.hit, evidence.false
    said_present = (hit * seen + false * (1 - seen)) / (hit * leak + false * (1 - leak))
    said_absent = (hit * (1 - seen) + false * seen) / (hit * (1 - leak) + false * leak)
    bits = np.log2(np.where(evidence.present, said_present, said_absent)) * network.calibration.damping
    bits = np.where(evidence.context & (bits > caps.context_bits), caps.context_bits, bits)
    for group in evidence.groups:
        part = bits[:, group]
        strongest = np.zeros_like(part)
        rows = np.arange(len(part))
        best, worst = part.argmax(axis=1), part.argmin(axis=1)
        strongest[rows, best] += np.maximum(part[rows, best], 0.0)
        strongest[rows, worst] += np.minimum(part[rows, worst], 0.0)
        bits[:, group] = strongest
    prose = np.where(evidence.prose & (bits > 0), bits, 0.0)
    total = prose.sum(axis=1, keepdims=True)
    allowed = caps.prose_bits + caps.prose_beyond * (total - caps.prose_bits)
    factor = np.where(total > caps.prose_bits, allowed / np.maximum(total, 1e-9), 1.0)
    return np.where(evidence.prose & (bits > 0), bits * factor, bits)


def rank(
    network: Network, known: Sequence[Known], paradigm: Paradigm | None = None, resemblance: Array | None = None
) -> Ranking:
    """The posterior over the causes, given the decided findings and, if known, the paradigm.

    ``resemblance`` is a likeness in words, in bits for each cause: it shifts the prior, and of several causes together
    only the largest counts, since it is one text that they resemble.
    """
    if resemblance is None:
        resemblance = np.zeros(len(network.causes))
    evidence = gather(network, known)
    miss = 1.0 - network.links[:, evidence.columns]
    bits = weigh(network, evidence, miss)
    excluded = _excluded(network, evidence)
    penalty = np.zeros(len(network.causes))
    for row, exclusions in excluded.items():
        penalty[row] = sum(exclusions.values())
    prior = network.priors[paradigm or "any"] - penalty
    single = prior + bits.sum(axis=1)
    grounds = np.where(~evidence.context & (bits > 0), bits, 0.0).sum(axis=1)
    # Only context in favour: such a cause may be listed, but never above unknown.
    single = np.where(grounds > 0, single, np.minimum(single, -1.0)) + resemblance
    hypotheses: list[tuple[int, ...]] = [(), *((row,) for row in range(len(network.causes)))]
    scores = [0.0, *single.tolist()]
    for members, score in _several(network, evidence, prior, resemblance, single, grounds, miss, bits):
        hypotheses.append(members)
        scores.append(score)
    weights = _normalised(np.array(scores), network.calibration.temperature)
    listed = (grounds > 0) | (resemblance > 0)
    of, member, share = _shares(hypotheses, bits, listed)
    count = len(network.causes)
    lead = np.bincount(member, weights[of] * share, count).astype(np.float64)
    marginal = np.bincount(member, weights[of], count).astype(np.float64)
    unknown = max(0.0, 1.0 - float(lead.sum()))
    return Ranking(
        network, evidence, tuple(hypotheses), weights, of, member, share, lead, marginal, unknown, bits, excluded,
        resemblance,
    )  # fmt: skip


def _excluded(network: Network, evidence: Evidence) -> dict[int, dict[str, float]]:
    """By cause, the exclusions that hold and their bits against it: less where the source may be mistaken."""
    cap = network.calibration.caps.rules_out_bits
    result: dict[int, dict[str, float]] = {}
    for known, hit, false in zip(evidence.known, evidence.hit.tolist(), evidence.false.tolist(), strict=True):
        bits = -math.log2((false + (hit - false) * 2.0**-cap) / hit)
        for row, present in network.exclusions.get(known.finding, ()):
            if known.present is present:
                result.setdefault(row, {})[known.finding] = bits
    return result


def _several(
    network: Network,
    evidence: Evidence,
    prior: Array,
    resemblance: Array,
    single: Array,
    grounds: Array,
    miss: Array,
    bits: Array,
) -> list[tuple[tuple[int, ...], float]]:
    """Pairs among the best single causes, and triples grown from the best pairs.

    A member must explain ``member_bits`` of non-context evidence that the others leave over; otherwise a second cause
    would be used to explain a misreading.
    """
    search = network.calibration.search
    best = [row for row in descending(single)[: search.pairs_of] if grounds[row] >= search.member_bits]
    own = np.where(~evidence.context, bits, 0.0).sum(axis=1)
    pairs = list(combinations(sorted(best), 2))
    scores, support = _weighed(network, evidence, prior, resemblance, miss, pairs)
    members = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    worthwhile = support - own[members].max(axis=1, initial=-np.inf) >= search.member_bits
    found = sorted(
        ((pairs[i], float(scores[i])) for i in np.flatnonzero(worthwhile)), key=lambda item: (-item[1], item[0])
    )
    by_pair = dict(zip(pairs, support.tolist(), strict=True))
    grown = sorted({
        tuple(sorted({*pair, row})) for pair, _ in found[: search.triples_from] for row in best if row not in pair
    })  # fmt: skip
    scores, support = _weighed(network, evidence, prior, resemblance, miss, grown)
    return found + [
        (triple, float(score))
        for triple, score, explained in zip(grown, scores, support.tolist(), strict=True)
        if explained - max(by_pair[pair] for pair in combinations(triple, 2)) >= search.member_bits
    ]


def _weighed(
    network: Network,
    evidence: Evidence,
    prior: Array,
    resemblance: Array,
    miss: Array,
    sets: Sequence[tuple[int, ...]],
) -> tuple[Array, Array]:
    """For sets of causes of equal size: their scores, and the non-context evidence that each explains, in bits."""
    if not sets:
        return np.zeros(0), np.zeros(0)
    members = np.array(sets, dtype=np.intp)
    together = weigh(network, evidence, miss[members].prod(axis=1))
    support = np.where(~evidence.context, together, 0.0).sum(axis=1)
    alike = resemblance[members].max(axis=1)
    return _prior_of_several(network, prior, members) + alike + together.sum(axis=1), support


def _prior_of_several(network: Network, prior: Array, members: NDArray[np.intp]) -> Array:
    """log2 of the prior of hypotheses of equal size: the first cause's, times ``another_fault`` for each further one.

    Incidents have mostly one fault: that a second one is there at all is as unlikely as ``another_fault``, and which it
    is follows the causes' own priors.
    """
    calibration = network.calibration
    odds = np.log2(calibration.known_share / (1 - calibration.known_share))
    further = members.shape[1] - 1
    orders = np.log2(float(math.factorial(members.shape[1])))
    chosen = prior[members].sum(axis=1) - odds * further
    return np.asarray(chosen + further * np.log2(calibration.another_fault) + orders, dtype=np.float64)


def _normalised(scores: Array, temperature: float) -> Array:
    scaled = (scores - scores.max()) * LN2 / temperature
    weights = np.exp(scaled)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _shares(
    hypotheses: Sequence[tuple[int, ...]], bits: Array, listed: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """How each hypothesis' mass is split among its causes, by the bits each explains: one entry a member.

    An unlisted cause alone gets no share.
    """
    sizes = np.array([len(members) for members in hypotheses], dtype=np.intp)
    of = np.repeat(np.arange(len(hypotheses)), sizes)
    member = np.array([row for members in hypotheses for row in members], dtype=np.intp)
    own = np.maximum(bits.sum(axis=1), 0.1)[member]
    share = own / np.bincount(of, own, len(hypotheses))[of]
    share[sizes[of] == 1] *= listed[member[sizes[of] == 1]]
    return of, member, share
