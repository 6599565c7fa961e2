"""Safetensors files written and read by hand, so that a test can also write wrong ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Raw(NamedTuple):
    """One tensor as it is stored: the format's dtype name, the shape, and the bytes in C order, little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def floats(self) -> NDArray[np.float32]:
        """The numbers of a BF16, F16 or F32 tensor."""
        if self.dtype == "BF16":
            codes = np.frombuffer(self.data, "<u2").astype("<u4") << 16
            return codes.view("<f4").reshape(self.shape).copy()
        stored = np.frombuffer(self.data, {"F16": "<f2", "F32": "<f4"}[self.dtype])
        return stored.astype("<f4").reshape(self.shape)


def bf16(values: NDArray[np.floating]) -> Raw:
    """Numbers as BF16, rounded to the nearest even code."""
    codes = np.ascontiguousarray(values, "<f4").view("<u4")
    rounded = (codes + 0x7FFF + ((codes >> 16) & 1)) >> 16
    return Raw("BF16", values.shape, np.where(np.isnan(values), 0x7FC0, rounded).astype("<u2").tobytes())


def f32(values: NDArray[np.floating]) -> Raw:
    """Numbers as F32."""
    return Raw("F32", values.shape, np.ascontiguousarray(values, "<f4").tobytes())


def f16(values: NDArray[np.floating]) -> Raw:
    """Numbers as F16."""
    return Raw("F16", values.shape, np.ascontiguousarray(values, "<f2").tobytes())


def container(header: Mapping[str, object] | bytes, data: bytes) -> bytes:
    """A file from its header and its data; a header of bytes is taken as it is, an object is padded with spaces."""
    if not isinstance(header, bytes):
        header = json.dumps(header, separators=(",", ":")).encode()
        header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def save(path: Path, tensors: Mapping[str, Raw], metadata: Mapping[str, str] | None = None) -> None:
    """Write a healthy file, its tensors in order of name."""
    header: dict[str, object] = {"__metadata__": {"format": "pt", **(metadata or {})}}
    parts: list[bytes] = []
    end = 0
    for name, raw in sorted(tensors.items()):
        header[name] = {"dtype": raw.dtype, "shape": list(raw.shape), "data_offsets": [end, end + len(raw.data)]}
        parts.append(raw.data)
        end += len(raw.data)
    path.write_bytes(container(header, b"".join(parts)))


def load(path: Path) -> dict[str, Raw]:
    """The tensors of a healthy file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    found: dict[str, Raw] = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            found[name] = Raw(entry["dtype"], tuple(entry["shape"]), content[begin:end])
    return found


def edit_weights(path: Path, change: Callable[[dict[str, Raw]], None]) -> None:
    """Change the tensors of a file in place: ``change`` adds, replaces and deletes entries."""
    tensors = load(path)
    change(tensors)
    save(path, tensors)
