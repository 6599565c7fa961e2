"""Headers of GGUF files: version, key-values and tensors, each read within bounds.

Source of the layout: docs/gguf.md of ggml; block sizes are those of its type traits (gguf 0.19.0).
"""

from __future__ import annotations

import io
import math
import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from engine.audit.documents import shown
from engine.audit.folder import Folder, UnreadableError
from engine.audit.tensors import TensorInfo

VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_ENTRIES = 1_000_000
MAX_ARRAY = 10_000_000
MAX_HEADER_BYTES = 512 << 20
MAX_TEXT = 1 << 20
MAX_DIMENSIONS = 4
MAX_TOKENS, MAX_TOKEN_BYTES = 2_000_000, 4096
TOKENS, TOKEN_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_TEXT, _ARRAY, _BOOL, _INT32 = 8, 9, 7, 5
_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
# By type number: name, elements of a block, bytes of a block. Plain types carry the names that tensors.py has for them.
_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip

FieldValue = bool | int | float | str


@dataclass(frozen=True)
class GgufFault:
    """One thing wrong with a header; ``at`` is a tensor, a key or a byte."""

    at: str
    observed: str
    expected: str


@dataclass(frozen=True)
class GgufHeader:
    """What one file declares.

    Args:
        fields: key-values that are one value; texts are cut to a mebibyte. Of arrays only the ``lengths`` are kept, but
            for ``tokens`` and ``token_types``, the tokenizer's; empty as well if they are longer than is kept.
        faults: in reading order; after one that breaks the layout nothing more was read.
        newer: why nothing is said of it: a version or type that this reader does not know. Empty otherwise.
    """

    path: str
    version: int = 0
    fields: dict[str, FieldValue] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    token_types: tuple[int, ...] = ()
    tensors: tuple[TensorInfo, ...] = ()
    faults: tuple[GgufFault, ...] = ()
    newer: str = ""

    @property
    def architecture(self) -> str:
        """Name of the architecture, which begins the names of its settings; empty if there is none."""
        value = self.fields.get("general.architecture")
        return value if isinstance(value, str) else ""

    @property
    def is_model(self) -> bool:
        """Whether it is of a language model: no adapter, no projector of pictures, no later part of a split file."""
        kind, part = self.fields.get("general.type", "model"), self.fields.get("split.no", 0)
        return bool(self.architecture) and self.architecture != "clip" and kind == "model" and part == 0

    def setting(self, name: str) -> FieldValue | None:
        """A setting of the architecture, such as ``block_count``."""
        return self.fields.get(f"{self.architecture}.{name}")


class _BrokenError(Exception):
    """The layout cannot be followed any further."""

    def __init__(self, fault: GgufFault) -> None:
        self.fault = fault


class _NewerError(Exception):
    """The file uses what this reader does not know."""


class _Cursor:
    """Reads onward through the file, never past its end nor past the limit of a header."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.stream, self.size, self.at = stream, size, 0

    def take(self, size: int, what: str) -> bytes:
        if self.at + size > min(self.size, MAX_HEADER_BYTES):
            raise _BrokenError(GgufFault(f"byte {self.at:,}", f"{what} of {size:,} bytes", "inside the file"))
        data = self.stream.read(size)
        if len(data) < size:
            raise _BrokenError(GgufFault(f"byte {self.at:,}", "the file ends", what))
        self.at += size
        return data

    def skip(self, size: int, what: str) -> None:
        if self.at + size > min(self.size, MAX_HEADER_BYTES):
            raise _BrokenError(GgufFault(f"byte {self.at:,}", f"{what} of {size:,} bytes", "inside the file"))
        self.stream.seek(size, io.SEEK_CUR)
        self.at += size

    def skip_texts(self, count: int, what: str) -> None:
        """Pass over that many texts; a vocabulary has hundreds of thousands."""
        for _ in range(count):
            self.skip(int.from_bytes(self.take(8, what), "little"), what)

    def texts(self, count: int, what: str) -> tuple[str, ...]:
        """That many texts, long ones cut; they may be no UTF-8, as pieces of one character are not."""
        found = []
        for _ in range(count):
            size = int.from_bytes(self.take(8, what), "little")
            kept = self.take(min(size, MAX_TOKEN_BYTES), what)
            self.skip(size - len(kept), what)
            found.append(kept.decode("utf-8", "replace"))
        return tuple(found)

    def number(self, form: str, what: str) -> int | float:
        value: int | float = struct.unpack(form, self.take(struct.calcsize(form), what))[0]
        return value

    def count(self, what: str, limit: int) -> int:
        value = int(self.number("<Q", what))
        if value > limit:
            raise _BrokenError(GgufFault(f"byte {self.at - 8:,}", f"{what}: {value:,}", f"at most {limit:,}"))
        return value

    def text(self, what: str) -> str:
        size = self.count(f"length of {what}", MAX_HEADER_BYTES)
        kept = self.take(min(size, MAX_TEXT), what)
        self.skip(size - len(kept), what)
        try:
            return kept.decode("utf-8", "ignore" if size > len(kept) else "strict")
        except UnicodeDecodeError:
            raise _BrokenError(GgufFault(f"byte {self.at - size:,}", f"{what} is no UTF-8", "UTF-8")) from None


def read_gguf(folder: Folder, path: str) -> GgufHeader:
    """The header of a file, with everything that is wrong with it. Reads the header's bytes only."""
    header = GgufHeader(path)
    size = folder.entries[path].size
    faults: list[GgufFault] = []
    version, tensors, newer = 0, tuple[TensorInfo, ...](), ""
    kept: dict[str, tuple[Any, ...]] = {}
    try:
        with io.BufferedReader(cast(io.RawIOBase, folder.open(path)), 1 << 20) as stream:
            cursor = _Cursor(stream, size)
            version = _version(cursor)
            listed = cursor.count("number of tensors", MAX_ENTRIES)
            for _ in range(cursor.count("number of key-values", MAX_ENTRIES)):
                _key_value(cursor, header, kept)
            entries = [_tensor(cursor) for _ in range(listed)]
            tensors = _placed(header, entries, cursor.at, size, faults)
    except _BrokenError as error:
        faults.append(error.fault)
    except _NewerError as error:
        newer = str(error)
    except (UnreadableError, OSError) as error:
        newer = str(error)
    tokens, types = kept.get(TOKENS, ()), kept.get(TOKEN_TYPES, ())
    return GgufHeader(path, version, header.fields, header.lengths, tokens, types, tensors, tuple(faults), newer)


