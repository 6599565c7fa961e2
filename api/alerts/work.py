"""From a notification to a case: opened, or told what is new. Runs as a job, so it may run more than once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from api.access import Caller, Scope
from api.alerts.evidence import alert_events, document, known_names, told
from api.alerts.model import Notification
from api.alerts.words import tell
from api.cases.checks import require_open
from api.cases.events import Added, Evidence, Said, Source
from api.problem import Problem
from api.submission import Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from api.alerts.model import Alert
    from api.cases.events import Body
    from api.cases.service import Cases
    from api.cases.view import CaseView
    from api.expert import Expert
    from api.store.jobs import Job
    from engine.model.base import Lang

KIND = "alert"
MOST_MESSAGES = 100  # messages of alerts in one case: a group that never ends must not make a case without end
TRIES = 4
_AGAIN = frozenset({"case-changed", "case-resolved", "unknown-case"})
_NAMES = {"alertmanager": "Alertmanager", "grafana": "Grafana", "pagerduty": "PagerDuty", "prometheus": "Prometheus"}
_SCOPES = frozenset({Scope.CASES_READ, Scope.CASES_WRITE})


class NothingNewError(Exception):
    """The case knows it all; there is nothing to change."""


def caller_for(tenant: str, source: str) -> Caller:
    """Who changes a case because of an alert."""
    return Caller(tenant, f"alert:{source}", _NAMES[source], _SCOPES)


class AlertWork:
    """The handler of ``KIND`` jobs."""

    def __init__(self, cases: Cases, expert: Expert) -> None:
        self._cases = cases
        self._expert = expert

    async def __call__(self, job: Job) -> None:
        """Take the notification of a job.

        Raises:
            Problem: if the case cannot be changed now; the job is then run again.
        """
        note = Notification.model_validate(job.payload["notification"])
        caller = caller_for(job.tenant, note.source)
        for number in range(TRIES):
            try:
                await self._take(caller, note, job.payload["lang"])
            except Problem as problem:
                # Somebody changed, resolved or deleted the case between the look at it and the change.
                if problem.kind.slug not in _AGAIN or number == TRIES - 1:
                    raise
            else:
                return

    async def _take(self, caller: Caller, note: Notification, lang: Lang) -> None:
        if note.about and await case_of(self._cases, caller, note.about) is not None:
            # An incident that was made of a case: that it fires is no news for the case, that it ended is.
            await self._tell_end(caller, note.about, note)
            return
        case_id = await self._cases.linked(caller, note.source, note.ref)
        view = None if case_id is None else await self._cases.get(caller, case_id)
        if view is None or (view.state.is_resolved and fresh(note, view)):
            # Of a resolved case, what was looked into is over; this is another time.
            await self._open(caller, note, lang)
            return
        if fresh(note, view):
            await change(self._cases, caller, view.id, self._evidence(note))
        await self._tell_end(caller, view.id, note)

    async def _open(self, caller: Caller, note: Notification, lang: Lang) -> None:
        """A new case, if anything fires; the end of what nobody knows of is no news."""
        if not note.firing:
            return
        text = json.dumps(document(note, note.firing, known_names(self._expert.knowledge))).encode()
        link = (note.source, note.ref)
        await self._cases.open(
            caller, Submission(text, "json"), title=note.titled(), lang=lang, source=_source(note), link=link
        )

    async def _tell_end(self, caller: Caller, case_id: str, note: Notification) -> None:
        """The message that alerts ended. It resolves nothing: why they fired is not known by that."""
        if note.ended:
            await change(
                self._cases,
                caller,
                case_id,
                lambda view: message(view, [_ended(alert, view.state.lang) for alert in note.ended]),
            )

    def _evidence(self, note: Notification) -> Callable[[CaseView], Body]:
        names = known_names(self._expert.knowledge)

        def body(view: CaseView) -> Body:
            require_open(view)
            alerts = fresh(note, view)
            if not alerts:
                raise NothingNewError
            count = sum(1 for _ in alert_events(view))
            if count >= MOST_MESSAGES:
                return message(view, [tell("full", view.state.lang, count=count)])
            return Added(evidence=Evidence(document=document(note, alerts, names)), source=_source(note))

        return body


async def case_of(cases: Cases, caller: Caller, case_id: str) -> CaseView | None:
    """A case as it stands; None if there is none, or none any more.

    Raises:
        Problem: if it cannot be read now.
    """
    try:
        return await cases.get(caller, case_id)
    except Problem as problem:
        if problem.kind.slug != "unknown-case":
            raise
        return None


async def change(cases: Cases, caller: Caller, case_id: str, body: Callable[[CaseView], Body]) -> None:
    """Change a case, unless ``body`` finds nothing new to say.

    Raises:
        Problem: as :meth:`Cases.change`.
    """
    try:
        await cases.change(caller, case_id, body)
    except NothingNewError:
        return


def fresh(note: Notification, view: CaseView) -> list[Alert]:
    """The alerts that fire and that a case does not know yet."""
    known = told(view)
    return [alert for alert in note.firing if alert.id not in known]


def message(view: CaseView, lines: Sequence[str]) -> Said:
    """A message to those who look at the case, with the lines that stand in no earlier message of an alert.

    Raises:
        NothingNewError: if there is none.
    """
    said = [event.body for event in view.events if isinstance(event.body, Said) and event.by.id.startswith("alert:")]
    before = {line for body in said for line in body.text.splitlines()}
    fresh = [line for line in dict.fromkeys(lines) if line not in before]
    if not fresh or len(said) >= MOST_MESSAGES:
        raise NothingNewError
    # The question that is open in the dialogue stays open.
    return Said(text="\n".join(fresh), lang=view.state.lang)


def _ended(alert: Alert, lang: Lang) -> str:
    title = f"{alert.name} ({alert.place})" if alert.place else alert.name
    at = tell("at", lang, time=_time(alert.ended)) if alert.ended is not None else ""
    since = tell("since", lang, time=_time(alert.started)) if alert.started is not None else ""
    return tell("ended", lang, at=at, title=title, since=since)


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _source(note: Notification) -> Source:
    return Source(kind=note.source, ref=note.ref, url=note.url)
