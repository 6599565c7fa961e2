"""The past of a case: what happened with which effect, and the same once more by the knowledge of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from api.cases.out import Lead, Moment, Replay, Replayed, Timeline, moment
from api.cases.ranking import Ranked
from api.cases.state import state_of
from api.cases.wording import told
from engine import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from api.access import Caller
    from api.cases.service import Cases
    from api.cases.view import CaseView
    from api.store.cases import Ranking
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

SHOWN = 3


async def timeline(cases: Cases, caller: Caller, case_id: str, knowledge: Knowledge, lang: Lang) -> Timeline:
    """Every event with the ranking after it.

    Raises:
        Problem: 404 ``unknown-case``.
    """
    view = await cases.get(caller, case_id)
    rankings = await cases.rankings(caller, case_id)
    return Timeline(id=case_id, moments=list(_moments(view, rankings, knowledge, lang)))


async def replay(cases: Cases, caller: Caller, case_id: str, knowledge: Knowledge) -> Replay:
    """Work out every ranking again from the events alone, and compare it byte for byte with the one that was kept.

    Raises:
        Problem: 404 ``unknown-case``.
    """
    view = await cases.get(caller, case_id)
    rankings = await cases.rankings(caller, case_id)
    results = []
    for kept in rankings:
        again = await cases.rerank(view, state_of(view.events[: kept.revision]))
        leads = [_lead(ranked.data("en")) for ranked in (Ranked.of(kept), again)]
        results.append(
            Replayed(
                revision=kept.revision,
                kept=kept.digest,
                replayed=again.digest,
                same=kept.digest == again.digest == Ranked.of(kept).digest,
                lead=leads[0][0].cause if leads[0] else None,
                leads_now=leads[1][0].cause if leads[1] else None,
            )
        )
    used = (knowledge.digest, __version__)
    return Replay(
        id=case_id,
        same=all(result.same for result in results),
        same_knowledge=all((kept.kb_digest, kept.engine_version) == used for kept in rankings),
        kb_digest=knowledge.digest,
        rankings=results,
    )


def _moments(view: CaseView, rankings: Sequence[Ranking], knowledge: Knowledge, lang: Lang) -> Iterator[Moment]:
    by_revision = {kept.revision: (kept, Ranked.of(kept).data(lang)) for kept in rankings}
    kept, diagnosis = by_revision[rankings[0].revision]
    for event in view.events:
        kept, diagnosis = by_revision.get(event.seq, (kept, diagnosis))
        yield Moment(
            seq=event.seq,
            at=moment(event.at),
            by=event.by,
            kind=event.body.kind,
            what=told(event.body, knowledge, lang),
            retracted=event.seq in view.state.retracted,
            lead=_lead(diagnosis),
            unknown=diagnosis["unknown"]["probability"],
            kb_digest=kept.kb_digest,
            digest=kept.digest,
        )


def _lead(diagnosis: Mapping[str, Any]) -> list[Lead]:
    causes = diagnosis["causes"][:SHOWN]
    return [Lead(cause=cause["id"], title=cause["title"], probability=cause["probability"]) for cause in causes]
