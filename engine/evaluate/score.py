"""Scores on incidents with a known cause: ranking, calibration, abstention, by area and difficulty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.evidence.case_file import CaseError, case_from, parse_document
from engine.knowledge.knowledge import Knowledge
from engine.model.case import Case
from engine.model.diagnosis import Diagnosis

ECE_BINS = 5


@dataclass(frozen=True, slots=True)
class Incident:
    """A case with the family that turned out to be the cause."""

    id: str
    case: Case
    family: str
    difficulty: str


@dataclass(frozen=True, slots=True)
class Graded:
    """One incident's result. ``rank`` counts families, without unknown; 0 if the true family is not listed."""

    incident: Incident
    rank: int
    top: float
    chance: float
    abstained: bool
    linked: bool
    first: str

    @property
    def reciprocal(self) -> float:
        return 1.0 / self.rank if self.rank else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over a set of incidents. ``silent``: share in which no finding linked to the true family was present."""

    count: int
    top1: float
    top3: float
    mrr: float
    brier: float
    ece: float
    abstained: float
    silent: float


def load_incidents(folder: Path) -> list[Incident]:
    """Every ``*.yaml`` with ``case`` and ``truth.family``, in order of name.

    Raises:
        CaseError: naming the file that is not such a document, or the folder if it holds none.
    """
    incidents = []
    for path in sorted(folder.glob("*.yaml")):
        data = parse_document(path.read_text(encoding="utf-8"))
        truth = data.get("truth") if isinstance(data, dict) else None
        if not isinstance(truth, dict) or "family" not in truth:
            raise CaseError([(path.name, "an incident has a 'case' and a 'truth' with a 'family'")])
        incidents.append(
            Incident(
                str(data.get("id", path.stem)), case_from(data), truth["family"], str(truth.get("difficulty", "?"))
            )
        )
    if not incidents:
        raise CaseError([(str(folder), "there is no *.yaml incident in this folder")])
    return incidents


def grade(incident: Incident, diagnosis: Diagnosis, knowledge: Knowledge) -> Graded:
    """Where the true family stands in the diagnosis, and with what probability."""
    families = [item.family for item in diagnosis.families]
    chances = {item.family: item.probability for item in diagnosis.families}
    linked = {
        link.finding
        for cause in knowledge.active_causes.values()
        if cause.family == incident.family
        for link in cause.shows
        if knowledge.findings[link.finding].role != "context"
    }
    top = max(chances.values(), default=0.0)
    return Graded(
        incident,
        families.index(incident.family) + 1 if incident.family in chances else 0,
        top,
        chances.get(incident.family, 0.0),
        not families or diagnosis.unknown.probability > top,
        any(finding.id in linked for finding in diagnosis.findings),
        families[0] if families else "",
    )


def grade_all(
    incidents: Iterable[Incident], diagnose: Callable[[Case], Diagnosis], knowledge: Knowledge
) -> list[Graded]:
    """Every incident, diagnosed and graded."""
    return [grade(incident, diagnose(incident.case), knowledge) for incident in incidents]


def figures(graded: Sequence[Graded]) -> Figures:
    """The figures of a set; Brier and ECE are of the top family's probability against whether it was right."""
    count = len(graded)
    right = np.array([g.rank == 1 for g in graded], dtype=float)
    top = np.array([g.top for g in graded])
    return Figures(
        count,
        float(right.mean()),
        float(np.mean([1 <= g.rank <= 3 for g in graded])),
        float(np.mean([g.reciprocal for g in graded])),
        float(((top - right) ** 2).mean()),
        expected_calibration_error(top, right),
        float(np.mean([g.abstained for g in graded])),
        float(np.mean([not g.linked for g in graded])),
    )


def expected_calibration_error(top: Any, right: Any) -> float:
    """Mean |stated - observed| over equal bins of the stated probability, weighted by their size."""
    bins = np.minimum((top * ECE_BINS).astype(int), ECE_BINS - 1)
    parts = [
        abs(top[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
        for b in range(ECE_BINS)
        if (bins == b).any()
    ]
    return float(sum(parts))


def by(graded: Sequence[Graded], key: Callable[[Graded], str]) -> dict[str, Figures]:
    """Figures for each value of ``key``, in sorted order."""
    groups: dict[str, list[Graded]] = {}
    for item in graded:
        groups.setdefault(key(item), []).append(item)
    return {name: figures(groups[name]) for name in sorted(groups)}
