"""The audit log: who did what to what, in rows that are only ever added, each bound to all before it by a hash.

A row's hash is SHA-256 over the hash of the row before and the canonical JSON of the row itself, so a row cannot be
changed, left out or moved without every later hash being wrong. Texts of a case never go into the log, only digests
of them: the log outlives the case.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text, insert, select, update

from engine.audit.signing import AttestError, opened, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

START = "0" * 64  # what stands for the hash of the row before the first
CHECKPOINT_TYPE = "application/vnd.traintriage.audit-log-checkpoint+json"
MOST_PROBLEMS = 100
_BATCH = 1000  # rows in memory at a time
_METADATA = MetaData()
LOG = Table(
    "audit_log",
    _METADATA,
    Column("seq", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3 without gaps
    Column("at", Float, nullable=False),  # seconds since 1970, UTC
    Column("tenant", String(64), nullable=False),
    Column("actor", String(400), nullable=False),  # the id of a caller
    Column("action", String(64), nullable=False),
    Column("subject", String(400), nullable=False),  # the id of what was acted on
    Column("data", Text, nullable=False),  # canonical JSON
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)
HEAD = Table(
    "audit_log_head",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("size", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
)


def record(
    connection: Connection,
    *,
    at: float,
    tenant: str,
    actor: str,
    action: str,
    subject: str,
    data: Mapping[str, Any],
) -> None:
    """Add a row in the caller's transaction. Best called last in it: from here on, other writers of the log wait.

    Args:
        at: seconds since 1970, UTC.
        data: JSON values; digests, numbers and ids, never what somebody wrote.
    """
    # The update locks the head's row until the transaction ends, on PostgreSQL too: rows get their place one by one.
    grown = update(HEAD).values(size=HEAD.c.size + 1).returning(HEAD.c.size, HEAD.c.hash)
    seq, previous = connection.execute(grown).one()
    row = {
        "seq": seq,
        "at": float(at),
        "tenant": tenant,
        "actor": actor,
        "action": action,
        "subject": subject,
        "data": canonical(data),
    }
    digest = row_hash(previous, row)
    connection.execute(insert(LOG).values(**row, previous=previous, hash=digest))
    connection.execute(update(HEAD).values(hash=digest))


@dataclass(frozen=True)
class Checkpoint:
    """How long the log was at a time (seconds since 1970, UTC), and the hash of its last row."""

    size: int
    hash: str
    at: float


@dataclass(frozen=True)
class Verified:
    """The log as it is, and what is wrong with it: nothing exactly if every row is there as it was written."""

    size: int
    hash: str
    problems: tuple[str, ...]


def verify(connection: Connection, checkpoints: Sequence[Checkpoint] = ()) -> Verified:
    """Follow the chain from the first row to the last; see that the log still holds what it held at checkpoints.

    Whoever can write to the database can cut off the last rows and set the head back: only a checkpoint kept
    elsewhere shows that.
    """
    problems: list[str] = []
    last, previous = 0, START
    for row in entries(connection):
        problems += _faults(row, last, previous)
        last, previous = row["seq"], row["hash"]
        if len(problems) > MOST_PROBLEMS:
            return Verified(last, previous, (*problems[:MOST_PROBLEMS], "there is more; the rest was not looked at"))
    found = connection.execute(select(HEAD.c.size, HEAD.c.hash)).first()
    if found is None or tuple(found) != (last, previous):
        problems.append(
            f"the head does not stand for row {last}, the last one: rows behind it are missing, or it is wrong"
        )
    faults = (fault_of(connection, checkpoint) for checkpoint in checkpoints)
    problems += list(islice((fault for fault in faults if fault is not None), MOST_PROBLEMS))
    return Verified(last, previous, tuple(problems))


def fault_of(connection: Connection, checkpoint: Checkpoint) -> str | None:
    """What is wrong with the row that a checkpoint was made at; None if it is the one."""
    if checkpoint.size == 0:
        return None
    found = connection.execute(select(LOG.c.hash).where(LOG.c.seq == checkpoint.size)).scalar()
    if found is None:
        return f"the checkpoint was made at row {checkpoint.size}, which is not there: the log was cut off"
    if found != checkpoint.hash:
        return f"row {checkpoint.size} is not the one that the checkpoint was made at: the log was written anew"
    return None


def entries(connection: Connection, after: int = 0) -> Iterator[RowMapping]:
    """The rows behind ``after``, in order."""
    while True:
        query = select(LOG).where(LOG.c.seq > after).order_by(LOG.c.seq).limit(_BATCH)
        rows = connection.execute(query).mappings().all()
        yield from rows
        if len(rows) < _BATCH:
            return
        after = rows[-1]["seq"]


def head(connection: Connection) -> tuple[int, str]:
    """How many rows there are, and the hash of the last."""
    size, digest = connection.execute(select(HEAD.c.size, HEAD.c.hash)).one()
    return size, digest


def latest(
    connection: Connection, limit: int, tenant: str | None = None, subject: str | None = None
) -> list[RowMapping]:
    """The last rows, oldest first; of one tenant or about one subject if named."""
    query = select(LOG).order_by(LOG.c.seq.desc()).limit(limit)
    if tenant is not None:
        query = query.where(LOG.c.tenant == tenant)
    if subject is not None:
        query = query.where(LOG.c.subject == subject)
    return list(reversed(connection.execute(query).mappings().all()))


def sign_checkpoint(checkpoint: Checkpoint, private_key: bytes) -> bytes:
    """The checkpoint in an envelope signed with an Ed25519 key (PEM), as JSON.

    Raises:
        AttestError: if the key is none.
    """
    return signed(canonical(checkpoint.__dict__).encode(), CHECKPOINT_TYPE, private_key)


def read_checkpoint(envelope: bytes, public_key: bytes) -> Checkpoint:
    """The checkpoint that :func:`sign_checkpoint` wrote.

    Raises:
        AttestError: if it cannot be read, or the key did not sign it.
    """
    found = opened(envelope, CHECKPOINT_TYPE, public_key)
    if not found.valid:
        raise AttestError("this key did not sign the checkpoint: it proves nothing")
    return Checkpoint(**json.loads(found.payload))


def canonical(value: Any) -> str:
    """JSON with sorted keys, without spaces, in ASCII: the same bytes for the same value, on every database.

    Raises:
        ValueError: for numbers that are not finite.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def row_hash(previous: str, row: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the previous hash and the canonical JSON of ``row`` (seq to data)."""
    return hashlib.sha256(previous.encode() + canonical(dict(row)).encode()).hexdigest()


def _faults(row: RowMapping, last: int, previous: str) -> Iterator[str]:
    seq = row["seq"]
    if seq != last + 1:
        missing = f"row {last + 1} is" if seq == last + 2 else f"rows {last + 1} to {seq - 1} are"
        yield f"{missing} missing"
    elif row["previous"] != previous:
        yield f"row {seq} does not follow row {last}: one of the two is not the one that was written"
    content = {name: row[name] for name in ("seq", "at", "tenant", "actor", "action", "subject", "data")}
    if row["hash"] != row_hash(row["previous"], content):
        yield f"row {seq} was changed"
