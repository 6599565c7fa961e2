"""What is said of a cause in every case, worked out once: most of an answer is the knowledge base's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.inference.plan import remedies
from engine.model.base import Lang
from engine.model.calibration import Calibration
from engine.model.kb import Cause, Finding, Remedy

Part = dict[str, Any]
"""A part of the answer as plain data: every key of its model in ``engine.model.diagnosis``, in the same order."""


@dataclass(frozen=True, slots=True)
class CauseTemplate:
    """What the answer says of a cause in any case, in one language: its keys in order, what a case adds still None."""

    texts: Part
    shows: frozenset[str]
    groups: frozenset[str | None]
    mostly_shows: tuple[str, ...]
    remedies: tuple[tuple[Part, float], ...]  # with the share of what it repairs


def template_of(cause: Cause, findings: Mapping[str, Finding], calibration: Calibration, lang: Lang) -> CauseTemplate:
    """The template of a cause in one language."""
    shows = frozenset(link.finding for link in cause.shows)
    texts: Part = {
        "id": cause.id,
        "family": cause.family,
        "title": cause.title.get(lang),
        "meaning": cause.meaning.get(lang),
        "station": cause.station,
        "probability": None,
        "marginal": None,
        "status": cause.status,
        "expected": cause.expected,
        "resembles": None,
        "resembles_by": None,
        "evidence_for": None,
        "evidence_against": None,
        "not_explained": None,
        "not_confirmed": None,
        "confused_with": [
            {"cause": other.cause, "boundary": other.boundary.get(lang)} for other in cause.confused_with
        ],
        "impact": cause.impact.get(lang),
        "blind_spots": cause.blind_spots.get(lang),
        "remedies": None,
        "references": [{"title": ref.title, "url": ref.url} for ref in cause.references],
    }
    return CauseTemplate(
        texts,
        shows,
        frozenset(findings[finding].group for finding in shows) - {None},
        tuple(link.finding for link in cause.shows if link.how in ("always", "usually")),
        tuple((_remedy(remedy, lang), share) for remedy, share in remedies(cause, calibration)),
    )


def _remedy(remedy: Remedy, lang: Lang) -> Part:
    return {
        "do": remedy.do.get(lang),
        "chance": None,
        "minutes": float(remedy.minutes),  # a default is not validated
        "risk": remedy.risk,
        "undo": remedy.undo.get(lang) if remedy.undo else None,
    }
