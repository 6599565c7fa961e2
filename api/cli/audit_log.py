"""``traintriage audit-log``: see that nothing in the log of who did what was changed, and sign how it stands."""

from __future__ import annotations

import datetime
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from api.cli import FOUND, Problem
from api.cli.store import STORE, read_store
from api.reports.text import visible
from engine.audit.signing import AttestError

if TYPE_CHECKING:
    from api.store.audit_log import Checkpoint, Verified

T = TypeVar("T")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("audit-log")
def command() -> None:
    """The log of every change: who, when, what. Each row is bound to those before it by a hash."""


@command.command("verify")
@STORE
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="A signed checkpoint, or a folder of them; shows also whether rows were cut off at the end.",
)
@click.option("--key", type=_FILE, help="Public Ed25519 key (PEM) that they were signed with.")
@_JSON
def verify(store: str | None, against: Path | None, key: Path | None, as_json: bool) -> None:
    """Follow the log from its first row to its last.

    Exit codes: 0 every row is there as it was written, 1 not so, 2 wrong use or a store that cannot be read.
    """
    if (against is None) != (key is None):
        raise Problem("wrong use", "--against and --key FILE go together")
    checkpoints = _checkpoints(against, key) if against is not None and key is not None else []
    found = _verified(store, checkpoints)
    if as_json:
        problems = list(found.problems)
        told = {"rows": found.size, "hash": found.hash, "checkpoints": len(checkpoints)}
        click.echo(json.dumps({**told, "verified": not problems, "problems": problems}))
    else:
        _tell(found)
        if not found.problems and not checkpoints:
            click.echo(
                "Rows cut off at the end do not show without a checkpoint: see traintriage audit-log checkpoint."
            )
        elif not found.problems:
            click.echo(f"It holds what it held at {len(checkpoints)} signed checkpoints; {_newest(checkpoints)}.")
    raise SystemExit(FOUND if found.problems else 0)


@command.command("checkpoint")
@STORE
@click.option("--key", required=True, type=_FILE, help="Private Ed25519 key (PEM); traintriage audit keygen makes one.")
@click.option("--output", required=True, type=_FILE, help="Write the checkpoint here, then keep it elsewhere.")
def checkpoint(store: str | None, key: Path, output: Path) -> None:
    """Verify the log, and sign how many rows it has and the hash of the last.

    Exit codes: 0 signed, 1 the log is not as it was written, 2 wrong use or a store that cannot be read.
    """
    from api.store.audit_log import Checkpoint, sign_checkpoint

    private = _read(key)
    found = _verified(store, [])
    _tell(found)
    if found.problems:
        raise SystemExit(FOUND)
    try:
        output.write_bytes(sign_checkpoint(Checkpoint(found.size, found.hash, time.time()), private))
    except AttestError as error:
        raise Problem("cannot sign", str(error)) from None
    except OSError as error:
        raise Problem("cannot write", f"{output}: {error.strerror}") from None


@command.command("show")
@STORE
@click.option("--tenant", help="Only rows of this tenant.")
@click.option("--subject", help="Only rows about this, for instance the id of a case.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Rows at most.")
@_JSON
def show(store: str | None, tenant: str | None, subject: str | None, limit: int, as_json: bool) -> None:
    """Print the latest rows, the newest last."""
    from api.store.audit_log import latest

    rows = read_store(store, lambda connection: latest(connection, limit, tenant, subject))
    if as_json:
        told = [{**row, "data": json.loads(row["data"])} for row in rows]
        click.echo(json.dumps({"rows": told}, ensure_ascii=False, indent=2))
        return
    for row in rows:
        at = datetime.datetime.fromtimestamp(row["at"], datetime.UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        parts = (row["seq"], at, row["tenant"], row["actor"], row["action"], row["subject"], row["data"])
        click.echo(visible("  ".join(str(part) for part in parts)))


def _checkpoints(against: Path, key: Path) -> list[Checkpoint]:
    from api.store.audit_log import read_checkpoint

    paths = sorted(against.glob("*.json")) if against.is_dir() else [against]
    if not paths:
        raise Problem("no checkpoint", f"{against} holds no file that ends in .json")
    public = _read(key)
    checkpoints = []
    for path in paths:
        try:
            checkpoints.append(read_checkpoint(_read(path), public))
        except AttestError as error:
            raise Problem("the checkpoint cannot be used", f"{path}: {error}") from None
    return checkpoints


def _newest(checkpoints: list[Checkpoint]) -> str:
    newest = max(checkpoints, key=lambda checkpoint: checkpoint.at)
    at = datetime.datetime.fromtimestamp(newest.at, datetime.UTC)
    return f"the newest is of row {newest.size}, {at:%Y-%m-%d %H:%M}Z"


def _verified(store: str | None, checkpoints: list[Checkpoint]) -> Verified:
    from api.store import audit_log

    return read_store(store, lambda connection: audit_log.verify(connection, checkpoints))


def _tell(found: Verified) -> None:
    for problem in found.problems:
        click.echo(visible(problem))
    if not found.problems:
        click.echo(f"Verified: {found.size} rows are as they were written; the last has the hash {found.hash}.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Problem("cannot read", f"{path}: {error.strerror}") from None
