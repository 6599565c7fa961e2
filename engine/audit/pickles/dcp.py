"""Checkpoints of ``torch.distributed.checkpoint``: shards, and a ``.metadata`` that says what lies where in them.

Source: the classes of ``torch.distributed.checkpoint.metadata`` and ``.filesystem`` of torch 2.13 as they pickle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.audit.pickles.torchsave import sizes
from engine.audit.pickles.values import Built, Mapping, named, pairs

NAME = ".metadata"
MAX_COMPARED = 2_000
_METADATA = "torch.distributed.checkpoint.metadata."


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of a shard; ``path`` is relative to the metadata."""

    path: str
    offset: int
    length: int


@dataclass
class Layout:
    """What a ``.metadata`` says.

    Args:
        shapes: global shape of each tensor by name.
        chunks: offset and shape of each tensor's pieces by name.
        extents: where each piece lies, by name and offset; bytes that are no tensor have no offset.
    """

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    chunks: dict[str, list[tuple[tuple[int, ...], tuple[int, ...]]]] = field(default_factory=dict)
    extents: dict[tuple[str, tuple[int, ...] | None], Extent] = field(default_factory=dict)

    def needed(self) -> dict[str, int]:
        """Bytes that each shard must have at least."""
        found: dict[str, int] = {}
        for extent in self.extents.values():
            found[extent.path] = max(found.get(extent.path, 0), extent.offset + extent.length)
        return found

    def without_place(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Pieces that lie in no shard."""
        for name, chunks in self.chunks.items():
            for offset, shape in chunks:
                if math.prod(shape) and not {(name, offset), (name, None)} & self.extents.keys():
                    yield name, offset

    def badly_tiled(self) -> Iterator[tuple[str, str]]:
        """Tensors that their pieces do not cover exactly once, with what is wrong."""
        for name, shape in self.shapes.items():
            wrong = _tiling(shape, [c for c in self.chunks[name] if math.prod(c[1])])
            if wrong:
                yield name, wrong


def layout(value: Any) -> Layout | None:
    """The layout that a metadata pickle describes; None if its classes are not the ones that are known."""
    if not isinstance(value, Built) or value.path != f"{_METADATA}Metadata":
        return None
    parts, found = named(value), Layout()
    tensors, storage = parts.get("state_dict_metadata"), parts.get("storage_data")
    if not isinstance(tensors, Mapping) or not isinstance(storage, Mapping):
        return None
    for name, item in pairs(tensors):
        if not isinstance(name, str) or not isinstance(item, Built):
            return None
        if item.path == f"{_METADATA}BytesStorageMetadata":
            continue
        state = named(item)
        shape, chunks = sizes(state.get("size")), state.get("chunks")
        if item.path != f"{_METADATA}TensorStorageMetadata" or shape is None or not isinstance(chunks, list):
            return None
        found.shapes[name] = shape
        found.chunks[name] = []
        for chunk in chunks:
            offset, size = (sizes(named(chunk).get(key)) for key in ("offsets", "sizes"))
            if offset is None or size is None or not len(offset) == len(size) == len(shape):
                return None
            found.chunks[name].append((offset, size))
    for index, info in pairs(storage):
        at, where = named(index), named(info)
        name, path = at.get("fqn"), where.get("relative_path")
        span = sizes((where.get("offset"), where.get("length")))
        if not isinstance(name, str) or not isinstance(path, str) or span is None:
            return None
        found.extents[name, sizes(at.get("offset"))] = Extent(path, *span)
    return found


def _tiling(shape: Sequence[int], chunks: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> str:
    total, covered = math.prod(shape), sum(math.prod(size) for _, size in chunks)
    for offset, size in chunks:
        if any(begin + n > whole for begin, n, whole in zip(offset, size, shape, strict=True)):
            return f"the piece at {list(offset)} of {list(size)} reaches beyond {list(shape)}"
    if covered != total:
        return f"pieces of {covered:,} elements in all for {total:,}"
    if len({offset for offset, _ in chunks}) != len(chunks):
        return "two pieces at one place"
    if shape and 1 < len(chunks) <= MAX_COMPARED:
        begin = np.array([offset for offset, _ in chunks], dtype=np.float64)
        end = begin + np.array([size for _, size in chunks], dtype=np.float64)
        for row in range(len(chunks) - 1):
            if ((begin[row] < end[row + 1 :]) & (begin[row + 1 :] < end[row])).all(axis=1).any():
                return "two pieces overlap"
    return ""
