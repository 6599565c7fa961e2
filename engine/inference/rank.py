"""Which causes explain the findings: noisy-OR (BN2O) with the best hypotheses enumerated.

For a set S of causes and a finding f with leak l: P(f | S) = 1 - (1-l) * prod over c in S of (1 - q_cf). What was
reported is virtual evidence: a source says so with P(hit) if the finding is there and P(false) if not. Everything is
measured against the empty set, which is the honest *unknown*: its own evidence is zero bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from engine.inference.network import Array, Network, marked
from engine.model.evidence import SourceKind
from engine.model.kb import Paradigm

__all__ = ["Array", "Evidence", "Known", "Network", "Ranking", "descending", "rank"]

LN2 = float(np.log(2.0))
# Bits that keep what stands by likeness alone below a cause with firm evidence, where the order would else go by id.
_BELOW = 0.1


@dataclass(frozen=True, slots=True)
class Known:
    """A decided finding and how far its source is to be believed."""

    finding: str
    present: bool
    kind: SourceKind


@dataclass(frozen=True)
class Evidence:
    """The decided findings that some cause speaks about, as columns, ready to weigh any hypothesis.

    With ``q`` the probability that a hypothesis shows finding k beside its leak, the evidence multiplies its odds by
    1 + ``slope[k]`` * q, against the empty set: no q, no bits. ``at_most`` caps the bits in favour.
    """

    known: tuple[Known, ...]
    columns: NDArray[np.intp]
    slope: Array
    at_most: Array
    prose: NDArray[np.bool_]
    solid: Array
    groups: tuple[NDArray[np.intp], ...]


@dataclass(frozen=True)
class Ranking:
    """Posterior over hypotheses. ``lead[c]`` sums to 1 with ``unknown``; ``bits[c, k]`` is finding k's weight for c.

    ``grounds[c]`` are the bits of all findings that speak for c, context aside: with none it stands by likeness alone.
    ``members`` has a row for each hypothesis: up to three causes, nobody in the places left. ``shares`` beside it says
    how the hypothesis' mass is split among them.
    """

    network: Network
    evidence: Evidence
    members: NDArray[np.intp]
    shares: Array
    weights: Array
    lead: Array
    marginal: Array
    unknown: float
    bits: Array
    grounds: Array
    excluded: Mapping[int, Mapping[str, float]]
    resemblance: Array


def descending(values: Array) -> NDArray[np.intp]:
    """Positions by falling value; values that differ only by rounding keep their order, so that ties go by id."""
    return (-values.round(9)).argsort(kind="stable")


def foremost(values: Array, above: float, most: int) -> NDArray[np.intp]:
    """Positions of at most so many values above a limit, by falling value."""
    found = (values > above).nonzero()[0]
    return found[descending(values[found])][:most]


def gather(network: Network, known: Sequence[Known]) -> Evidence:
    """Keep the findings that the network speaks about, in a total order, with their sources' reliability."""
    placed = sorted([(network.column[k.finding], k) for k in known if k.finding in network.column], key=itemgetter(0))
    kept = tuple([k for _, k in placed])
    columns = np.array([column for column, _ in placed], dtype=np.intp)
    members: dict[str, list[int]] = {}
    for position, (column, _) in enumerate(placed):
        group = network.groups[column]
        if group is not None:
            members.setdefault(group, []).append(position)
    slopes = network.slopes
    return Evidence(
        kept, columns, np.array([slopes[k.kind, k.present][column] for column, k in placed], dtype=np.float64),
        network.at_most[columns], np.array([k.kind in ("prose", "mention") for k in kept], dtype=bool),
        network.solid[columns],
        tuple([np.array(positions, dtype=np.intp) for positions in members.values() if len(positions) > 1]),
    )  # fmt: skip


def weigh(network: Network, evidence: Evidence, miss: Array) -> Array:
    """Bits of every known finding for every hypothesis, after groups and caps; ``miss[h, k]`` = prod(1 - q).

    Of a group only the strongest finding for, and the strongest against, counts. Context supports by at most its cap.
    Prose together counts in full up to its cap, and by a small share beyond, which decides between equals.
    """
    told = (miss < 1.0).ravel().nonzero()[0]  # few: most hypotheses say nothing of most findings
    bits = np.zeros(miss.shape)
    bits.put(told, np.log2(1.0 + (evidence.slope * (1.0 - miss)).take(told)) * network.calibration.damping)
    np.minimum(bits, evidence.at_most, out=bits)
    for group in evidence.groups:
        bits[:, group] = _strongest(bits[:, group])
    return _prose_capped(network, evidence, bits) if evidence.prose.any() else bits


