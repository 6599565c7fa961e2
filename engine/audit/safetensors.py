"""Headers of safetensors files, read by the format's own rules, so that each way to break them has its name.

Source of the rules: the format section of the safetensors README and the behaviour of its reference reader 0.8.0.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any, Literal

from engine.audit.folder import Folder, UnreadableError
from engine.audit.tensors import DTYPE_BITS, TensorInfo

MAX_HEADER_BYTES = 100_000_000
MAX_NUMEL = 1 << 62
Fault = Literal["unreadable", "length", "json", "whitespace", "duplicate", "contiguous", "extent", "file_length"]


@dataclass(frozen=True, slots=True)
class HeaderFault:
    """One thing wrong with a header; ``at`` is a tensor name or a byte range."""

    fault: Fault
    at: str
    observed: str
    expected: str


@dataclass(frozen=True)
class Header:
    """What one file declares. ``tensors`` holds those whose entries are well formed and lie inside the file."""

    path: str
    size: int
    length: int = 0
    tensors: tuple[TensorInfo, ...] = ()
    metadata: dict[str, str] | None = None
    faults: tuple[HeaderFault, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether the reference reader would refuse the file."""
        return any(fault.fault not in ("whitespace", "duplicate") for fault in self.faults)


def read_header(folder: Folder, path: str) -> Header:
    """The header of a file, with everything that is wrong with it. Reads the header's bytes only."""
    size = folder.entries[path].size
    try:
        with folder.open(path) as stream:
            prefix = stream.read(8) or b""
            if len(prefix) < 8:
                return _refused(path, size, "length", "bytes 0-8", f"{size} bytes in all", "at least 8")
            (length,) = struct.unpack("<Q", prefix)
            if length > MAX_HEADER_BYTES or 8 + length > size:
                limit = min(MAX_HEADER_BYTES, max(size - 8, 0))
                return _refused(path, size, "length", "bytes 0-8", f"{length:,}", f"at most {limit:,}")
            raw = b""
            while len(raw) < length and (part := stream.read(length - len(raw))):
                raw += part
    except (UnreadableError, OSError) as error:
        return _refused(path, size, "unreadable", "", str(error), "a readable file")
    return parse_header(path, size, raw)


def _refused(path: str, size: int, fault: Fault, at: str, observed: str, expected: str) -> Header:
    return Header(path, size, faults=(HeaderFault(fault, at, observed, expected),))


def parse_header(path: str, size: int, raw: bytes) -> Header:
    """The header from its bytes; ``size`` is of the whole file."""
    faults: list[HeaderFault] = []
    at = f"bytes 8-{8 + len(raw)}"
    if raw[:1] != b"{":
        kind: Fault = "whitespace" if raw.lstrip(b" ")[:1] == b"{" else "json"
        faults.append(HeaderFault(kind, at, f"begins with {raw[:8]!r}", "begins with {"))
    elif raw.rstrip(b" ")[-1:] != b"}" and raw.rstrip(b" \t\r\n")[-1:] == b"}":
        faults.append(HeaderFault("whitespace", at, "ends in tabs or line ends", "padded with spaces"))
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    repeated.append(key)
                seen.add(key)
        return result

    def refuse(token: str) -> Any:
        raise ValueError(f"{token} is no JSON")

    try:
        entries = json.loads(raw.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        faults.append(HeaderFault("json", at, str(error)[:200] or "nested too deeply", "one JSON object in UTF-8"))
        return Header(path, size, len(raw), faults=tuple(faults))
    if not isinstance(entries, dict):
        faults.append(HeaderFault("json", at, type(entries).__name__, "one JSON object"))
        return Header(path, size, len(raw), faults=tuple(faults))
    faults += [HeaderFault("duplicate", name, "stands twice", "once") for name in repeated]
    metadata = entries.pop("__metadata__", None)
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    ):
        faults.append(HeaderFault("json", "__metadata__", "values that are no text", "text to text"))
        metadata = None
    tensors = [t for name, entry in entries.items() if (t := _tensor(path, len(raw), name, entry, faults)) is not None]
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.offset + tensor.nbytes, tensor.name))
    end = _contiguous(tensors, 8 + len(raw), faults)
    if end != size:
        faults.append(HeaderFault("file_length", "end of file", f"{size:,} bytes", f"{end:,} bytes"))
    inside = tuple(tensor for tensor in tensors if tensor.offset + tensor.nbytes <= size)
    return Header(path, size, len(raw), inside, metadata, tuple(faults))


def _tensor(path: str, length: int, name: str, entry: Any, faults: list[HeaderFault]) -> TensorInfo | None:
    def wrong(fault: Fault, observed: str, expected: str) -> None:
        faults.append(HeaderFault(fault, name, observed, expected))

    if not isinstance(entry, dict):
        wrong("json", type(entry).__name__, "an object with dtype, shape and data_offsets")
        return None
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        wrong("json", f"dtype {dtype!r:.60}", "a dtype of the format")
        return None
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        wrong("json", f"shape {shape!r:.60}", "whole numbers of at least 0")
        return None
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in offsets):
        wrong("json", f"data_offsets {offsets!r:.60}", "two whole numbers")
        return None
    begin, end = offsets
    numel = math.prod(shape)
    bits = numel * DTYPE_BITS[dtype]
    if numel > MAX_NUMEL or bits % 8 or end - begin != bits // 8:
        wrong("extent", f"{end - begin:,} bytes", f"{bits / 8:,.15g} bytes for {dtype} {shape}"[:200])
        return None
    return TensorInfo(name, path, dtype, tuple(shape), 8 + length + begin, end - begin)


def _contiguous(tensors: list[TensorInfo], start: int, faults: list[HeaderFault]) -> int:
    """Note every hole and overlap; returns where the last tensor ends."""
    end = start
    for tensor in tensors:
        if tensor.offset != end:
            what = "a hole" if tensor.offset > end else "an overlap"
            faults.append(
                HeaderFault("contiguous", tensor.name, f"begins at {tensor.offset:,}: {what}", f"begins at {end:,}")
            )
        end = max(end, tensor.offset + tensor.nbytes)
    return end
