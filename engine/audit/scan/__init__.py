"""One pass over the bytes of a checkpoint: numbers and hashes together, unchanged files from a cache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

from engine.audit.folder import Folder, UnreadableError
from engine.audit.scan.cache import ScanCache
from engine.audit.scan.passes import FileScan
from engine.audit.tensors import TensorInfo, TensorStats

__all__ = ["FileScan", "Scan", "scan"]

Progress = Callable[[int], None]


class Scan:
    """What the pass found: stats by tensor name, SHA-256 by path, and why a file could not be read to its end."""

    def __init__(self) -> None:
        self.stats: dict[str, TensorStats] = {}
        self.hashes: dict[str, str] = {}
        self.problems: dict[str, str] = {}


def scan(
    folder: Folder,
    tensors: Iterable[TensorInfo],
    cache: Path | None = None,
    progress: Progress | None = None,
    *,
    hashing: bool = True,
) -> Scan:
    """Read every regular file once; without ``hashing`` only the tensors.

    Args:
        tensors: whose numbers to look at; they may lie in any files of the folder.
        cache: folder that keeps the scans of unchanged files; None keeps none.
        progress: called with the number of bytes that were done since the last call, from several threads.
    """
    by_file: dict[str, list[TensorInfo]] = defaultdict(list)
    for tensor in tensors:
        by_file[tensor.file].append(tensor)
    kept = ScanCache(cache)

    def one(path: str) -> FileScan:
        return kept.scan(folder, path, by_file.get(path, []), progress or _silent, hashing=hashing)

    result = Scan()
    # Hashing and the numpy reductions let go of the interpreter's lock, so threads are enough.
    wanted = [entry for entry in folder.files() if hashing or entry.path in by_file]
    largest_first = sorted(wanted, key=lambda entry: (-entry.size, entry.path))
    with ThreadPoolExecutor(min(cpu_count() or 1, 8)) as pool:
        futures = {entry.path: pool.submit(one, entry.path) for entry in largest_first}
    for path, future in futures.items():
        try:
            found = future.result()
        except (UnreadableError, OSError) as error:
            result.problems[path] = str(error)
            continue
        if found.sha256 is not None:
            result.hashes[path] = found.sha256
        result.stats |= found.stats
    return result


def _silent(_: int) -> None:
    """No progress is shown."""
