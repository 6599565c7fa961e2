"""Cases in the database: events, rankings, files and links. Every function works inside the caller's transaction."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection, RowMapping

_DATA = MetaData()
CASES = Table(
    "cases",
    _DATA,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("title", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("cause", String(200)),  # the confirmed one, else the one in the lead
    Column("revision", Integer, nullable=False),
    Column("created", Float, nullable=False),  # seconds since 1970, UTC
    Column("updated", Float, nullable=False),
)
EVENTS = Table(
    "case_events",
    _DATA,
    Column("case_id", String(32), ForeignKey("cases.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("event", LargeBinary, nullable=False),
)
RANKINGS = Table(
    "case_rankings",
    _DATA,
    Column("case_id", String(32), ForeignKey("cases.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("kb_digest", String(64), nullable=False),
    Column("engine_version", String(32), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("en", LargeBinary, nullable=False),
    Column("zh", LargeBinary, nullable=False),
)
FILES = Table(
    "case_files",
    _DATA,
    Column("case_id", String(32), ForeignKey("cases.id", ondelete="CASCADE"), primary_key=True),
    Column("sha256", String(64), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("piece", LargeBinary, nullable=False),
)
LINKS = Table(
    "case_links",
    _DATA,
    Column("tenant", String(64), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("ref", String(400), primary_key=True),
    Column("case_id", String(32), ForeignKey("cases.id", ondelete="CASCADE"), nullable=False),
)
PIECE = 1 << 20  # bytes of a file in one row: what one process holds of it at a time


class RevisionTakenError(Exception):
    """Somebody else changed the case meanwhile."""


@dataclass(frozen=True)
class Head:
    """The row of a case; times are seconds since 1970, UTC."""

    id: str
    tenant: str
    title: str
    status: str
    cause: str | None
    revision: int
    created: float
    updated: float


@dataclass(frozen=True)
class Ranking:
    """The diagnosis after a revision, as JSON in both languages; ``digest`` is the SHA-256 of the two texts."""

    revision: int
    kb_digest: str
    engine_version: str
    digest: str
    en: bytes
    zh: bytes


@dataclass(frozen=True)
class Asked:
    """Which cases are asked for, newest first. ``after`` is (updated, id) of the last one seen."""

    status: str | None = None
    cause: str | None = None
    words: str = ""
    after: tuple[float, str] | None = None
    limit: int = 50


def add(connection: Connection, head: Head) -> None:
    """Store a new case."""
    connection.execute(insert(CASES).values(head.__dict__))


def advance(connection: Connection, head: Head, revision: int) -> None:
    """Put ``head`` in the place of the case that had ``revision``.

    Raises:
        RevisionTakenError: if it has another one by now, or is gone.
    """
    changed = connection.execute(
        update(CASES)
        .where(CASES.c.id == head.id, CASES.c.tenant == head.tenant, CASES.c.revision == revision)
        .values(status=head.status, cause=head.cause, revision=head.revision, updated=head.updated)
    )
    if changed.rowcount != 1:
        raise RevisionTakenError


def add_event(connection: Connection, case_id: str, seq: int, at: float, kind: str, text: bytes) -> None:
    """Append an event.

    Raises:
        RevisionTakenError: if there is one with that number.
    """
    row = {"case_id": case_id, "seq": seq, "at": at, "kind": kind, "event": zlib.compress(text, 1)}
    try:
        connection.execute(insert(EVENTS).values(row))
    except IntegrityError as error:
        raise RevisionTakenError from error


def add_ranking(connection: Connection, case_id: str, ranking: Ranking) -> None:
    """Store the ranking of a revision."""
    texts = {"en": zlib.compress(ranking.en, 1), "zh": zlib.compress(ranking.zh, 1)}
    connection.execute(insert(RANKINGS).values({**ranking.__dict__, **texts, "case_id": case_id}))


def head(connection: Connection, tenant: str, case_id: str) -> Head | None:
    """The row of a case of ``tenant``."""
    row = connection.execute(select(CASES).where(CASES.c.id == case_id, CASES.c.tenant == tenant)).mappings().first()
    return None if row is None else Head(**row)


def events(connection: Connection, case_id: str) -> list[bytes]:
    """The events of a case in order."""
    query = select(EVENTS.c.event).where(EVENTS.c.case_id == case_id).order_by(EVENTS.c.seq)
    return [zlib.decompress(text) for text in connection.execute(query).scalars()]


def ranking(connection: Connection, case_id: str, revision: int | None = None) -> Ranking | None:
    """The ranking that held at a revision (default: that holds now)."""
    query = select(RANKINGS).where(RANKINGS.c.case_id == case_id)
    if revision is not None:
        query = query.where(RANKINGS.c.revision <= revision)
    row = connection.execute(query.order_by(RANKINGS.c.revision.desc()).limit(1)).mappings().first()
    return None if row is None else _ranking(row)


def rankings(connection: Connection, case_id: str) -> list[Ranking]:
    """All rankings of a case in order."""
    rows = connection.execute(select(RANKINGS).where(RANKINGS.c.case_id == case_id).order_by(RANKINGS.c.revision))
    return [_ranking(row) for row in rows.mappings()]


def heads(connection: Connection, tenant: str, asked: Asked) -> list[Head]:
    """The cases of ``tenant`` that are asked for; one more than the limit if there are more."""
    query = select(CASES).where(CASES.c.tenant == tenant)
    if asked.status is not None:
        query = query.where(CASES.c.status == asked.status)
    if asked.cause is not None:
        query = query.where(CASES.c.cause == asked.cause)
    if asked.words:
        query = query.where(func.lower(CASES.c.title).contains(asked.words.lower(), autoescape=True))
    if asked.after is not None:
        updated, case_id = asked.after
        query = query.where(or_(CASES.c.updated < updated, and_(CASES.c.updated == updated, CASES.c.id < case_id)))
    query = query.order_by(CASES.c.updated.desc(), CASES.c.id.desc()).limit(asked.limit + 1)
    return [Head(**row) for row in connection.execute(query).mappings()]


def remove(connection: Connection, tenant: str, case_id: str) -> bool:
    """Delete a case with its events, rankings, files and links; whether there was one."""
    gone = connection.execute(delete(CASES).where(CASES.c.id == case_id, CASES.c.tenant == tenant))
    return gone.rowcount > 0


def add_file(connection: Connection, case_id: str, sha256: str, pieces: Iterable[bytes]) -> None:
    """Store a file piece by piece, unless the case has it."""
    known = select(FILES.c.number).where(FILES.c.case_id == case_id, FILES.c.sha256 == sha256).limit(1)
    if connection.execute(known).first() is not None:
        return
    for number, piece in enumerate(pieces):
        row = {"case_id": case_id, "sha256": sha256, "number": number, "piece": zlib.compress(piece, 1)}
        connection.execute(insert(FILES).values(row))


def pieces(connection: Connection, case_id: str, sha256: str) -> Iterator[bytes]:
    """The bytes of a file, piece by piece."""
    rows = select(FILES.c.piece).where(FILES.c.case_id == case_id, FILES.c.sha256 == sha256).order_by(FILES.c.number)
    for piece in connection.execution_options(yield_per=1).execute(rows).scalars():
        yield zlib.decompress(piece)


def link(connection: Connection, tenant: str, kind: str, ref: str, case_id: str) -> None:
    """Let ``ref`` lead to a case; it leads to one only, so it no longer leads to another.

    Raises:
        RevisionTakenError: if somebody else links it at the same moment.
    """
    moved = connection.execute(update(LINKS).where(*_is_link(tenant, kind, ref)).values(case_id=case_id))
    if moved.rowcount:
        return
    try:
        with connection.begin_nested():
            connection.execute(insert(LINKS).values(tenant=tenant, kind=kind, ref=ref, case_id=case_id))
    except IntegrityError as error:
        raise RevisionTakenError from error


def linked(connection: Connection, tenant: str, kind: str, ref: str) -> str | None:
    """The case that ``ref`` leads to."""
    query = select(LINKS.c.case_id).where(*_is_link(tenant, kind, ref))
    return connection.execute(query).scalar_one_or_none()


def links_of(connection: Connection, case_id: str) -> Sequence[tuple[str, str]]:
    """All (kind, ref) that lead to a case."""
    query = select(LINKS.c.kind, LINKS.c.ref).where(LINKS.c.case_id == case_id).order_by(LINKS.c.kind, LINKS.c.ref)
    return [(row.kind, row.ref) for row in connection.execute(query)]


def _is_link(tenant: str, kind: str, ref: str) -> tuple[Any, ...]:
    return LINKS.c.tenant == tenant, LINKS.c.kind == kind, LINKS.c.ref == ref


def _ranking(row: RowMapping) -> Ranking:
    values = {name: row[name] for name in ("revision", "kb_digest", "engine_version", "digest")}
    return Ranking(**values, en=zlib.decompress(row["en"]), zh=zlib.decompress(row["zh"]))
