"""A checkpoint folder as it lies on disk, read without trusting it.

Nothing is followed out of the folder, nothing that is no regular file is opened, and every read has a limit.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

EntryKind = Literal["file", "link", "special"]
MAX_ENTRIES = 100_000
MAX_DEPTH = 16
HEAD_BYTES = 65_536


class UnreadableError(Exception):
    """A file that cannot be used; the message says why, for people."""


class ChangedError(UnreadableError):
    """A file that was not the same at the end of reading as at its beginning."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in the folder. ``path`` is relative, with slashes; ``target`` is what a link says.

    A link that stays inside the folder, or inside the blob store of the model cache that the folder is a snapshot of,
    is a ``file`` with the size of what it leads to; any other link is a ``link`` and is never opened.
    """

    path: str
    kind: EntryKind
    size: int
    mtime_ns: int
    hard_links: int = 1
    target: str | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Folder:
    """All entries of a folder by relative path, in sorted order. ``truncated``: there were too many, or too deep."""

    root: Path
    entries: Mapping[str, Entry]
    truncated: bool = False

    @staticmethod
    def of(root: Path) -> Folder:
        """List ``root`` without following links to folders.

        Raises:
            UnreadableError: if it is no folder, or may not be listed.
        """
        if not root.is_dir():
            raise UnreadableError(f"{root} is no folder")
        allowed = _allowed(root)
        entries: dict[str, Entry] = {}
        too_deep: list[str] = []
        try:
            for entry in _walk(root, "", allowed, too_deep):
                if len(entries) == MAX_ENTRIES:
                    return Folder(root, dict(sorted(entries.items())), truncated=True)
                entries[entry.path] = entry
        except OSError as error:
            raise UnreadableError(f"{root} cannot be listed: {error.strerror}") from error
        return Folder(root, dict(sorted(entries.items())), truncated=bool(too_deep))

    def __contains__(self, path: str) -> bool:
        entry = self.entries.get(path)
        return entry is not None and entry.kind == "file"

    def files(self, *suffixes: str) -> list[Entry]:
        """Every regular file, or those whose name ends in one of the suffixes."""
        return [e for e in self.entries.values() if e.kind == "file" and (not suffixes or e.path.endswith(suffixes))]

    def open(self, path: str) -> io.FileIO:
        """The file, unbuffered, for reading.

        Raises:
            UnreadableError: if it is absent, no regular file, or may not be read.
        """
        if path not in self:
            raise UnreadableError(f"{path} is not in the folder")
        name = self.root / path
        try:
            # Never wait for a pipe that took the place of the file since the folder was listed.
            descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise UnreadableError(f"{path} cannot be opened: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnreadableError(f"{path} is no regular file any more")
        return os.fdopen(descriptor, "rb", buffering=0)

    def read(self, path: str, limit: int) -> bytes:
        """The whole file.

        Raises:
            UnreadableError: as :meth:`open`, or if it is longer than ``limit`` bytes.
        """
        try:
            with self.open(path) as stream:
                content = _exactly(stream, limit + 1)
        except OSError as error:
            raise UnreadableError(f"{path} cannot be read: {error.strerror}") from error
        if len(content) > limit:
            raise UnreadableError(f"{path} is longer than {limit:,} bytes")
        return content

    def head(self, path: str, size: int = HEAD_BYTES) -> bytes:
        """The first bytes of the file; empty if it cannot be read."""
        try:
            with self.open(path) as stream:
                return _exactly(stream, size)
        except (UnreadableError, OSError):
            return b""

    def unchanged(self, path: str) -> bool:
        """Whether the file still has the size and the time it had when the folder was listed."""
        entry = self.entries[path]
        try:
            now = (self.root / path).stat()
        except OSError:
            return False
        return (now.st_size, now.st_mtime_ns) == (entry.size, entry.mtime_ns)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    parts, left = [], size
    while left > 0 and (part := stream.read(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _allowed(root: Path) -> tuple[Path, ...]:
    """Where links may lead: the folder itself, and beside a snapshot of a model cache its store of blobs."""
    real = root.resolve()
    blobs = real.parent.parent / "blobs"
    return (real, blobs) if real.parent.name == "snapshots" and blobs.is_dir() else (real,)


def _walk(root: Path, prefix: str, allowed: tuple[Path, ...], too_deep: list[str], depth: int = 0) -> Iterator[Entry]:
    """Every entry below ``prefix``; folders that lie too deep are only noted."""
    with os.scandir(root / prefix) as found:
        items = sorted(found, key=lambda item: item.name)
    for item in items:
        path = prefix + item.name
        if item.is_dir(follow_symlinks=False):
            if item.name == ".git":
                continue
            if depth < MAX_DEPTH:
                yield from _walk(root, path + "/", allowed, too_deep, depth + 1)
            else:
                too_deep.append(path)
            continue
        status = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            yield _linked(item, path, status, allowed)
        else:
            kind: EntryKind = "file" if stat.S_ISREG(status.st_mode) else "special"
            yield Entry(path, kind, status.st_size, status.st_mtime_ns, status.st_nlink)


def _linked(item: os.DirEntry[str], path: str, status: os.stat_result, allowed: tuple[Path, ...]) -> Entry:
    target = os.readlink(item.path)  # noqa: PTH115 - the text of the link, not a path
    try:
        real = Path(item.path).resolve(strict=True)
        there = real.stat()
    except (OSError, RuntimeError):
        return Entry(path, "link", 0, status.st_mtime_ns, target=target)
    inside = any(real.is_relative_to(place) for place in allowed)
    if inside and stat.S_ISREG(there.st_mode):
        return Entry(path, "file", there.st_size, there.st_mtime_ns, there.st_nlink, target)
    return Entry(path, "link", 0, status.st_mtime_ns, target=target)
