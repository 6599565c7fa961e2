"""Headers of safetensors files, read by the format's own rules, so that each way to break them has its name.

Source of the rules: the format section of the safetensors README and the behaviour of its reference reader 0.8.0,
which the tests compare with. Two things it reads are refused here, because the format has no word for them: an entry
written as a list, and a dtype written as an object.
"""

from __future__ import annotations

import gc
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from engine.audit.documents import shown, written
from engine.audit.folder import Folder, UnreadableError
from engine.audit.tensors import DTYPE_BITS, TensorInfo

MAX_HEADER_BYTES = 100_000_000
# The reference reader counts elements and bits in 64 bits and refuses what does not fit; its parser stops at 128
# levels, of which the object and the entry are two.
MAX_COUNT = (1 << 64) - 1
MAX_EXTRA_DEPTH = 125
MAX_FAULTS = 50
Fault = Literal["unreadable", "length", "json", "whitespace", "duplicate", "contiguous", "extent", "file_length"]
# One tensor's object: dtype, shape, data_offsets, and what is wrong with the object itself. A tuple, because no other
# JSON value becomes one, and because a header may hold a million of them.
_Entry = tuple[Any, list[Any], Any, str]
_Range = tuple[int, int, str]
_ENTRY_KEYS = frozenset({"dtype", "shape", "data_offsets"})
# What may be half of a surrogate pair: Python reads it, and it is no character.
_HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
# Whole numbers that Python's json reads unlike the reference reader: minus zero, and those beyond the largest float.
_ODD_WHOLE = re.compile(rb"[\[,:\s]-0[\],}\s]|\d{309}")


@dataclass(frozen=True, slots=True)
class HeaderFault:
    """One thing wrong with a header; ``at`` is a tensor name or a byte range."""

    fault: Fault
    at: str
    observed: str
    expected: str


@dataclass(frozen=True)
class Header:
    """What one file declares.

    Args:
        declared: the tensors whose entries are well formed, in order of their bytes.
        tensors: those of them that lie inside the file.
        faults: the first of each kind; ``counts`` says how many there are.
    """

    path: str
    size: int
    length: int = 0
    declared: tuple[TensorInfo, ...] = ()
    tensors: tuple[TensorInfo, ...] = ()
    metadata: dict[str, str] | None = None
    faults: tuple[HeaderFault, ...] = ()
    counts: Mapping[Fault, int] = field(default_factory=dict)

    @property
    def broken(self) -> bool:
        """Whether the reference reader would refuse the file."""
        return bool(self.counts.keys() - {"whitespace", "duplicate"})

    @property
    def listed(self) -> bool:
        """Whether the header names all the tensors of the file, even if their bytes are not all there."""
        return not self.counts.keys() & {"unreadable", "length", "json", "extent"}


class _Repeating(dict[str, Any]):
    """An object in which keys stand twice; ``names`` are those keys."""

    names: list[str]


class _Faults:
    """The first faults of each kind and the number of all."""

    def __init__(self) -> None:
        self.kept: list[HeaderFault] = []
        self.counts: dict[Fault, int] = {}

    def add(self, fault: Fault, at: str, observed: str, expected: str) -> None:
        count = self.counts[fault] = self.counts.get(fault, 0) + 1
        if count <= MAX_FAULTS:
            self.kept.append(HeaderFault(fault, at, observed, expected))


def read_header(folder: Folder, path: str) -> Header:
    """The header of a file, with everything that is wrong with it. Reads the header's bytes only."""
    size = folder.entries[path].size
    try:
        with folder.open(path) as stream:
            prefix = _exactly(stream, 8)
            if len(prefix) < 8:
                return refused(path, size, "length", "bytes 0-8", f"{size} bytes in all", "at least 8 bytes")
            (length,) = struct.unpack("<Q", prefix)
            if length > MAX_HEADER_BYTES or 8 + length > size:
                limit = min(MAX_HEADER_BYTES, max(size - 8, 0))
                return refused(path, size, "length", "bytes 0-8", f"a header of {length:,} bytes", f"at most {limit:,}")
            raw = _exactly(stream, length)
    except (UnreadableError, OSError) as error:
        return refused(path, size, "unreadable", "", str(error), "a readable file")
    if len(raw) < length:
        return refused(path, size, "unreadable", "", "shorter than when it was listed", "a file that stays as it is")
    with _uncollected(len(raw)):
        return parse_header(path, size, raw)


@contextmanager
def _uncollected(size: int) -> Iterator[None]:
    """Without the cyclic collector for a large header: it would walk the million parts again and again, for nothing."""
    pause = size > 1 << 20 and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


def refused(path: str, size: int, fault: Fault, at: str, observed: str, expected: str) -> Header:
    """The header of a file of which nothing could be read."""
    return Header(path, size, faults=(HeaderFault(fault, at, observed, expected),), counts={fault: 1})