def _version(cursor: _Cursor) -> int:
    magic = cursor.take(4, "magic")
    if magic != b"GGUF":
        raise _BrokenError(GgufFault("bytes 0-4", shown(magic.decode("latin-1")), "GGUF"))
    version = int(cursor.number("<I", "version"))
    if version and version & 0xFFFF == 0:
        raise _NewerError("the file is written for big-endian machines, which is not read here")
    if version not in VERSIONS:
        if version > max(VERSIONS) and version < 1000:
            raise _NewerError(f"version {version} of the format is not known here")
        raise _BrokenError(GgufFault("bytes 4-8", f"version {version}", "version 2 or 3"))
    return version


def _key_value(cursor: _Cursor, header: GgufHeader, kept: dict[str, tuple[Any, ...]]) -> None:
    key = shown(cursor.text("a key"))
    if key in header.fields or key in header.lengths:
        raise _BrokenError(GgufFault(key, "the key stands twice", "once"))
    kind = int(cursor.number("<I", f"type of {key}"))
    if kind == _ARRAY:
        header.lengths[key] = _array(cursor, key, kept)
    elif kind == _TEXT:
        header.fields[key] = cursor.text(key)
    elif kind in _SCALARS:
        value = cursor.number(_SCALARS[kind], key)
        header.fields[key] = bool(value) if kind == _BOOL else value
    else:
        raise _BrokenError(GgufFault(key, f"value of type {kind}", "a type of the format (0 to 12)"))


def _array(cursor: _Cursor, key: str, kept: dict[str, tuple[Any, ...]]) -> int:
    """Pass over an array and keep it if it is the tokenizer's; returns its length."""
    kind = int(cursor.number("<I", f"type of the elements of {key}"))
    length = cursor.count(f"length of {key}", MAX_ARRAY)
    if kind == _TEXT and key == TOKENS and length <= MAX_TOKENS:
        kept[key] = cursor.texts(length, key)
    elif kind == _TEXT:
        cursor.skip_texts(length, key)
    elif kind == _INT32 and key == TOKEN_TYPES and length <= MAX_TOKENS:
        kept[key] = struct.unpack(f"<{length}i", cursor.take(4 * length, key))
    elif kind in _SCALARS:
        cursor.skip(length * struct.calcsize(_SCALARS[kind]), key)
    else:
        raise _BrokenError(GgufFault(key, f"elements of type {kind}", "a plain type of the format"))
    return length


def _tensor(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape, type number and offset; the shape in the order of the other containers, slowest dimension first."""
    name = cursor.text("name of a tensor")
    dimensions = int(cursor.number("<I", f"dimensions of {shown(name)}"))
    if dimensions > MAX_DIMENSIONS:
        raise _BrokenError(GgufFault(shown(name), f"{dimensions} dimensions", f"at most {MAX_DIMENSIONS}"))
    sizes = [int(cursor.number("<Q", f"shape of {shown(name)}")) for _ in range(dimensions)]
    kind = int(cursor.number("<I", f"type of {shown(name)}"))
    return name, tuple(reversed(sizes)), kind, int(cursor.number("<Q", f"offset of {shown(name)}"))


def _placed(
    header: GgufHeader,
    entries: list[tuple[str, tuple[int, ...], int, int]],
    end: int,
    size: int,
    faults: list[GgufFault],
) -> tuple[TensorInfo, ...]:
    """The tensors with their bytes, and what is wrong with names, types and places."""
    alignment = header.fields.get("general.alignment", DEFAULT_ALIGNMENT)
    if isinstance(alignment, bool | str | float) or alignment < 1 or alignment % 8:
        raise _BrokenError(GgufFault("general.alignment", shown(alignment), "a multiple of 8"))
    start = -(-end // alignment) * alignment
    found: dict[str, TensorInfo] = {}
    for name, shape, kind, offset in entries:
        if kind not in _TYPES:
            raise _NewerError(f"tensor type {kind} of {shown(name)} is not known here")
        dtype, block, block_bytes = _TYPES[kind]
        nbytes = math.prod(shape) // block * block_bytes
        if name in found:
            faults.append(GgufFault(shown(name), "stands twice", "once"))
        elif offset % alignment:
            faults.append(GgufFault(shown(name), f"offset {offset:,}", f"a multiple of {alignment}"))
        elif shape and shape[-1] % block:
            faults.append(GgufFault(shown(name), f"rows of {shape[-1]:,}", f"a multiple of {block} for {dtype}"))
        elif start + offset + nbytes > size:
            faults.append(GgufFault(shown(name), f"the file ends at {size:,}", f"at least {start + offset + nbytes:,}"))
        else:
            found[name] = TensorInfo(name, header.path, dtype, shape, start + offset, nbytes)
    return tuple(found.values())
