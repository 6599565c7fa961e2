"""The files of cases: from a request into the store, and out of it again to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from api.cases.events import Evidence, FileRef
from api.store import cases
from api.submission import StoredFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from api.cases.ranking import Fetch
    from api.store import Store
    from api.submission import Submission

Paths = Mapping[str, Path]
"""Files by the SHA-256 of their bytes."""
NO_FILES: Paths = MappingProxyType({})


async def evidence_of(submission: Submission) -> tuple[Evidence, Paths]:
    """What a submission brings, as it is kept, and where its files lie until the end of the request.

    Raises:
        Problem: if it cannot be read, or brings nothing.
    """
    case = await run_in_threadpool(submission.case)
    refs = await run_in_threadpool(lambda: tuple(_ref(file) for file in submission.files))
    paths = {ref.sha256: file.path for ref, file in zip(refs, submission.files, strict=True)}
    return Evidence(document=case.model_dump(exclude_defaults=True), files=refs), paths


def _ref(file: StoredFile) -> FileRef:
    with file.path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return FileRef(name=file.name, sha256=digest, size=file.path.stat().st_size)


def pieces_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file in pieces as they are stored."""
    with path.open("rb") as stream:
        while piece := stream.read(cases.PIECE):
            yield piece


def fetch_from(store: Store, case_id: str, fresh: Paths = NO_FILES) -> Fetch:
    """Brings the files of a case to disk: those just sent lie there, the others are in the store."""

    async def fetch(refs: Sequence[FileRef], folder: Path) -> list[StoredFile]:
        files = []
        for number, ref in enumerate(refs):
            path = fresh.get(ref.sha256, folder / str(number))
            if ref.sha256 not in fresh:
                await store.read(partial(_write, case_id=case_id, sha256=ref.sha256, path=path))
            files.append(StoredFile(ref.name, path))
        return files

    return fetch


def _write(connection: Connection, case_id: str, sha256: str, path: Path) -> None:
    with path.open("wb") as target:
        for piece in cases.pieces(connection, case_id, sha256):
            target.write(piece)
