"""Files of ``torch.save`` and other pickles, written operation by operation: nothing of torch is needed, and what a
pickle says can be anything."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.engine.audit.build.causal_lm import causal_lm, renew_sums
from tests.engine.audit.build.weights import Raw, load
from tests.engine.audit.given import Given

STORAGES = {"F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "I64": "LongStorage"}
_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}
MAGIC = 0x1950A86A20F9469CFC6C


class Name(NamedTuple):
    """Something that the pickle imports."""

    module: str
    name: str


@dataclass(eq=False)
class Call:
    """A call of an imported name; ``new`` makes an object without its constructor."""

    callee: Name
    args: tuple[Any, ...] = ()
    state: Any = None
    items: Mapping[Any, Any] = field(default_factory=dict)
    new: bool = False


class Outside(NamedTuple):
    """An object that lies outside the pickle."""

    id: Any


@dataclass
class Writer:
    """Writes values as a pickle of protocol 2 and remembers the tensors it met; one object is one storage."""

    storages: dict[int, tuple[str, Raw]] = field(default_factory=dict)

    def dumps(self, value: Any) -> bytes:
        return b"\x80\x02" + self.value(value) + b"."

    def value(self, value: Any) -> bytes:
        if isinstance(value, Raw):
            return self.value(self.tensor(value))
        if isinstance(value, Name):
            return f"c{value.module}\n{value.name}\n".encode()
        if isinstance(value, Outside):
            return self.value(value.id) + b"Q"
        if isinstance(value, Call):
            written = self.value(value.callee) + self.value(value.args) + (b"\x81" if value.new else b"R")
            if value.items:
                written += b"(" + b"".join(self.value(k) + self.value(v) for k, v in value.items.items()) + b"u"
            return written + (self.value(value.state) + b"b" if value.state is not None else b"")
        if isinstance(value, dict):
            return b"}(" + b"".join(self.value(k) + self.value(v) for k, v in value.items()) + b"u"
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.value, value)) + b"t"
        if isinstance(value, list):
            return b"](" + b"".join(map(self.value, value)) + b"e"
        return pickle.dumps(value, 2)[2:-1]  # a plain text or number, without the frame around it

    def tensor(self, raw: Raw, start: int = 0) -> Call:
        """The call that rebuilds a tensor of ``raw``."""
        key, _ = self.storages.setdefault(id(raw), (str(len(self.storages)), raw))
        count = len(raw.data) // _BYTES[raw.dtype]
        storage = Outside(("storage", Name("torch", STORAGES[raw.dtype]), key, "cpu", count))
        stride, step = [], 1
        for size in reversed(raw.shape):
            stride.insert(0, step)
            step *= max(size, 1)
        hooks = Call(Name("collections", "OrderedDict"))
        return Call(
            Name("torch._utils", "_rebuild_tensor_v2"), (storage, start, raw.shape, tuple(stride), False, hooks)
        )


def state_dict(tensors: Mapping[str, Raw]) -> Call:
    """Tensors by name as ``state_dict()`` gives them; the same object under two names is one storage."""
    return Call(Name("collections", "OrderedDict"), items=tensors, state={"_metadata": {}})


def torch_zip(value: Any, stem: str = "archive") -> bytes:
    """The bytes of a file of ``torch.save``."""
    buffer = io.BytesIO()
    writer = Writer()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{stem}/data.pkl", writer.dumps(value))
        archive.writestr(f"{stem}/byteorder", "little")
        for key, raw in writer.storages.values():
            archive.writestr(f"{stem}/data/{key}", raw.data)
        archive.writestr(f"{stem}/version", "3\n")
    return buffer.getvalue()


def legacy(value: Any) -> bytes:
    """The bytes of a file of ``torch.save`` before version 1.6."""
    writer = Writer()
    written = writer.dumps(value)
    parts = [MAGIC, 1001, {"protocol_version": 1001, "little_endian": True}]
    keys = [key for key, _ in writer.storages.values()]
    head = b"".join(writer.dumps(part) for part in parts) + written + writer.dumps(keys)
    return head + b"".join(
        struct.pack("<q", len(raw.data) // _BYTES[raw.dtype]) + raw.data for _, raw in writer.storages.values()
    )


def save(path: Path, value: Any) -> None:
    """Write a file of ``torch.save``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(torch_zip(value, path.name.partition(".")[0] or "archive"))


def hostile(command: str = "touch /tmp/never", module: str = "posix", name: str = "system") -> bytes:
    """A pickle that runs a command when it is loaded."""
    return Writer().dumps(Call(Name(module, name), (command,)))


def torch_lm(folder: Path) -> Given:
    """The tiny model with its weights in a file of ``torch.save``."""
    given = causal_lm(folder)
    file = given.root / "model.safetensors"
    save(given.root / "pytorch_model.bin", state_dict(load(file)))
    file.unlink()
    renew_sums(given.root)
    return given
