"""What other services are told of a change of a case: a few hundred words at most, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.alerts.model import one_line, told_time

if TYPE_CHECKING:
    from api.cases.ranking import Ranked
    from api.cases.view import Change
    from engine.model.base import Lang

MOST_CAUSES = 3
MAX_TEXT = 500


def summary(change: Change, lang: Lang, base_url: str) -> dict[str, Any]:
    """Event, case, ranking and links."""
    event, view = change.event, change.after
    return {
        "event": {
            "seq": event.seq,
            "kind": event.body.kind,
            "at": told_time(event.at),
            "by": {"id": event.by.id, "name": one_line(event.by.name, MAX_TEXT)},
        },
        "case": {
            "id": view.id,
            "title": one_line(view.head.title, MAX_TEXT),
            "status": view.head.status,
            "cause": view.head.cause,
            "source": view.state.source.model_dump(),
            "outcome": None if view.state.outcome is None else _outcome(view.state.outcome.model_dump()),
        },
        "ranking": ranking(view.ranked, lang)
        | {"lead_changed": change.before is not None and _lead(change.before) != _lead(view.ranked)},
        "links": {"case": f"{base_url.rstrip('/')}/v1/cases/{view.id}", "source": view.state.source.url},
    }


def ranking(ranked: Ranked, lang: Lang) -> dict[str, Any]:
    """The first causes, how likely it is none that is known, and the next check."""
    data = ranked.data(lang)
    causes = [{key: cause[key] for key in ("id", "title", "probability")} for cause in data["causes"][:MOST_CAUSES]]
    checks = data["next_checks"]
    return {
        "summary": one_line(data["summary"], MAX_TEXT),
        "causes": causes,
        "unknown": data["unknown"]["probability"],
        "next": {key: checks[0][key] for key in ("id", "title")} if checks else None,
        "kb_digest": data["kb_digest"],
    }


def _lead(ranked: Ranked) -> str | None:
    causes = ranked.data("en")["causes"]
    return causes[0]["id"] if causes else None


def _outcome(outcome: dict[str, Any]) -> dict[str, Any]:
    return {key: one_line(value, MAX_TEXT) if isinstance(value, str) else value for key, value in outcome.items()}
