"""How large the knowledge base is, and where it is thin."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.knowledge.files import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.knowledge.knowledge import Knowledge


@dataclass(frozen=True)
class Stats:
    """Counts by kind of object, causes by status and area, and families that no active cause belongs to."""

    objects: dict[str, int]
    causes_by_status: dict[str, int]
    causes_by_area: dict[str, int]
    findings_by_role: dict[str, int]
    families_without_cause: tuple[str, ...]
    links_per_cause: float


def stats(knowledge: Knowledge) -> Stats:
    """Count what there is; ``links_per_cause`` is the mean over active causes, 0 without any."""
    active = knowledge.active_causes.values()
    covered = {cause.family for cause in active}
    return Stats(
        objects={kind.name: len(getattr(knowledge, kind.name)) for kind in KINDS}
        | {"families": len(knowledge.families), "lexicon": len(knowledge.lexicon)},
        causes_by_status=_counted(cause.status for cause in knowledge.causes.values()),
        causes_by_area=_counted(id_.split("/")[0] for id_ in knowledge.causes),
        findings_by_role=_counted(finding.role for finding in knowledge.findings.values()),
        families_without_cause=tuple(family for family in knowledge.families if family not in covered),
        links_per_cause=sum(len(cause.shows) for cause in active) / len(active) if active else 0.0,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
