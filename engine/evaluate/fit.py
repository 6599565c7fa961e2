"""The global fit: three numbers for the whole knowledge base, chosen on folds that are not scored.

Weights of single causes are never fitted: they come from thought and literature. What is fitted is how far evidence
is to be trusted at all (damping), how sharp the posterior is (temperature) and how much belief the known causes start
with.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from engine.evaluate.score import expected_calibration_error
from engine.inference.rank import Array, Known, Network, rank
from engine.knowledge.knowledge import Knowledge
from engine.model.calibration import Calibration
from engine.model.kb import Paradigm

GRID: dict[str, tuple[float, ...]] = {
    "damping": (0.6, 0.7, 0.8, 0.9, 1.0),
    "temperature": (0.8, 1.0, 1.25, 1.5, 1.8),
    "known_share": (0.6, 0.7, 0.8, 0.9),
}
FOLDS = 5
_FLOOR = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """The decided findings of a case whose true family is known. Folds are drawn by family: none is in two."""

    name: str
    family: str
    known: tuple[Known, ...]
    paradigm: Paradigm | None
    resemblance: Array | None = None

    @property
    def fold(self) -> int:
        return zlib.crc32(self.family.encode()) % FOLDS


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one example came out under one setting."""

    chance: float
    top: float
    right: bool


@dataclass(frozen=True, slots=True)
class FitResult:
    """The chosen setting and figures: on held-out folds (each scored by the setting of the others), and at present."""

    chosen: dict[str, float]
    held_out: dict[str, float]
    present: dict[str, float]
    count: int


def fit(examples: Sequence[Example], knowledge: Knowledge) -> FitResult:
    """Choose the grid point with the least log loss of the true family; report cross-validated figures.

    Raises:
        ValueError: with fewer than 20 examples, which no figure could rest on.
    """
    if len(examples) < 20:
        raise ValueError(f"a fit needs at least 20 labelled cases, got {len(examples)}")
    settings = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    table = [_outcomes(examples, knowledge, setting) for setting in settings]
    losses = np.array([[-np.log(max(o.chance, _FLOOR)) for o in row] for row in table])
    folds = np.array([example.fold for example in examples])
    held_out: list[Outcome] = []
    for fold in range(FOLDS):
        mine = folds == fold
        if mine.any():
            best = int(losses[:, ~mine].mean(axis=1).argmin())
            held_out += [table[best][i] for i in np.flatnonzero(mine)]
    best = int(losses.mean(axis=1).argmin())
    now = {name: float(getattr(knowledge.calibration, name)) for name in GRID}
    return FitResult(
        settings[best], summary(held_out), summary(_outcomes(examples, knowledge, now)), len(examples)
    )  # fmt: skip


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Top-1, Brier and ECE of the top family, and the mean log loss (nats) of the true one."""
    right = np.array([o.right for o in outcomes], dtype=float)
    top = np.array([o.top for o in outcomes])
    loss = np.array([-np.log(max(o.chance, _FLOOR)) for o in outcomes])
    return {
        "top1": float(right.mean()),
        "brier": float(((top - right) ** 2).mean()),
        "ece": expected_calibration_error(top, right),
        "log_loss": float(loss.mean()),
    }


def _outcomes(examples: Sequence[Example], knowledge: Knowledge, setting: Mapping[str, float]) -> list[Outcome]:
    calibration: Calibration = knowledge.calibration.model_copy(update=dict(setting))
    network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, calibration)
    return [_outcome(example, network) for example in examples]


def _outcome(example: Example, network: Network) -> Outcome:
    ranking = rank(network, example.known, example.paradigm, example.resemblance)
    by_family: dict[str, float] = {}
    for row, cause in enumerate(network.causes):
        by_family[cause.family] = by_family.get(cause.family, 0.0) + float(ranking.lead[row])
    best = max(sorted(by_family), key=by_family.__getitem__)
    return Outcome(by_family.get(example.family, 0.0), by_family[best], best == example.family)
