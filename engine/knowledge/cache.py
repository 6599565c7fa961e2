"""Parsed knowledge kept as JSON in the user's cache folder, so that a command starts at once.

Only ever an optimisation: a folder that cannot be written, or a damaged file, changes nothing but time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from pydantic import ValidationError

import engine
from engine import model
from engine.knowledge.knowledge import Knowledge

KEPT_FILES = 5
"""The newest entries: the base and a few overlays in use, not every edit of an author's day."""


def cache_folders() -> list[Path]:
    """Where to look, best first: the user's cache folder, then one of this user's among temporary files."""
    folders = []
    if base := os.environ.get("XDG_CACHE_HOME"):
        folders.append(Path(base, "traintriage"))
    else:
        with contextlib.suppress(RuntimeError):  # no home folder
            folders.append(Path.home() / ".cache" / "traintriage")
    return [*folders, Path(tempfile.gettempdir(), f"traintriage-{os.getuid()}")]


@cache
def code_digest() -> str:
    """Digest of the code that turns files into objects: another version must not see this one's cache."""
    folders = (Path(model.__file__).parent, Path(__file__).parent)
    total = hashlib.sha256(engine.__version__.encode())
    for source in sorted(path for folder in folders for path in folder.glob("*.py")):
        total.update(source.name.encode() + b"\0" + source.read_bytes())
    return total.hexdigest()


def read(digest: str) -> Knowledge | None:
    """The knowledge stored for this content digest; None if there is none or it is damaged."""
    for folder in cache_folders():
        try:
            head, _, body = (_own(folder) / _name(digest)).read_bytes().partition(b"\n")
            if head == hashlib.sha256(body).hexdigest().encode():
                return Knowledge.model_validate_json(body)
        except (OSError, ValidationError):
            continue
    return None


def write(knowledge: Knowledge) -> None:
    """Store the knowledge under its digest, atomically; silently nothing if no folder can be written."""
    body = knowledge.model_dump_json(by_alias=True, exclude_defaults=True).encode()
    content = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    for folder in cache_folders():
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(_own(folder) / _name(knowledge.digest), content)
            _forget_old(folder)
            return


def _own(folder: Path) -> Path:
    """The folder, if nobody else can put files into it: what stands in the cache is believed.

    Raises:
        PermissionError: if it belongs to another user or others may write to it.
    """
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} can be written by others")
    return folder


def _name(digest: str) -> str:
    return f"kb-{hashlib.sha256(f'{digest}:{code_digest()}'.encode()).hexdigest()[:32]}.json"


def _replace(target: Path, content: bytes) -> None:
    part = tempfile.NamedTemporaryFile(dir=target.parent, suffix=".tmp", delete=False)  # noqa: SIM115
    try:
        with part:
            part.write(content)
        Path(part.name).replace(target)
    except OSError:
        Path(part.name).unlink(missing_ok=True)
        raise


def _forget_old(folder: Path) -> None:
    entries = sorted(folder.glob("kb-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[KEPT_FILES:]:
        path.unlink(missing_ok=True)