def parse_header(path: str, size: int, raw: bytes) -> Header:
    """The header from its bytes; ``size`` is of the whole file."""
    faults = _Faults()
    at = f"bytes 8-{8 + len(raw)}"
    try:
        entries = _parsed(raw)
    except (ValueError, RecursionError) as error:
        faults.add("json", at, shown(str(error), 200) or "nested too deeply", "one JSON object in UTF-8")
        return Header(path, size, len(raw), faults=tuple(faults.kept), counts=faults.counts)
    if raw[:1] != b"{":
        faults.add("whitespace", at, f"begins with {written(raw[:8].decode('latin-1'))}", "begins with {")
    elif raw.rstrip(b" ")[-1:] != b"}":
        faults.add("whitespace", at, "ends in tabs or line ends", "padded with spaces")
    metadata = _metadata(entries, faults)
    tensors: list[TensorInfo] = []
    ranges: list[_Range] = []
    for name, entry in entries.items():
        _take(path, 8 + len(raw), name, entry, tensors, ranges, faults)
    end = _contiguous(ranges, 8 + len(raw), faults)
    # An entry without a range may be what lies at the end.
    if end != size and len(ranges) == len(entries):
        faults.add("file_length", "end of file", f"{size:,} bytes", f"{end:,} bytes")
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.nbytes, tensor.name))
    declared = tuple(tensors)
    inside = declared if end <= size else tuple(t for t in declared if t.offset + t.nbytes <= size)
    return Header(path, size, len(raw), declared, inside, metadata, tuple(faults.kept), faults.counts)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    parts, left = [], size
    while left > 0 and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _parsed(raw: bytes) -> dict[str, Any]:
    """The header's object.

    Raises:
        ValueError, RecursionError: if the reference reader would not get this far.
    """
    whole = _whole if _ODD_WHOLE.search(raw) else None
    entries = json.loads(
        raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse, parse_int=whole, parse_float=_finite
    )
    if (b"\\ud" in raw or b"\\uD" in raw) and _HALF_PAIR.search(raw):
        json.dumps(json.loads(raw), ensure_ascii=False).encode("utf-8")
    if not isinstance(entries, dict):
        raise ValueError("not an object of named tensors")
    return entries


def _object(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 3:
        (first, dtype), (second, shape), (third, offsets) = pairs
        if first == "dtype" and second == "shape" and third == "data_offsets" and type(shape) is list:
            return dtype, shape, offsets, ""
    found = dict(pairs)
    if isinstance(found.get("shape"), list) and found.keys() >= _ENTRY_KEYS:
        known = sum(key in _ENTRY_KEYS for key, _ in pairs)
        fault = "a field twice" if known > len(_ENTRY_KEYS) else ""
        if any(_depth(value) > MAX_EXTRA_DEPTH for key, value in pairs if key not in _ENTRY_KEYS):
            fault = "nested too deeply"
        return found["dtype"], found["shape"], found["data_offsets"], fault
    if len(found) == len(pairs):
        return found
    repeating = _Repeating(found)
    seen: set[str] = set()
    repeating.names = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    return repeating


def _whole(digits: str) -> Any:
    return -0.0 if digits == "-0" else int(digits) if len(digits) < 300 else _finite(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number out of range")
    return number


def _refuse(token: str) -> Any:
    raise ValueError(f"{token} is no JSON")


def _depth(value: Any) -> int:
    """How deep lists and objects are nested; without recursion."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        item, depth = todo.pop()
        if isinstance(item, dict | list | tuple):
            deepest = max(deepest, depth)
            todo += [(inner, depth + 1) for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


def _metadata(entries: dict[str, Any], faults: _Faults) -> dict[str, str] | None:
    """Take the metadata out of the entries; names that stand twice are noted here, too."""
    for name in getattr(entries, "names", ()):
        if name == "__metadata__":
            faults.add("json", name, "stands twice", "once")
        else:
            faults.add("duplicate", shown(name), "stands twice", "once")
    metadata = entries.pop("__metadata__", None)
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        faults.add("json", "__metadata__", "values that are no text", "text to text")
        return None
    return dict(metadata)


def _take(
    path: str, start: int, name: str, entry: Any, tensors: list[TensorInfo], ranges: list[_Range], faults: _Faults
) -> None:
    """Add the tensor of an entry that is well formed, and the byte range of one that at least has it."""
    if type(entry) is not tuple:
        faults.add("json", shown(name), "no object with all three fields", "dtype, shape and data_offsets")
        return
    dtype, shape, offsets, fault = entry
    if type(offsets) is not list or len(offsets) != 2 or _count(offsets) is None:
        faults.add("json", shown(name), f"data_offsets {shown(offsets)}", "two whole numbers")
        return
    begin, end = offsets
    ranges.append((start + begin, start + max(begin, end), name))
    numel = _count(shape)
    if fault:
        faults.add("json", shown(name), fault, "dtype, shape and data_offsets once each")
    elif not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        faults.add("json", shown(name), f"dtype {shown(dtype)}", "a dtype of the format")
    elif numel is None:
        faults.add("json", shown(name), f"shape {shown(shape)}", "whole numbers of at least 0")
    else:
        bits = numel * DTYPE_BITS[dtype]
        if bits > MAX_COUNT or bits % 8 or end - begin != bits // 8:
            expected = f"{bits / 8:,.15g} bytes for {dtype} {shown(shape)}"
            faults.add("extent", shown(name), f"{end - begin:,} bytes", expected)
        else:
            tensors.append(TensorInfo(name, path, dtype, tuple(shape), start + begin, end - begin))


def _count(sizes: list[Any]) -> int | None:
    """The product of whole numbers; None if they are none.

    Too large a one if it leaves 64 bits on the way, even if a later size is zero, as the reference reader counts.
    """
    count = 1
    for size in sizes:
        if type(size) is not int or not 0 <= size <= MAX_COUNT:
            return None
        if count <= MAX_COUNT:
            count *= size
    return count


def _contiguous(ranges: list[_Range], start: int, faults: _Faults) -> int:
    """Note every hole and overlap; returns where the last range ends."""
    ranges.sort()
    end = start
    for begin, stop, name in ranges:
        if begin != end:
            what = "a hole" if begin > end else "an overlap"
            faults.add("contiguous", shown(name), f"begins at byte {begin:,}: {what}", f"begins at byte {end:,}")
        end = max(end, stop)
    return end
