"""A change of a case in the caller's transaction: all of it, or nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from api.cases.events import Added, Opened, Said
from api.cases.files import pieces_of
from api.store import audit_log, cases
from api.store.cases import RevisionTakenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import Connection

    from api.access import Caller
    from api.cases.events import Event, FileRef
    from api.cases.files import Paths
    from api.cases.view import Change
    from api.store.cases import Head


def add(connection: Connection, head: Head, link: tuple[str, str] | None) -> None:
    """A new case, with what leads to it.

    Raises:
        RevisionTakenError: if the link leads to an open case.
    """
    cases.add(connection, head)
    if link is None:
        return
    linked = cases.linked(connection, head.tenant, *link)
    other = cases.head(connection, head.tenant, linked) if linked is not None else None
    if other is not None and other.status == "open":
        raise RevisionTakenError
    cases.link(connection, head.tenant, *link, head.id)


def append(
    connection: Connection,
    change: Change,
    files: Paths,
    outbox: Iterable[Callable[[Connection, Change], None]],
) -> None:
    """The event, its files, the ranking if it is another, the jobs that follow, and the row of the audit log."""
    event, case_id, ranked = change.event, change.after.id, change.after.ranked
    text = event.text()
    cases.add_event(connection, case_id, event.seq, event.at, event.body.kind, text)
    for ref in _refs_of(event):
        cases.add_file(connection, case_id, ref.sha256, pieces_of(files[ref.sha256]))
    if ranked is not change.before:
        row = cases.Ranking(
            event.seq, ranked.kb_digest, ranked.engine_version, ranked.digest, ranked.texts["en"], ranked.texts["zh"]
        )
        cases.add_ranking(connection, case_id, row)
    for notice in outbox:
        notice(connection, change)
    kept = {"seq": event.seq, "event": hashlib.sha256(text).hexdigest(), "ranking": ranked.digest}
    _record(connection, change.caller, event.at, f"case.{event.body.kind}", case_id, kept)


def remove(connection: Connection, caller: Caller, case_id: str, at: float) -> bool:
    """Delete a case with everything that belongs to it; whether there was one."""
    if not cases.remove(connection, caller.tenant, case_id):
        return False
    _record(connection, caller, at, "case.deleted", case_id, {})
    return True


def _record(
    connection: Connection, caller: Caller, at: float, action: str, case_id: str, data: Mapping[str, Any]
) -> None:
    audit_log.record(
        connection, at=at, tenant=caller.tenant, actor=caller.id, action=action, subject=case_id, data=data
    )


def _refs_of(event: Event) -> tuple[FileRef, ...]:
    return event.body.evidence.files if isinstance(event.body, Opened | Added | Said) else ()
