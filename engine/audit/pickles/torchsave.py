"""What ``torch.save`` wrote: tensors by name, with the bytes in the file that hold them.

Source: ``torch.serialization`` and ``torch._utils`` of torch 2.13 for the form of the calls and of the storages, and
the reader of the older format (five pickles, then the storages one after the other) for files before 1.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.audit.pickles.values import Built, Global, Mapping, Persistent, named, pairs
from engine.audit.tensors import DTYPE_BITS, TensorInfo

MAX_TENSORS = 1_000_000
MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {
    "Float": "F32", "Half": "F16", "BFloat16": "BF16", "Double": "F64", "Long": "I64", "Int": "I32", "Short": "I16",
    "Char": "I8", "Byte": "U8", "Bool": "BOOL", "ComplexFloat": "C64", "QInt8": "I8", "QUInt8": "U8", "QInt32": "I32",
}  # fmt: skip
_DTYPES = {
    "float32": "F32", "float": "F32", "float16": "F16", "half": "F16", "bfloat16": "BF16", "float64": "F64",
    "double": "F64", "int64": "I64", "long": "I64", "int32": "I32", "int": "I32", "int16": "I16", "short": "I16",
    "int8": "I8", "uint8": "U8", "bool": "BOOL", "uint16": "U16", "uint32": "U32", "uint64": "U64", "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip
_PARTS = ("state_dict", "model_state_dict", "module", "model")
_REBUILD = "torch._utils._rebuild_"


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes of the file that tensors share."""

    name: str
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as the pickle describes it; offset and stride count elements."""

    storage: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    start: int

    @property
    def span(self) -> int:
        """How many elements of the storage lie from its first to its last one."""
        if math.prod(self.shape) == 0:
            return 0
        return 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))


def tensor_of(value: Any) -> Tensor | None:
    """The tensor that a call rebuilds; None if it is no tensor, or one that is not kept as plain numbers."""
    for _ in range(4):  # a parameter around a subclass around a tensor
        if not isinstance(value, Built) or not isinstance(value.args, tuple) or not value.args:
            return None
        if value.path == "torch._tensor._rebuild_from_type_v2" and len(value.args) >= 3:
            value = Built(value.args[0], value.args[2])
        elif value.path in (f"{_REBUILD}parameter", f"{_REBUILD}parameter_with_state"):
            value = value.args[0]
        else:
            break
    if value.path not in (f"{_REBUILD}tensor", f"{_REBUILD}tensor_v2", f"{_REBUILD}tensor_v3", f"{_REBUILD}qtensor"):
        return None
    if len(value.args) < 4:
        return None
    storage, start, shape, stride = value.args[:4]
    key = storage_key(storage)
    shape, stride = sizes(shape), sizes(stride)
    if key is None or not _natural(start) or shape is None or stride is None or len(shape) != len(stride):
        return None
    dtype = _STORAGES.get(key[1], "")
    if value.path.endswith("_v3") and len(value.args) > 6 and isinstance(value.args[6], Global):
        dtype = _DTYPES.get(value.args[6].name, "")
    return Tensor(key[0], dtype, shape, stride, start) if dtype else None


def storage_key(value: Any) -> tuple[str, str] | None:
    """Key and element kind of a storage that lies outside the pickle."""
    if not isinstance(value, Persistent) or not isinstance(value.id, tuple) or len(value.id) < 3:
        return None
    word, kind, key = value.id[:3]
    if word != "storage" or not isinstance(kind, Global) or not isinstance(key, (str, int)):
        return None
    return str(key), kind.name.removesuffix("Storage")


def storage_bits(value: Any) -> int | None:
    """Bits that a storage's elements take in all; None if it is no storage of a known kind."""
    key = storage_key(value)
    if key is None or len(value.id) < 5 or not _natural(value.id[4]):
        return None
    bits = 8 if key[1] == "Untyped" else DTYPE_BITS.get(_STORAGES.get(key[1], ""))
    return None if bits is None else bits * int(value.id[4])


def sizes(value: Any) -> tuple[int, ...] | None:
    """A shape, written as a tuple or as ``torch.Size``."""
    if isinstance(value, Built) and value.path == "torch.Size" and len(value.args) == 1:
        value = value.args[0]
    return value if isinstance(value, tuple) and len(value) <= 64 and all(map(_natural, value)) else None


def _natural(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def weights(value: Any) -> Any:
    """The part of a saved object that holds the weights: itself, or the entry by which trainers file them."""
    entries = named(value)
    if any(tensor_of(item) for item in entries.values()):
        return value
    return next((entries[part] for part in _PARTS if isinstance(entries.get(part), (Mapping, Built))), value)


def tensors(value: Any, *, lists: bool = False) -> Iterator[tuple[str, Tensor]]:
    """Every tensor below ``value`` by its dotted name, each object looked at once; those in lists only if asked for."""
    todo: list[tuple[str, Any]] = [("", value)]
    seen: set[int] = set()
    found = 0
    while todo and found < MAX_TENSORS:
        name, item = todo.pop()
        tensor = tensor_of(item)
        if tensor is not None:
            found += 1
            yield name, tensor
        elif (isinstance(item, (Mapping, Built)) or (lists and isinstance(item, list))) and id(item) not in seen:
            seen.add(id(item))
            parts = enumerate(item) if isinstance(item, list) else pairs(item)
            below = [(f"{name}.{key}" if name else str(key), x) for key, x in parts if isinstance(key, (str, int))]
            todo.extend(reversed([entry for entry in below if len(entry[0]) <= 1000]))


def place(path: str, name: str, tensor: Tensor, storage: Storage) -> TensorInfo | None:
    """Where a tensor's bytes lie in its file, from its first to its last element; None if the storage is too short."""
    bits = DTYPE_BITS[tensor.dtype]
    if (tensor.start + tensor.span) * bits > storage.nbytes * 8:
        return None
    offset = storage.offset + tensor.start * bits // 8
    return TensorInfo(name, path, tensor.dtype, tensor.shape, offset, tensor.span * bits // 8, storage.name)
