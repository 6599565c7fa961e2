"""What is worked out of a knowledge base, kept as JSON in the user's cache folder, so that a command starts at once.

Only ever an optimisation: a folder that cannot be written, or a damaged file, changes nothing but time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import engine
from engine.knowledge.knowledge import Knowledge

KEPT_FILES = 5
"""The newest entries of a kind: the base and a few overlays in use, not every edit of an author's day."""


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
    """Digest of the code that works things out: another version must not see this one's entries.

    Sizes and times of the files stand for their content, which would take longer to read than an entry.
    """
    total = hashlib.sha256(engine.__version__.encode())
    root = Path(engine.__file__).parent
    for folder, names, files in os.walk(root):
        names.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                status = Path(folder, name).stat()
                total.update(f"{folder}/{name}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return total.hexdigest()


def read(digest: str) -> Knowledge | None:
    """The knowledge stored for this content digest; None if there is none or it is damaged."""
    body = read_entry("kb", digest)
    try:
        return None if body is None else Knowledge.model_validate_json(body)
    except ValidationError:
        return None


def write(knowledge: Knowledge) -> None:
    """Store the knowledge under its digest, atomically; silently nothing if no folder can be written."""
    write_entry("kb", knowledge.digest, knowledge.model_dump_json(by_alias=True, exclude_defaults=True).encode())


def kept(kind: str, digest: str, build: Callable[[], Any]) -> Any:
    """What ``build`` gives, as plain JSON data: from the entry if there is one, else worked out and stored."""
    body = read_entry(kind, digest)
    if body is not None:
        return json.loads(body)
    body = json.dumps(build(), ensure_ascii=False, separators=(",", ":")).encode()
    write_entry(kind, digest, body)
    return json.loads(body)


def read_entry(kind: str, digest: str) -> bytes | None:
    """The bytes stored for a kind of entry and the digest of what it was made of; None without, or if damaged."""
    for folder in cache_folders():
        with contextlib.suppress(OSError):
            head, _, body = (_own(folder) / _name(kind, digest)).read_bytes().partition(b"\n")
            if head == hashlib.sha256(body).hexdigest().encode():
                return body
    return None


def write_entry(kind: str, digest: str, body: bytes) -> None:
    """Store bytes, atomically, and forget old entries of the kind; silently nothing if no folder can be written."""
    content = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    for folder in cache_folders():
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(_own(folder) / _name(kind, digest), content)
            _forget_old(folder, kind)
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


def _name(kind: str, digest: str) -> str:
    return f"{kind}-{hashlib.sha256(f'{digest}:{code_digest()}'.encode()).hexdigest()[:32]}.json"


def _replace(target: Path, content: bytes) -> None:
    part = tempfile.NamedTemporaryFile(dir=target.parent, suffix=".tmp", delete=False)  # noqa: SIM115
    try:
        with part:
            part.write(content)
        Path(part.name).replace(target)
    except OSError:
        Path(part.name).unlink(missing_ok=True)
        raise


def _forget_old(folder: Path, kind: str) -> None:
    entries = sorted(folder.glob(f"{kind}-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[KEPT_FILES:]:
        path.unlink(missing_ok=True)
