"""Whether two tensors hold the same bytes, without keeping either in memory."""

from __future__ import annotations

from engine.audit.folder import Folder, UnreadableError
from engine.audit.tensors import TensorInfo

CHUNK_BYTES = 1 << 20


def same_bytes(folder: Folder, first: TensorInfo, other: Folder, second: TensorInfo) -> bool | None:
    """Compare dtype, shape and bytes; None if one of the two cannot be read."""
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        return False
    if folder is other and (first.file, first.offset) == (second.file, second.offset):
        return True
    try:
        with folder.open(first.file) as left, other.open(second.file) as right:
            left.seek(first.offset)
            right.seek(second.offset)
            todo = first.nbytes
            while todo:
                size = min(todo, CHUNK_BYTES)
                ours, theirs = left.read(size), right.read(size)
                if len(ours) < size or len(theirs) < size:
                    return None
                if ours != theirs:
                    return False
                todo -= size
    except (UnreadableError, OSError):
        return None
    return True
