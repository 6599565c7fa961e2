"""The knowledge base as a network of causes and findings, in arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from engine.model.calibration import Calibration
from engine.model.evidence import SourceKind
from engine.model.kb import Cause, Finding, Paradigm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Links:
    """A sparse table, line by line: the places in a line that hold a link, and the probability that it misses."""

    starts: NDArray[np.intp]
    places: NDArray[np.intp]
    misses: Array

    @staticmethod
    def build(lines: NDArray[np.intp], places: NDArray[np.intp], misses: Array, count: int) -> Links:
        """Of links in any order, as (line, place, miss); ``count`` lines."""
        order = np.lexsort((places, lines))
        return Links(np.searchsorted(lines[order], np.arange(count + 1)), places[order], misses[order])

    def of(self, lines: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """The links of some lines, in three arrays: the position of the line in ``lines``, the place, the miss."""
        first = self.starts[lines]
        lengths = self.starts[lines + 1] - first
        position = np.repeat(np.arange(len(lines)), lengths)
        links = np.arange(len(position)) + (first - np.cumsum(lengths) + lengths)[position]
        return position, self.places[links], self.misses[links]


@dataclass(frozen=True)
class Network:
    """The knowledge base as arrays, causes and findings by id: P(no f | only c) of every link, ``leaks[f]``.

    A row beyond the last cause stands for nobody, who shows nothing: it fills the places of small hypotheses.
    ``belief`` is P(reported | so) and P(reported | not so) by kind of source. ``slopes``, ``at_most`` and ``solid`` say
    by column what a report of the finding is worth (see ``Evidence``), the first by kind of source and state.
    ``alone`` are the hypotheses of no cause and of one, ``pairs`` all pairs of numbers of the causes that are tried
    together.
    """

    causes: tuple[Cause, ...]
    findings: tuple[str, ...]
    shows: Links
    shown_by: Links
    leaks: Array
    groups: tuple[str | None, ...]
    context: NDArray[np.bool_]
    column: Mapping[str, int]
    row: Mapping[str, int]
    families: tuple[str, ...]
    family_of: NDArray[np.intp]
    exclusions: Mapping[str, tuple[tuple[int, bool], ...]]
    belief: Mapping[SourceKind, tuple[float, float]]
    slopes: Mapping[tuple[SourceKind, bool], Array]
    at_most: Array
    solid: Array
    alone: NDArray[np.intp]
    pairs: NDArray[np.intp]
    priors: Mapping[str, Array]
    calibration: Calibration

    @staticmethod
    def build(causes: Sequence[Cause], findings: Mapping[str, Finding], calibration: Calibration) -> Network:
        ordered = tuple(sorted(causes, key=lambda cause: cause.id))
        linked = {link.finding for cause in ordered for link in cause.shows}
        excluded = {exclusion.finding for cause in ordered for exclusion in cause.rules_out}
        names = tuple(sorted(linked | excluded))
        column = {name: index for index, name in enumerate(names)}
        links = {  # one a pair: of a finding named twice the last word counts
            (row, column[link.finding]): 1.0 - calibration.links[link.how]
            for row, cause in enumerate(ordered)
            for link in cause.shows
        }
        rows, columns = np.array([*links], dtype=np.intp).reshape(-1, 2).T
        misses = np.array([*links.values()])
        families = tuple(sorted({cause.family for cause in ordered}))
        context = np.array([findings[name].role == "context" for name in names], dtype=bool)
        leaks = np.array([calibration.leaks[findings[name].leak] for name in names])
        leaks = np.where(context, np.maximum(leaks, calibration.context_leak), leaks)
        belief = {kind: (source.hit, source.false) for kind, source in calibration.sources.items()}
        alone = np.full((1 + len(ordered), 3), len(ordered))
        alone[1:, 0] = np.arange(len(ordered))
        return Network(
            ordered, names, Links.build(rows, columns, misses, len(ordered) + 1),
            Links.build(columns, rows, misses, len(names)), leaks,
            tuple(findings[name].group for name in names), context, column,
            {cause.id: index for index, cause in enumerate(ordered)}, families,
            np.array([families.index(cause.family) for cause in ordered], dtype=np.intp), _exclusions(ordered),
            belief, _slopes(belief, leaks), np.where(context, calibration.caps.context_bits, np.inf),
            np.where(context, 0.0, 1.0), alone, np.column_stack(np.triu_indices(calibration.search.pairs_of, 1)),
            {paradigm: _prior_bits(ordered, calibration, paradigm) for paradigm in get_args(Paradigm)}, calibration,
        )  # fmt: skip

    @property
    def nobody(self) -> int:
        """The row that is no cause."""
        return len(self.causes)


def _slopes(belief: Mapping[SourceKind, tuple[float, float]], leaks: Array) -> dict[tuple[SourceKind, bool], Array]:
    """By kind of source, and whether it says present: how much the evidence of each finding turns with P(shown)."""
    slopes = {}
    for kind, (hit, false) in belief.items():
        turn = (hit - false) * (1.0 - leaks)
        for present, as_said in ((True, leaks), (False, leaks - 1.0)):  # its size: P(as reported | no cause)
            slopes[kind, present] = np.copysign(turn / ((hit - false) * np.abs(as_said) + false), as_said)
    return slopes


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


def marked(numbers: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The different ones of these numbers below ``count``, rising."""
    marks = np.zeros(count, dtype=bool)
    marks[numbers] = True
    return marks.nonzero()[0]
