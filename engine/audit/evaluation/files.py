"""Files of evidence that the intent or the command line names: found, bounded, never followed elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Entry, Folder, UnreadableError
from engine.model.base import Text

MAX_DOCUMENT_BYTES = 64 << 20
MAX_LINES_BYTES = 512 << 20
MAX_LINE_BYTES = 4 << 20
MAX_ROWS = 1_000_000


class NoEvidenceError(Exception):
    """Evidence that was not given, or cannot be used; ``text`` says which and why, for people."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files of one piece of evidence: one, or all of a folder. ``name`` is what it was called by."""

    name: str
    folder: Folder
    single: str | None = None

    @property
    def paths(self) -> list[str]:
        """Paths for :meth:`read`, sorted."""
        return [self.single] if self.single else [entry.path for entry in self.folder.files()]

    def label(self, path: str) -> str:
        """How a file is named in answers."""
        return self.name if self.single else f"{self.name}/{path}"

    def read(self, path: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
        """The content.

        Raises:
            UnreadableError: if it cannot be read or is longer than ``limit`` bytes.
        """
        return self.folder.read(path, limit)


def declared(checkpoint: Checkpoint, name: str | None, key: str, given: Path | None = None) -> Bundle:
    """The evidence under ``evidence.<key>`` or ``stages.<key>`` of the intent, else what the command line gave.

    Raises:
        NoEvidenceError: if nothing was named, or what was named is not there.
    """
    if name is None:
        if given is None:
            raise NoEvidenceError(
                Text(en=f"The intent names no file under {key}.", zh=f"意图文件未在 {key} 下给出文件。")
            )
        return _bundle(given.name or str(given), given)
    try:
        path = checkpoint.declared(name)
    except UnreadableError as error:
        raise NoEvidenceError(Text(en=f"{key}: {error}.", zh=f"{key}：{name!r} 指向意图文件所在目录之外。")) from None
    if path is None:
        missing = Text(en=f"{key} names {name!r}, which is not there.", zh=f"{key} 指向的 {name!r} 不存在。")
        raise NoEvidenceError(missing)
    return _bundle(name, path)


def _bundle(name: str, path: Path) -> Bundle:
    try:
        if path.is_dir():
            return Bundle(name.rstrip("/"), Folder.of(path))
        status = path.stat()
    except (UnreadableError, OSError) as error:
        raise NoEvidenceError(Text(en=f"{name!r} cannot be read: {error}.", zh=f"无法读取 {name!r}。")) from None
    only = Entry(path.name, "file", status.st_size, status.st_mtime_ns)
    return Bundle(name, Folder(path.parent, {path.name: only}), path.name)


def json_rows(bundle: Bundle, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines (or of one JSON array) with their line, up to the limits.

    Raises:
        NoEvidenceError: if the file cannot be read, or a line is no object: evidence with holes is none.
    """
    try:
        with io.BufferedReader(bundle.folder.open(path)) as stream:  # type: ignore[type-var]
            yield from _rows(stream, bundle.label(path))
    except (UnreadableError, OSError) as error:
        raise NoEvidenceError(
            Text(en=f"{bundle.label(path)} cannot be read: {error}.", zh=f"无法读取 {bundle.label(path)}。")
        ) from None


def _rows(stream: Any, label: str) -> Iterator[tuple[int, dict[str, Any]]]:
    read = number = rows = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number, read = number + 1, read + len(line)
        if number == 1 and line.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
            yield from _array(line + stream.read(MAX_DOCUMENT_BYTES), label)
            return
        if len(line) > MAX_LINE_BYTES or read > MAX_LINES_BYTES or rows == MAX_ROWS:
            raise _useless(label, number, "too long to be read", "过长，无法读取")
        if not line.strip():
            continue
        yield number, _object(line, label, number)
        rows += 1


def _array(content: bytes, label: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if len(content) > MAX_DOCUMENT_BYTES:
        raise _useless(label, 1, "too long to be read", "过长，无法读取")
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _useless(label, 1, "not JSON", "不是 JSON") from None
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise _useless(label, number, "no object", "不是对象")
        yield number, value


def _object(line: bytes, label: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _useless(label, number, "not JSON", "不是 JSON") from None
    if not isinstance(value, dict):
        raise _useless(label, number, "no object", "不是对象")
    return value


def _useless(label: str, number: int, en: str, zh: str) -> NoEvidenceError:
    return NoEvidenceError(Text(en=f"{label}, line {number}: {en}.", zh=f"{label} 第 {number} 行：{zh}。"))
