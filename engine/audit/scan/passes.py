"""One file, once, from the first byte to the last."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.audit.folder import ChangedError, Folder
from engine.audit.scan.running import Running
from engine.audit.tensors import DTYPE_BITS, TensorInfo, TensorStats

# Small enough for a share of the last cache, so that each byte is fetched from memory once; large enough that the
# calls for a chunk, some 30 microseconds, do not count.
CHUNK_BYTES = 2 * 1024 * 1024
MAX_TENSORS = 200_000


@dataclass(frozen=True)
class FileScan:
    """Hash of a file, None if it was not asked for, and stats of the tensors in it that could be scanned, by name."""

    sha256: str | None
    stats: dict[str, TensorStats]


def scan_file(
    folder: Folder, path: str, tensors: Sequence[TensorInfo], progress: Callable[[int], None], *, hashing: bool = True
) -> FileScan:
    """Hash the file and scan its tensors in one pass of constant memory; without ``hashing`` read the tensors alone.

    Tensors that overlap another, or are beyond the first 200,000, get no stats.

    Raises:
        UnreadableError: if the file cannot be read.
        ChangedError: if it was not the same at the end as when it was listed.
    """
    digest, stats = hashlib.sha256() if hashing else None, dict[str, TensorStats]()
    size = folder.entries[path].size
    spans, shared = _spans(tensors, size)
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with folder.open(path) as stream:
        at = 0
        for tensor in spans:
            at = _passed(stream, digest, buffer, at, tensor.offset, progress)
            running = Running(tensor)
            step = _step(tensor, running.row_bytes)
            while at < tensor.offset + tensor.nbytes:
                wanted = min(step, tensor.offset + tensor.nbytes - at)
                if wanted > len(buffer):
                    buffer = memoryview(bytearray(wanted))
                chunk = _filled(stream, buffer[:wanted], path)
                if digest is not None:
                    digest.update(chunk)
                running.feed(chunk)
                progress(wanted)
                at += wanted
            stats[tensor.name] = running.stats()
        _passed(stream, digest, buffer, at, size, progress)
        if stream.read(1):
            raise ChangedError(f"{path} grew while it was read")
    if not folder.unchanged(path):
        raise ChangedError(f"{path} changed while it was read")
    stats |= {name: stats[of] for name, of in shared.items() if of in stats}
    return FileScan(digest.hexdigest() if digest is not None else None, stats)


def _spans(tensors: Sequence[TensorInfo], size: int) -> tuple[list[TensorInfo], dict[str, str]]:
    """Tensors to scan, in order and apart from each other; and names that share another's bytes exactly."""
    spans: list[TensorInfo] = []
    shared: dict[str, str] = {}
    for tensor in sorted(tensors, key=lambda t: (t.offset, t.nbytes, t.name))[:MAX_TENSORS]:
        last = spans[-1] if spans else None
        if last and (tensor.offset, tensor.nbytes, tensor.dtype) == (last.offset, last.nbytes, last.dtype):
            shared[tensor.name] = last.name
        elif tensor.offset >= (last.offset + last.nbytes if last else 0) and tensor.offset + tensor.nbytes <= size:
            spans.append(tensor)
    return spans, shared


def _step(tensor: TensorInfo, row_bytes: int) -> int:
    """Bytes a chunk: whole rows if they fit, else whole elements."""
    unit = row_bytes if 0 < row_bytes <= CHUNK_BYTES else max(DTYPE_BITS.get(tensor.dtype, 8) // 8, 1)
    return CHUNK_BYTES // unit * unit


def _passed(
    stream: io.FileIO,
    digest: hashlib._Hash | None,
    buffer: memoryview,
    at: int,
    end: int,
    progress: Callable[[int], None],
) -> int:
    """Read on to ``end`` for the hash alone, or skip what lies before; returns ``end``."""
    if digest is None:
        progress(max(end - at, 0))
        return stream.seek(max(at, end))
    while at < end:
        chunk = _filled(stream, buffer[: min(CHUNK_BYTES, end - at)], "the file")
        digest.update(chunk)
        progress(len(chunk))
        at += len(chunk)
    return max(at, end)


def _filled(stream: io.FileIO, part: memoryview, path: str) -> memoryview:
    """``part`` filled with the next bytes.

    Raises:
        ChangedError: if the file ends before.
    """
    have = 0
    while have < len(part):
        count = stream.readinto(part[have:])
        if not count:
            raise ChangedError(f"{path} became shorter while it was read")
        have += count
    return part
