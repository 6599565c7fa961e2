"""Scans of files that did not change since, kept as JSON under the file's identity."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from engine.audit.folder import Folder
from engine.audit.scan.passes import FileScan, scan_file
from engine.audit.tensors import TensorInfo, TensorStats

VERSION = 2
# A file written this recently could be written again within the same tick of the clock and look unchanged.
_SETTLED_SECONDS = 3
_SMALLEST = 1 << 20


class ScanCache:
    """Keeps scans below ``root``; without a root, or where it cannot write, every file is read.

    The key is device, inode, size and both times of the file, with the tensors asked for: a file that was written to
    has another change time, which cannot be set back without the machine's clock.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def scan(
        self,
        folder: Folder,
        path: str,
        tensors: Sequence[TensorInfo],
        progress: Callable[[int], None],
        *,
        hashing: bool,
    ) -> FileScan:
        """The scan of the file, from the cache if it is there.

        Raises:
            UnreadableError: as :func:`scan_file`.
        """
        entry = folder.entries[path]
        if self._root is None or entry.size < _SMALLEST:
            return scan_file(folder, path, tensors, progress, hashing=hashing)
        status = (folder.root / path).stat()
        place = self._root / f"{_key(status, tensors, hashing)}.json"
        kept = _read(place)
        if kept is not None:
            progress(entry.size)
            return kept
        found = scan_file(folder, path, tensors, progress, hashing=hashing)
        if time.time() - max(status.st_mtime, status.st_ctime) > _SETTLED_SECONDS:
            _write(place, found)
        return found


def _key(status: os.stat_result, tensors: Sequence[TensorInfo], hashing: bool) -> str:
    identity = (VERSION, hashing, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    total = hashlib.sha256(repr(identity).encode())
    for tensor in sorted(tensors, key=lambda t: (t.offset, t.name)):
        total.update(f"{tensor.name}\0{tensor.dtype}\0{tensor.shape}\0{tensor.offset}\0{tensor.nbytes}\0".encode())
    return total.hexdigest()


def _read(place: Path) -> FileScan | None:
    try:
        data = json.loads(place.read_bytes())
        return FileScan(data["sha256"], {name: TensorStats(**stats) for name, stats in data["stats"].items()})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(place: Path, found: FileScan) -> None:
    """Keep a scan; a cache that cannot be written is no cache, and no error."""
    data = json.dumps({"sha256": found.sha256, "stats": {name: asdict(stats) for name, stats in found.stats.items()}})
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_text(data, "utf-8")
        fresh.replace(place)
    except OSError:
        return
