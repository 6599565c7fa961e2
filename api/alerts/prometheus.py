"""The series around an alert, from the Prometheus server of the settings; a job that follows the alert's own.

The alert is in its case before anything is asked. A server that does not answer is asked again, and in the end the
case says that it did not.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from api.alerts.evidence import SOURCES, alert_events, alerts_of
from api.alerts.words import tell
from api.alerts.work import NothingNewError, caller_for, case_of, change, message
from api.cases.checks import require_open
from api.cases.events import Added, Evidence, Opened, Source
from api.documents import load_json
from api.outbound import OutboundError
from api.problem import Problem
from api.store import jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import SecretStr
    from sqlalchemy import Connection

    from api.alerts.model import Alert
    from api.alerts.queries import Queries
    from api.cases.events import Body
    from api.cases.service import Cases
    from api.cases.view import CaseView, Change
    from api.outbound import Outbound
    from api.store.jobs import Job

KIND = "alert.series"
TRIES = 3
MOST_FETCHES = 5  # of one case: the first alerts of a group tell what the later ones repeat
MOST_REQUESTS = 24  # of one fetch
MOST_TRACKS = 256  # series in one answer, such as one for each card
MOST_BYTES = 4 * 1024 * 1024
AT_ONCE = 4
FILE = "prometheus.json"


@dataclass(frozen=True)
class Ask:
    """A range query; times are seconds since 1970."""

    series: str
    query: str
    start: float
    end: float


class SeriesWork:
    """Orders the fetching of series for alerts, and does it.

    Args:
        url: base URL of the server, without ``/api/v1``.
        seconds: that one query may take.
        clock: seconds since 1970, UTC.
    """

    def __init__(
        self,
        cases: Cases,
        outbound: Outbound,
        queries: Queries,
        url: str,
        token: SecretStr | None,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._cases = cases
        self._outbound = outbound
        self._queries = queries
        self._url = url.rstrip("/") + "/api/v1/query_range"
        self._headers = {"Authorization": f"Bearer {token.get_secret_value()}"} if token is not None else {}
        self._seconds = seconds
        self._clock = clock

    def order(self, connection: Connection, change_: Change) -> None:
        """Let the series of new alerts be fetched; for the outbox of the cases."""
        view, body = change_.after, change_.event.body
        if not isinstance(body, Opened | Added) or body.source.kind not in SOURCES:
            return
        if change_.caller.tenant != self._queries.tenant or sum(1 for _ in alert_events(view)) > MOST_FETCHES:
            return
        seq = change_.event.seq
        key = f"{KIND}/{view.id}/{seq}"
        jobs.enqueue(connection, KIND, {"case": view.id, "seq": seq}, tenant=change_.caller.tenant, key=key)

    async def __call__(self, job: Job) -> None:
        """Fetch the series of one message of alerts.

        Raises:
            OutboundError: if something could not be fetched, and there will be another try.
        """
        caller = caller_for(job.tenant, "prometheus")
        case_id, seq = job.payload["case"], job.payload["seq"]
        view = await case_of(self._cases, caller, case_id)
        if view is None or view.state.is_resolved or _is_fetched(view, seq):
            return
        results, failures = await self._fetch(self._asks(alerts_of(view.events[seq - 1])))
        if failures and job.attempts < TRIES:
            raise OutboundError(failures[0])
        if results:
            await self._tell(case_id, caller, _evidence(results, seq))
        if failures:
            await self._tell(case_id, caller, _failure(failures[0], seq))

    async def _tell(self, case_id: str, caller: Any, body: Callable[[CaseView], Body]) -> None:
        try:
            await change(self._cases, caller, case_id, body)
        except Problem as problem:
            if problem.kind.slug not in {"case-resolved", "unknown-case"}:
                raise

    def _asks(self, alerts: Sequence[Alert]) -> list[Ask]:
        window, now = self._queries.window_minutes * 60, self._clock()
        asks: dict[tuple[str, str], Ask] = {}
        for query in self._queries.queries:
            for alert in alerts:
                if query.alerts and alert.name not in query.alerts:
                    continue
                filled = query.filled({"alertname": alert.name, **alert.labels})
                if filled is not None and (query.series, filled) not in asks:
                    start = now if alert.started is None else min(alert.started, now)
                    asks[query.series, filled] = Ask(query.series, filled, start - window, min(start + window, now))
        return [*asks.values()][:MOST_REQUESTS]

    async def _fetch(self, asks: Sequence[Ask]) -> tuple[list[dict[str, Any]], list[str]]:
        """What was found, and why other things were not."""
        free = asyncio.Semaphore(AT_ONCE)

        async def one(ask: Ask) -> list[dict[str, Any]] | str:
            async with free:
                try:
                    return await self._ask(ask)
                except OutboundError as error:
                    return str(error)

        answers = await asyncio.gather(*map(one, asks))
        results = [item for answer in answers if not isinstance(answer, str) for item in answer]
        return results, list(dict.fromkeys(answer for answer in answers if isinstance(answer, str)))

    async def _ask(self, ask: Ask) -> list[dict[str, Any]]:
        params = {
            "query": ask.query,
            "start": f"{ask.start:.3f}",
            "end": f"{ask.end:.3f}",
            "step": f"{self._queries.step_seconds:g}",
        }
        answer = await self._outbound.send(
            "GET", self._url, params=params, headers=self._headers, seconds=self._seconds, most_bytes=MOST_BYTES
        )
        if answer.status != 200:
            raise OutboundError(f"it answered with HTTP status {answer.status}")
        return [{**item, "metric": {**item["metric"], "__name__": ask.series}} for item in _matrix(answer.content)]


def _matrix(content: bytes) -> list[dict[str, Any]]:
    """The series of an answer.

    Raises:
        OutboundError: if it is none of a range query.
    """
    try:
        data = load_json(content)["data"]
        items = data["result"] if data["resultType"] == "matrix" else None
    except (Problem, KeyError, TypeError) as error:
        raise OutboundError("its answer is not that of Prometheus") from error
    if not isinstance(items, list):
        raise OutboundError("its answer is not that of a range query")
    return [
        {"metric": item["metric"], "values": item["values"]}
        for item in items[:MOST_TRACKS]
        if isinstance(item, dict) and isinstance(item.get("metric"), dict) and isinstance(item.get("values"), list)
    ]


def _is_fetched(view: CaseView, seq: int) -> bool:
    sources = (event.body.source for event in view.events if isinstance(event.body, Added))
    return any(source.kind == "prometheus" and source.ref == str(seq) for source in sources)


def _evidence(results: list[dict[str, Any]], seq: int) -> Callable[[CaseView], Body]:
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": results}}, ensure_ascii=False)

    def body(view: CaseView) -> Body:
        require_open(view)
        if _is_fetched(view, seq):
            raise NothingNewError
        return Added(
            evidence=Evidence(document={"files": {FILE: text}}), source=Source(kind="prometheus", ref=str(seq))
        )

    return body


def _failure(reason: str, seq: int) -> Callable[[CaseView], Body]:
    def body(view: CaseView) -> Body:
        return message(view, [tell("no-series", view.state.lang, seq=seq, reason=reason)])

    return body
