"""The same incidents made harder: without a kind of input, and without the family that is the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.diagnose import Diagnoser
from engine.evaluate.score import Incident
from engine.inference.network import Network
from engine.inference.rank import rank
from engine.model.case import Case

INPUTS = ("report", "observations", "log", "series", "files", "contrast", "facts")


def without(case: Case, inputs: Iterable[str]) -> Case:
    """The case as it would be had nobody given these kinds of input."""
    nothing = {name: Case.model_fields[name].get_default(call_default_factory=True) for name in inputs}
    return case.model_copy(update=nothing)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What became of an incident when no cause of its family was known: ``first`` is the family that leads then."""

    incident: Incident
    first: str
    top: float
    unknown: float

    @property
    def abstained(self) -> bool:
        """Whether *unknown* stands first, as it should."""
        return self.unknown >= self.top


def leave_family_out(incidents: Sequence[Incident], diagnoser: Diagnoser) -> list[LeftOut]:
    """Rank every incident by a network that lacks the causes of its true family.

    Findings stay as they were read: what is tested is whether other causes claim what they cannot explain.
    """
    causes = list(diagnoser.knowledge.active_causes.values())
    networks: dict[str, tuple[Network, list[int]]] = {}
    results = []
    for incident in incidents:
        if incident.family not in networks:
            rows = [row for row, cause in enumerate(causes) if cause.family != incident.family]
            kept = [causes[row] for row in rows]
            built = Network.build(kept, diagnoser.knowledge.findings, diagnoser.knowledge.calibration)
            networks[incident.family] = built, rows
        network, rows = networks[incident.family]
        observed = diagnoser.collect(incident.case)
        likeness = diagnoser.resemblance(observed)[rows]
        ranking = rank(network, diagnoser.known(observed), observed.paradigm, likeness)
        totals = np.bincount(network.family_of, ranking.lead, len(network.families))
        best = int(totals.argmax())
        results.append(LeftOut(incident, network.families[best], float(totals[best]), ranking.unknown))
    return results