def _strongest(part: Array) -> Array:
    """Of each row the greatest number above zero and the least below it, zero elsewhere."""
    result = np.zeros_like(part)
    rows = np.arange(len(part))
    best, worst = part.argmax(axis=1), part.argmin(axis=1)
    result[rows, best] += np.maximum(part[rows, best], 0.0)
    result[rows, worst] += np.minimum(part[rows, worst], 0.0)
    return result


def _prose_capped(network: Network, evidence: Evidence, bits: Array) -> Array:
    caps = network.calibration.caps
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
    only the largest counts, since it is one text that they resemble. The more that log lines, numbers and answers
    say, the less it counts.
    """
    if resemblance is None:
        resemblance = np.zeros(len(network.causes))
    evidence = gather(network, known)
    place, row, misses = network.shown_by.of(evidence.columns)
    miss = np.ones((len(network.causes), len(evidence.columns)))
    miss[row, place] = misses
    speaking = marked(row, len(network.causes))  # the other causes have no bits
    bits = np.zeros(miss.shape)
    bits[speaking] = weigh(network, evidence, miss[speaking])
    excluded = _excluded(network, evidence)
    prior = network.priors[paradigm or "any"].copy()
    for cause, exclusions in excluded.items():
        prior[cause] -= sum(exclusions.values())
    total = bits.sum(axis=1)
    single = prior + total
    support = np.maximum(bits, 0.0)
    grounds = support @ evidence.solid
    measured = support @ (evidence.solid * ~evidence.prose)
    firm = measured > 0
    worth = network.calibration.resemblance
    resemblance = below(resemblance, worth.cap - worth.yields * float(measured.max(initial=0.0)))
    # Only context in favour: such a cause may be listed, but never above unknown.
    single = np.where(grounds > 0, single, np.minimum(single, -1.0)) + resemblance
    single = _bounded(single, resemblance, grounds, firm)
    several, scores = _several(network, evidence, prior, resemblance, single, grounds, miss, bits)
    members = np.concatenate([network.alone, several])
    weights = _normalised(np.concatenate([[0.0], single, scores]), network.calibration.temperature)
    listed = (grounds > 0) | (resemblance > 0)
    shares = _shares(members, total, listed)
    lead = _by_cause(network, members, weights[:, None] * shares)
    marginal = _by_cause(network, members, np.repeat(weights[:, None], members.shape[1], axis=1))
    unknown = max(0.0, 1.0 - float(lead.sum()))
    return Ranking(
        network, evidence, members, shares, weights, lead, marginal, unknown, bits, grounds, excluded, resemblance
    )


def below(likeness: Array, most: float) -> Array:
    """Likenesses of which the greatest is at most ``most``: what it has beyond is taken from all alike, none below 0.

    It is the difference between rivals that a text tells best.
    """
    return np.maximum(likeness - max(0.0, float(likeness.max(initial=0.0)) - max(most, 0.0)), 0.0)


def _bounded(single: Array, resemblance: Array, grounds: Array, firm: NDArray[np.bool_]) -> Array:
    """The scores, with no cause lifted by likeness alone above unknown or above one that more than prose speaks for.

    What the best of those without a finding of their own has beyond that is taken from all of them: how they differ is
    what a text tells best.
    """
    bare = grounds <= 0
    lifted = single[bare & (resemblance > 0)]
    limit = min(0.0, float(single[firm].max()) - _BELOW) if firm.any() else 0.0
    excess = max(0.0, float(lifted.max(initial=-np.inf)) - limit)
    return np.where(bare, single - excess, single)


def _by_cause(network: Network, members: NDArray[np.intp], values: Array) -> Array:
    """The sum of ``values``, one a member, for each cause."""
    return np.asarray(np.bincount(members.ravel(), values.ravel(), network.nobody + 1)[:-1], dtype=np.float64)


def _excluded(network: Network, evidence: Evidence) -> dict[int, dict[str, float]]:
    """By cause, the exclusions that hold and their bits against it: less where the source may be mistaken."""
    cap = network.calibration.caps.rules_out_bits
    result: dict[int, dict[str, float]] = {}
    for known in evidence.known:
        for row, present in network.exclusions.get(known.finding, ()):
            if known.present is present:
                hit, false = network.belief[known.kind]
                result.setdefault(row, {})[known.finding] = -math.log2((false + (hit - false) * 2.0**-cap) / hit)
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
) -> tuple[NDArray[np.intp], Array]:
    """Pairs among the best single causes, and triples grown from the best pairs: their members and scores.

    A member must explain ``member_bits`` of non-context evidence that the others leave over; otherwise a second cause
    would be used to explain a misreading.
    """
    search = network.calibration.search
    best = descending(single)[: search.pairs_of]
    best = np.sort(best[grounds[best] >= search.member_bits])
    prior, resemblance, miss, own = prior[best], resemblance[best], miss[best], bits[best] @ evidence.solid
    pairs = network.pairs[network.pairs[:, 1] < len(best)]
    pair_scores, explained = _weighed(network, evidence, prior, resemblance, miss, pairs)
    better = explained - np.maximum(own[pairs[:, 0]], own[pairs[:, 1]]) >= search.member_bits
    good = better.nonzero()[0]
    good = good[(-pair_scores[good]).argsort(kind="stable")]
    by_pair = np.zeros((len(best), len(best)))
    by_pair[pairs[:, 0], pairs[:, 1]] = by_pair[pairs[:, 1], pairs[:, 0]] = explained
    triples = _grown(pairs[good[: search.triples_from]], len(best))
    scores, explained = _weighed(network, evidence, prior, resemblance, miss, triples)
    first, second, third = triples.T
    left = np.maximum(np.maximum(by_pair[first, second], by_pair[first, third]), by_pair[second, third])
    better = explained - left >= search.member_bits
    members = np.full((len(good) + int(better.sum()), 3), network.nobody)
    members[: len(good), :2] = best[pairs[good]]
    members[len(good) :] = best[triples[better]]
    return members, np.concatenate([pair_scores[good], scores[better]])


def _grown(pairs: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Every pair with each further one of ``count`` causes: rising triples in order, each once."""
    first, second = pairs[:, :1], pairs[:, 1:]
    third = np.arange(count)
    low, high = np.minimum(first, third), np.maximum(second, third)
    numbers = (low * count + (first + second + third - low - high)) * count + high
    numbers = marked(numbers[(third != first) & (third != second)], count**3)
    return np.column_stack([numbers // count**2, numbers // count % count, numbers % count])


def _weighed(
    network: Network, evidence: Evidence, prior: Array, resemblance: Array, miss: Array, sets: NDArray[np.intp]
) -> tuple[Array, Array]:
    """For sets of causes of equal size: their scores, and the non-context evidence that each explains, in bits."""
    together = miss[sets[:, 0]]
    for place in range(1, sets.shape[1]):
        together *= miss[sets[:, place]]
    bits = weigh(network, evidence, together)
    scores = _prior_of_several(network, prior, sets) + resemblance[sets].max(axis=1, initial=0.0) + bits.sum(axis=1)
    return scores, bits @ evidence.solid


def _prior_of_several(network: Network, prior: Array, members: NDArray[np.intp]) -> Array:
    """log2 of the prior of hypotheses of equal size: the first cause's, times ``another_fault`` for each further one.

    Incidents have mostly one fault: that a second one is there at all is as unlikely as ``another_fault``, and which it
    is follows the causes' own priors.
    """
    calibration = network.calibration
    odds = math.log2(calibration.known_share / (1 - calibration.known_share))
    further = members.shape[1] - 1
    orders = math.log2(math.factorial(members.shape[1]))
    chosen = prior[members].sum(axis=1) - odds * further
    return np.asarray(chosen + further * math.log2(calibration.another_fault) + orders, dtype=np.float64)


def _normalised(scores: Array, temperature: float) -> Array:
    scaled = (scores - scores.max()) * LN2 / temperature
    weights = np.exp(scaled)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _shares(members: NDArray[np.intp], total: Array, listed: NDArray[np.bool_]) -> Array:
    """How each hypothesis' mass is split among its members, by the bits each explains in ``total``.

    An unlisted cause alone gets no share.
    """
    own = np.append(np.maximum(total, 0.1), 0.0)[members]
    shares = own / np.maximum(own.sum(axis=1, keepdims=True), 0.1)  # the empty set has none to split
    shares[1 : 1 + len(total), 0] *= listed  # the single causes come second, in order
    return np.asarray(shares, dtype=np.float64)
