"""API keys: ``tt_<id>_<secret>``. The store holds the SHA-256 of a secret of 256 random bits, never the secret.

A slow hash, as passwords need, would add nothing: nobody can try out 2^256 secrets.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Float, MetaData, String, Table, Text, insert, select, update

from api.access.caller import Caller, Scope
from api.access.refusals import RefusedError
from api.store.audit_log import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

PREFIX = "tt_"
_TOKEN = re.compile(r"tt_([0-9a-f]{12})_([0-9a-f]{64})")
USED_EVERY = 3600.0  # seconds; how exactly the last use of a key is kept
KEYS = Table(
    "api_keys",
    MetaData(),
    Column("id", String(16), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("name", String(100), nullable=False),
    Column("scopes", Text, nullable=False),  # with spaces between them
    Column("digest", String(64), nullable=False),
    Column("old_digest", String(64)),  # of the secret before the last rotation
    Column("old_expiry", Float),
    Column("created", Float, nullable=False),  # all times are seconds since 1970, UTC
    Column("expiry", Float),
    Column("revoked", Float),
    Column("last_used", Float),
)


class NoSuchKeyError(Exception):
    """There is no key with this id, or it is revoked or expired."""


@dataclass(frozen=True)
class Key:
    """What is known of a key: everything but its secret. Times are seconds since 1970, UTC."""

    id: str
    tenant: str
    name: str
    scopes: tuple[str, ...]
    created: float
    expiry: float | None
    revoked: float | None
    last_used: float | None
    old_expiry: float | None

    def state(self, now: float) -> str:
        """``valid``, ``expired`` or ``revoked``."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expiry is not None and self.expiry <= now else "valid"


def create(
    connection: Connection, *, tenant: str, name: str, scopes: Iterable[Scope], expiry: float | None, now: float
) -> tuple[Key, str]:
    """A new key, and the text of it, which nobody can find out again."""
    key_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    row = {
        "id": key_id,
        "tenant": tenant,
        "name": name,
        "scopes": " ".join(sorted(set(scopes))),
        "digest": _digest(secret),
        "created": now,
        "expiry": expiry,
    }
    connection.execute(insert(KEYS).values(row))
    made = _key(_row(connection, key_id))
    _log(connection, "key.created", made, now, scopes=made.scopes, expiry=expiry)
    return made, f"{PREFIX}{key_id}_{secret}"


def rotate(connection: Connection, key_id: str, *, overlap: float, expiry: float | None, now: float) -> tuple[Key, str]:
    """A new secret for a key. The one before stays good for ``overlap`` seconds; one before that ends now.

    Raises:
        NoSuchKeyError: if there is no valid key with this id.
    """
    row = _valid(connection, key_id, now)
    secret = secrets.token_hex(32)
    until = now + overlap if row.expiry is None else min(now + overlap, row.expiry)
    values = {"digest": _digest(secret), "old_digest": row.digest, "old_expiry": until, "expiry": expiry}
    connection.execute(update(KEYS).where(KEYS.c.id == key_id).values(values))
    rotated = _key(_row(connection, key_id))
    _log(connection, "key.rotated", rotated, now, old_expiry=until, expiry=expiry)
    return rotated, f"{PREFIX}{key_id}_{secret}"


def revoke(connection: Connection, key_id: str, *, now: float) -> None:
    """End a key with all its secrets.

    Raises:
        NoSuchKeyError: if there is no valid key with this id.
    """
    key = _key(_valid(connection, key_id, now))
    connection.execute(update(KEYS).where(KEYS.c.id == key_id).values(revoked=now))
    _log(connection, "key.revoked", key, now)


def every(connection: Connection) -> list[Key]:
    """All keys, the oldest first."""
    return [_key(row) for row in connection.execute(select(KEYS).order_by(KEYS.c.created, KEYS.c.id))]


def verify(connection: Connection, token: str, *, now: float) -> tuple[Caller, str | None]:
    """Whose key ``token`` is; with its id if it is time to call :func:`note_use`.

    Raises:
        RefusedError: if it is not, or no longer, one.
    """
    written = _TOKEN.fullmatch(token)
    if written is None:
        raise RefusedError("malformed-key")
    row = _row(connection, written[1])
    if row is None:
        raise RefusedError("wrong-key")
    digest = _digest(written[2])
    is_current = hmac.compare_digest(digest, row.digest)
    is_old = hmac.compare_digest(digest, row.old_digest or "-")
    if not (is_current or is_old):
        raise RefusedError("wrong-key")
    if row.revoked is not None:  # from here on they are told more: they have, or had, the key
        raise RefusedError("revoked-key")
    expiry = row.expiry if is_current else row.old_expiry
    if expiry is not None and expiry <= now:
        raise RefusedError("expired-key")
    caller = Caller(row.tenant, f"key:{row.id}", row.name, frozenset(Scope(word) for word in row.scopes.split()))
    return caller, row.id if now - (row.last_used or 0.0) > USED_EVERY else None


def note_use(connection: Connection, key_id: str, *, now: float) -> None:
    """Keep when a key was used last."""
    connection.execute(update(KEYS).where(KEYS.c.id == key_id).values(last_used=now))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _row(connection: Connection, key_id: str) -> Any:
    return connection.execute(select(KEYS).where(KEYS.c.id == key_id)).one_or_none()


def _valid(connection: Connection, key_id: str, now: float) -> Any:
    row = _row(connection, key_id)
    if row is None or _key(row).state(now) != "valid":
        raise NoSuchKeyError(key_id)
    return row


def _key(row: Any) -> Key:
    return Key(
        id=row.id,
        tenant=row.tenant,
        name=row.name,
        scopes=tuple(row.scopes.split()),
        created=row.created,
        expiry=row.expiry,
        revoked=row.revoked,
        last_used=row.last_used,
        old_expiry=row.old_expiry,
    )


def _log(connection: Connection, action: str, key: Key, now: float, **data: Any) -> None:
    """Keys are made and ended on the command line, by whoever may write the store."""
    record(connection, at=now, tenant=key.tenant, actor="local", action=action, subject=f"key:{key.id}", data=data)
