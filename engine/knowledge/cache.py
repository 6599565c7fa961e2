"""What is worked out of a knowledge base, kept in the user's cache folder, so that a command starts at once.

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

from pydantic import BaseModel

import engine
from engine.knowledge.files import KINDS
from engine.knowledge.knowledge import Family, Knowledge
from engine.knowledge.shelf import Shelf
from engine.knowledge.table import Table
from engine.model.calibration import Calibration
from engine.model.kb import Concept

KEPT_FILES = 5
"""The newest entries of a kind: the base and a few overlays in use, not every edit of an author's day."""

_LARGE = 100
_TABLE = "\0table"


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
    """The knowledge stored for this content digest, its objects to be made on demand; None if there is none."""
    body = read_entry("kb", digest)
    if body is None:
        return None
    data = _unpacked(body)
    parts: dict[str, Any] = {name: Shelf(data[name], read_part) for name, (_, read_part) in _parts().items()}
    calibration = Calibration.model_validate_json(data["calibration"])
    return Knowledge.model_construct(version=data["version"], digest=digest, calibration=calibration, **parts)


def write(knowledge: Knowledge) -> None:
    """Store the knowledge under its digest, atomically; silently nothing if no folder can be written."""
    data: dict[str, Any] = {"version": knowledge.version, "calibration": _text_of(knowledge.calibration)}
    for name, (write_part, _) in _parts().items():
        data[name] = {id_: write_part(part) for id_, part in getattr(knowledge, name).items()}
    write_entry("kb", knowledge.digest, _packed(data))


def _parts() -> dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]]:
    """By part of the knowledge: how one of its objects is written as a line of JSON, and how it is made of it."""
    models: dict[str, type[BaseModel]] = {kind.name: kind.model for kind in KINDS}
    models.update(families=Family, lexicon=Concept)
    parts: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
        name: (_text_of, model.model_validate_json) for name, model in models.items()
    }
    return parts | {"examples": (json.dumps, _lines), "reports": (json.dumps, _lines)}


def _text_of(part: BaseModel) -> str:
    return part.model_dump_json(by_alias=True, exclude_defaults=True)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def kept(kind: str, digest: str, build: Callable[[], Any]) -> Any:
    """What ``build`` gives, as plain JSON data, its large tables of texts as :class:`Table`.

    From the entry if there is one, else worked out and stored.
    """
    body = read_entry(kind, digest)
    if body is None:
        body = _packed(build())
        write_entry(kind, digest, body)
    return _unpacked(body)


def _packed(data: Any) -> bytes:
    """A line of JSON, and behind it the large tables of texts that stand in it."""
    tables: list[bytes] = []

    def without_tables(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        if len(part) >= _LARGE and all(isinstance(text, str) for text in part.values()):
            lines = Table.lines_of(part)
            if lines is not None:
                tables.append(lines)
                start = sum(map(len, tables[:-1]))
                return {_TABLE: [start, start + len(lines)]}
        return {key: without_tables(value) for key, value in part.items()}

    head = json.dumps(without_tables(data), ensure_ascii=False, separators=(",", ":"))
    return b"\n".join([head.encode(), b"".join(tables)])


def _unpacked(body: bytes) -> Any:
    head, _, tables = body.partition(b"\n")

    def with_table(part: dict[str, Any]) -> Any:
        return Table(tables[slice(*part[_TABLE])]) if _TABLE in part else part

    return json.loads(head, object_hook=with_table)


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
