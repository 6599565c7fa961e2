"""What can be done with a case. REST, chat, Slack, MCP, alerts and the command line all come here."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from api.cases import checks, writing
from api.cases.events import (
    Actor,
    Added,
    Answered,
    Doubted,
    Event,
    Evidence,
    Opened,
    Reopened,
    Resolved,
    Retracted,
    Source,
)
from api.cases.files import NO_FILES, Paths, evidence_of, fetch_from
from api.cases.ranking import Ranked
from api.cases.state import CaseState, state_of
from api.cases.view import CaseView, Change
from api.hidden import HIDDEN
from api.messages import say
from api.problem import Problem
from api.store import cases
from api.store.cases import Asked, Head, RevisionTakenError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy import Connection

    from api.access import Caller
    from api.cases.events import Answers, Body, Outcome
    from api.cases.ranking import Ranker
    from api.expert import Expert
    from api.settings import Settings
    from api.store import Store
    from api.submission import Submission
    from engine.model.base import Lang

ATTEMPTS = 8  # to append to a case that other processes change as well
_TITLE = 120
_NOWHERE = Source()


class Cases:
    """All cases of all tenants. Every method sees those of its caller's tenant only.

    A change is an event, the ranking after it, a row of the audit log and the jobs that follow from it, stored in one
    transaction: what was answered to the caller is on disk, and nothing of it can be there alone.

    Args:
        outbox: called in that transaction with what happened, to order jobs. It must not wait for anything.
        clock: seconds since 1970, UTC.
    """

    def __init__(
        self,
        store: Store,
        expert: Expert,
        ranker: Ranker,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._expert = expert
        self._ranker = ranker
        self._settings = settings
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.outbox: list[Callable[[Connection, Change], None]] = []

    async def open(
        self,
        caller: Caller,
        submission: Submission,
        *,
        title: str = "",
        lang: Lang = "en",
        source: Source = _NOWHERE,
        link: tuple[str, str] | None = None,
    ) -> CaseView:
        """A new case with its first ranking.

        Args:
            link: (kind, ref) that leads to the case from now on, if it leads to no open case.

        Raises:
            Problem: if the submission cannot be read; 409 ``case-changed`` if the link leads to an open case.
        """
        evidence, files = await evidence_of(submission)
        case_id, now = uuid.uuid4().hex, self._clock()
        title = shorten(HIDDEN.sub(" ", title.strip() or _title(evidence)), _TITLE, placeholder=" …")
        body = Opened(title=title, lang=lang, source=source, evidence=evidence)
        event = Event(seq=1, at=now, by=_actor(caller), body=body)
        head = Head(case_id, caller.tenant, title, "open", None, 1, now, now)
        state = state_of((event,))
        checks.require_size(state, self._settings.max_case_bytes)
        ranked = await self._ranker.rank(state, fetch_from(self._store, case_id, files))
        view = CaseView(replace(head, cause=_lead(ranked)), (event,), state, ranked)

        def work(connection: Connection) -> None:
            writing.add(connection, view.head, link)
            writing.append(connection, Change(caller, None, view), files, self.outbox)

        try:
            await self._store.run(work)
        except RevisionTakenError as error:
            raise Problem("case-changed", say("case-changed")) from error
        return view

    async def add_evidence(
        self, caller: Caller, case_id: str, submission: Submission, source: Source = _NOWHERE
    ) -> CaseView:
        """More evidence for an open case.

        Raises:
            Problem: 404 ``unknown-case``, 409 ``case-resolved``, and as :meth:`open`.
        """
        evidence, files = await evidence_of(submission)

        def body(view: CaseView) -> Body:
            checks.require_open(view)
            return Added(evidence=evidence, source=source)

        return await self.change(caller, case_id, body, files)

    async def answer(self, caller: Caller, case_id: str, answers: Answers) -> CaseView:
        """What a check or a question came to.

        Raises:
            Problem: 404, 409, or 422 for ids that the knowledge base does not have.
        """
        checks.require_known_ids(self._expert.knowledge, answers)
        if answers.facts:
            with self._expert.lease() as generation:
                checks.require_readable(generation.diagnoser, answers)

        def body(view: CaseView) -> Body:
            checks.require_open(view)
            return Answered(answers=answers)

        return await self.change(caller, case_id, body)

    async def retract(self, caller: Caller, case_id: str, seq: int, reason: str = "") -> CaseView:
        """Take back what an earlier event said.

        Raises:
            Problem: 404 ``unknown-case`` or ``unknown-event``, 409 ``case-resolved``.
        """

        def body(view: CaseView) -> Body:
            checks.require_open(view)
            checks.require_retractable(view, seq)
            return Retracted(seq=seq, reason=reason)

        return await self.change(caller, case_id, body)

    async def resolve(self, caller: Caller, case_id: str, outcome: Outcome) -> CaseView:
        """Close a case with the cause that was confirmed; a resolved case may be resolved again, better.

        Raises:
            Problem: 404, or 422 if the outcome names no cause that there is, and none in words.
        """
        checks.require_outcome(self._expert.knowledge, outcome)
        return await self.change(caller, case_id, lambda _: Resolved(outcome=outcome))

    async def reopen(self, caller: Caller, case_id: str, note: str = "") -> CaseView:
        """Open a resolved case again.

        Raises:
            Problem: 404, or 409 if it is open.
        """

        def body(view: CaseView) -> Body:
            if not view.state.is_resolved:
                raise Problem("case-open", say("case-open"))
            return Reopened(note=note)

        return await self.change(caller, case_id, body)

    async def feedback(self, caller: Caller, case_id: str, doubt: Doubted) -> CaseView:
        """Keep that somebody holds a ranked cause for wrong, or right. The ranking stays; reviews read it.

        Raises:
            Problem: 404, or 422 for a cause that there is not.
        """
        checks.require_cause(self._expert.knowledge, doubt.cause)
        return await self.change(caller, case_id, lambda _: doubt)

    async def get(self, caller: Caller, case_id: str) -> CaseView:
        """A case as it stands.

        Raises:
            Problem: 404 ``unknown-case``.
        """

        def work(connection: Connection) -> CaseView | None:
            head = cases.head(connection, caller.tenant, case_id)
            if head is None:
                return None
            events = tuple(Event.read(text) for text in cases.events(connection, case_id))
            ranking = cases.ranking(connection, case_id)
            assert ranking is not None
            return CaseView(head, events, state_of(events), Ranked.of(ranking))

        view = await self._store.read(work)
        if view is None:
            raise Problem("unknown-case", say("no-case"))
        return view

    async def find(self, caller: Caller, asked: Asked) -> list[Head]:
        """The cases asked for, newest first; one more than ``asked.limit`` if there are more."""
        return await self._store.read(lambda connection: cases.heads(connection, caller.tenant, asked))

    async def rankings(self, caller: Caller, case_id: str) -> list[cases.Ranking]:
        """Every ranking of a case in order.

        Raises:
            Problem: 404 ``unknown-case``.
        """
        await self.revision(caller, case_id)
        return await self._store.read(lambda connection: cases.rankings(connection, case_id))

    async def ranking(self, caller: Caller, case_id: str, revision: int) -> Ranked:
        """The ranking after an event.

        Raises:
            Problem: 404 ``unknown-case`` or ``unknown-event``.
        """
        last = await self.revision(caller, case_id)
        if not 1 <= revision <= last:
            raise Problem("unknown-event", say("no-event", seq=revision, count=last))
        kept = await self._store.read(lambda connection: cases.ranking(connection, case_id, revision))
        assert kept is not None
        return Ranked.of(kept)

    async def revision(self, caller: Caller, case_id: str) -> int:
        """The number of the last event.

        Raises:
            Problem: 404 ``unknown-case``.
        """
        head = await self._store.read(lambda connection: cases.head(connection, caller.tenant, case_id))
        if head is None:
            raise Problem("unknown-case", say("no-case"))
        return head.revision

    async def explain(self, caller: Caller, case_id: str, cause: str, lang: Lang) -> dict[str, Any]:
        """Why a cause leads the ranking of a case, or does not.

        Raises:
            Problem: 404 ``unknown-case``, or ``unknown-id`` if there is no such cause.
        """
        view = await self.get(caller, case_id)
        if cause not in self._expert.knowledge.active_causes:
            raise Problem("unknown-id", say("no-active-cause"))
        return await self._ranker.explain(view.state, fetch_from(self._store, case_id), cause, lang)

    async def rerank(self, view: CaseView, state: CaseState) -> Ranked:
        """The ranking of another state of the same case, by the knowledge in use; nothing is kept."""
        return await self._ranker.rank(state, fetch_from(self._store, view.id))

    async def delete(self, caller: Caller, case_id: str) -> None:
        """Delete a case with everything that was sent for it; the audit log keeps that it was there.

        Raises:
            Problem: 404 ``unknown-case``.
        """

        def work(connection: Connection) -> bool:
            return writing.remove(connection, caller, case_id, self._clock())

        if not await self._store.run(work):
            raise Problem("unknown-case", say("no-case"))

    async def linked(self, caller: Caller, kind: str, ref: str) -> str | None:
        """The case that ``ref`` leads to."""
        return await self._store.read(lambda connection: cases.linked(connection, caller.tenant, kind, ref))

    async def link(self, caller: Caller, case_id: str, kind: str, ref: str) -> None:
        """Let ``ref`` lead to a case from now on.

        Raises:
            Problem: 404 ``unknown-case``.
        """
        await self.revision(caller, case_id)
        try:
            await self._store.run(lambda connection: cases.link(connection, caller.tenant, kind, ref, case_id))
        except RevisionTakenError as error:
            raise Problem("case-changed", say("case-changed")) from error

    async def change(
        self,
        caller: Caller,
        case_id: str,
        body_of: Callable[[CaseView], Body],
        files: Paths = NO_FILES,
        complete: Callable[[CaseView, CaseView], Awaitable[Body]] | None = None,
    ) -> CaseView:
        """Append the event that ``body_of`` makes of the case as it stands; made anew if the case changed meanwhile.

        Args:
            complete: from the case before and after, the event with what only the new ranking can tell.

        Raises:
            Problem: what ``body_of`` raises; 409 ``case-changed`` if others change it faster.
        """
        lock = self._locks.setdefault(case_id, asyncio.Lock())
        async with lock:
            for _ in range(ATTEMPTS):
                view = await self.get(caller, case_id)
                after = await self._next(caller, view, body_of(view), files)
                if complete is not None:
                    last = after.events[-1].model_copy(update={"body": await complete(view, after)})
                    after = replace(after, events=(*view.events, last), state=state_of((*view.events, last)))
                try:
                    await self._store.run(partial(self._commit, Change(caller, view.ranked, after), view, files))
                except RevisionTakenError:
                    continue
                return after
        raise Problem("case-changed", say("case-changed"))

    async def _next(self, caller: Caller, view: CaseView, body: Body, files: Paths) -> CaseView:
        event = Event(seq=view.head.revision + 1, at=self._clock(), by=_actor(caller), body=body)
        events = (*view.events, event)
        state = state_of(events)
        ranked = view.ranked
        if moves(view.state, state):
            checks.require_room(state)
            checks.require_size(state, self._settings.max_case_bytes)
            ranked = await self._ranker.rank(state, fetch_from(self._store, view.id, files))
        head = replace(
            view.head,
            status="resolved" if state.is_resolved else "open",
            cause=state.outcome.cause if state.outcome is not None else _lead(ranked),
            revision=event.seq,
            updated=event.at,
        )
        return CaseView(head, events, state, ranked)

    def _commit(self, change: Change, before: CaseView, files: Paths, connection: Connection) -> None:
        cases.advance(connection, change.after.head, before.head.revision)
        writing.append(connection, change, files, self.outbox)


def moves(before: CaseState, after: CaseState) -> bool:
    """Whether a ranking has anything to go by that it had not before."""
    return (before.document, before.files, before.facts, before.passed) != (
        after.document, after.files, after.facts, after.passed,
    )  # fmt: skip


def _actor(caller: Caller) -> Actor:
    return Actor(id=caller.id, name=caller.name)


def _lead(ranked: Ranked) -> str | None:
    """The cause in the lead, if it leads unknown as well."""
    diagnosis = ranked.data("en")
    causes = diagnosis["causes"]
    return causes[0]["id"] if causes and causes[0]["probability"] > diagnosis["unknown"]["probability"] else None


def _title(evidence: Evidence) -> str:
    """The first line of the report, or the names of the files."""
    lines = str(evidence.document.get("report", "")).strip().splitlines()
    if lines:
        return lines[0]
    names = [file.name for file in evidence.files] or list(evidence.document.get("files", {}))
    names = names or [str(item["name"]) for item in evidence.document.get("observations", ())]
    return ", ".join(names) or "case"
