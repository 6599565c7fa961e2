"""Once an hour, by one of all processes: sign how the audit log stands, into a folder beside the store.

Who may do anything in the database can cut rows off, or write the log anew; not so in a folder that is elsewhere.
"""

from __future__ import annotations

import asyncio
import datetime
import os
from typing import TYPE_CHECKING

from api.settings import SettingsError
from api.store import audit_log, jobs
from api.store.audit_log import Checkpoint
from engine.audit.signing import AttestError, public_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from api.jobs import Handler
    from api.settings import Settings
    from api.store import Store
    from api.store.jobs import Job

KIND = "audit-log-checkpoint"
HOUR = 3_600.0


class BrokenLogError(Exception):
    """The log does not hold what a checkpoint says: it is not signed."""


async def schedule(store: Store, clock: Callable[[], float], hours: float = 0) -> None:
    """Order the checkpoint of the hour that is ``hours`` from now, unless somebody has."""
    at = datetime.datetime.fromtimestamp(clock() + hours * HOUR, datetime.UTC)
    key = f"{KIND} {at:%Y-%m-%dT%H}"
    await store.run(
        lambda connection: jobs.enqueue(connection, KIND, {}, tenant="default", after=hours * HOUR, key=key)
    )


def handler(store: Store, key: Path, folder: Path, clock: Callable[[], float]) -> Handler:
    """What runs the job.

    Raises, when run:
        BrokenLogError: if the log does not hold what the last checkpoint of the folder says.
        AttestError: if the key signs nothing, or did not sign that checkpoint.
        OSError: if the folder cannot be used.
    """

    async def run(_: Job) -> None:
        await schedule(store, clock, hours=1)
        last = await asyncio.to_thread(_last, folder, key)
        fault = await store.read(lambda connection: audit_log.fault_of(connection, last))
        if fault is not None:
            raise BrokenLogError(fault)
        size, digest = await store.read(audit_log.head)
        if size > last.size:
            await asyncio.to_thread(_sign, Checkpoint(size, digest, clock()), folder, key)

    return run


def check(settings: Settings) -> None:
    """See that the key signs and the folder takes files, before anything is served.

    Raises:
        SettingsError: if not, or if only one of the two is set.
    """
    key, folder = settings.audit_log_key, settings.audit_log_checkpoints
    if key is None and folder is None:
        return
    if key is None or folder is None:
        raise SettingsError("TRAINTRIAGE_AUDIT_LOG_KEY and TRAINTRIAGE_AUDIT_LOG_CHECKPOINTS go together")
    try:
        _last(folder, key)
    except (AttestError, OSError) as error:
        raise SettingsError(f"checkpoints of the audit log cannot be signed: {error}") from None
    if not os.access(folder, os.W_OK):
        raise SettingsError(f"TRAINTRIAGE_AUDIT_LOG_CHECKPOINTS: no file can be written in {folder}")


def _last(folder: Path, key: Path) -> Checkpoint:
    """The newest checkpoint of the folder; that of an empty log if there is none."""
    public = public_of(key.read_bytes())
    names = [path.name for path in folder.iterdir() if path.name.endswith(".json")]
    if not names:
        return Checkpoint(0, audit_log.START, 0.0)
    return audit_log.read_checkpoint((folder / max(names)).read_bytes(), public)


def _sign(checkpoint: Checkpoint, folder: Path, key: Path) -> None:
    """Write the signed checkpoint, all of it or nothing, under a name that sorts by the number of rows."""
    envelope = audit_log.sign_checkpoint(checkpoint, key.read_bytes())
    path = folder / f"{checkpoint.size:012d}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as stream:
        stream.write(envelope)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
