"""What can be wrong with the store itself: told to callers without details, and to those who run it in one line."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from api.problem import Problem
from api.problems import KINDS

# https://www.sqlite.org/rescode.html: the primary code is the lowest byte.
_SQLITE = {
    sqlite3.SQLITE_BUSY: "another process has held the lock for too long",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; put a backup in its place",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; see that its folder exists and can be written",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
}
# https://www.postgresql.org/docs/current/errcodes-appendix.html: a state, or its class of two characters.
_POSTGRESQL = {
    "08": "the connection to the server broke",
    "25006": "the server takes no writes now",
    "28": "the server refuses this user or password",
    "3D000": "the server has no such database; create it",
    "40": "other transactions were in the way each time",
    "42501": "the user may not do this in the database",
    "53": "the server is short of memory or connections",
    "55P03": "another process has held the lock for too long",
    "57": "the server shuts down, starts up or cancelled the statement",
    "58": "the server cannot read or write its files",
}
_POSTGRESQL_FULL, _RETRIED = "53100", ("40001", "40P01")  # disk full; serialisation failure, deadlock


class StoreError(Problem):
    """The store cannot do its work now. ``str()`` is one line for those who run the service."""

    def __init__(self, reason: str, slug: str = "store-unavailable") -> None:
        super().__init__(slug, KINDS[slug].meaning)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def store_error(error: Exception) -> StoreError | None:
    """What ``error`` says about the store; None if it is rather the fault of who used it."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(error, NoConnectionError):
        return StoreError("all connections are in use")
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return StoreError("the disk is full", "store-full")
        return StoreError(_SQLITE[code]) if code in _SQLITE else None
    state = getattr(cause, "sqlstate", None) or ""
    if state == _POSTGRESQL_FULL:
        return StoreError("the disk of the server is full", "store-full")
    reason = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
    if reason is not None:
        return StoreError(reason)
    if isinstance(cause, OSError) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return StoreError("the server cannot be reached")
    return None


def may_be_retried(error: Exception) -> bool:
    """Whether the database gave up the transaction only because of another one at the same time."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _RETRIED
