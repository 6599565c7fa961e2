"""The digest of an input: the same for the same content, whatever the order in which it was given."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.model.case import Case


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """A file to read: from disk, or its bytes. ``name`` is what the answer calls it."""

    name: str
    path: Path | None = None
    data: bytes | None = None


def digest(case: Case, files: Sequence[EvidenceFile]) -> str:
    """sha256 over the content of the case and its files, whatever the order of keys, observations and files."""
    body = case.model_dump(exclude_defaults=True)
    if case.observations:
        body["observations"] = sorted(json.dumps(_plain(o), sort_keys=True) for o in body["observations"])
    digest_ = hashlib.sha256(json.dumps(_plain(body), sort_keys=True, ensure_ascii=True).encode())
    for name, content in sorted((file.name, _file_digest(file)) for file in files):
        digest_.update(f"\0{name}\0{content}".encode(errors="backslashreplace"))
    return "sha256:" + digest_.hexdigest()


def _file_digest(file: EvidenceFile) -> str:
    if file.data is not None:
        return hashlib.sha256(file.data).hexdigest()
    try:
        if file.path is not None and file.path.is_file():
            with file.path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        pass
    return "unreadable"


def _plain(value: Any) -> Any:
    """A value that JSON can write: NaN and infinity as text, anything else that is not plain as its text."""
    if isinstance(value, str | bool | int | None):  # most are
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, float) and math.isfinite(value) else str(value)
