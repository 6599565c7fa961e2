"""Weights that lie beside the ones that are used: files no index names, and second formats of the model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from engine.audit.architectures.names import is_optional
from engine.audit.compare import same_bytes
from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.tensors import TensorInfo

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

# One of these is what loaders look for in the top folder; several of them are several models.
_FORMAT = re.compile(
    r"^(model|pytorch_model|consolidated|adapter_model)(?:\.\d+|(-\d+-of-\d+))?\.(safetensors|bin|pth|pt)$"
)


def state_formats(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State which weight files nothing refers to, and whether a second format holds the same numbers."""
    formats: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for entry in checkpoint.folder.files():
        if match := _FORMAT.match(entry.path):
            formats[match[1], match[3]][entry.path] = match[2] is not None
    ledger.fact("audit.container.formats", float(len(formats)))
    ledger.count("audit.container.unreferenced", _unreferenced(checkpoint, formats))
    _second_formats(checkpoint, list(formats.values()), ledger)


def _unreferenced(checkpoint: Checkpoint, formats: Mapping[tuple[str, str], Mapping[str, bool]]) -> Iterator[Place]:
    """Files of a format that is sharded, which are no part of the shards."""
    index = checkpoint.index
    named = set(checkpoint.weight_map.values())
    for (stem, suffix), files in formats.items():
        if index is not None and index.path == f"{stem}.{suffix}.index.json" and named:
            for path in files:
                if path not in named:
                    yield Place(path, "", "no part of the index", f"named in {index.path}", "index")
        elif len(set(files.values())) > 1:
            whole = next(path for path, is_shard in files.items() if not is_shard)
            yield Place(whole, "", "a whole file beside shards", "one of the two", "format")


def _second_formats(checkpoint: Checkpoint, formats: list[dict[str, bool]], ledger: Ledger) -> None:
    fact = "audit.container.formats_differ"
    if len(formats) < 2:
        ledger.count(fact, ())
        return
    used = set(checkpoint.weight_files)
    formats = sorted(formats, key=lambda files: not used & files.keys())
    contents = [_tensors(checkpoint, files.keys()) for files in formats]
    first = next((index for index, tensors in enumerate(contents) if tensors), 0)
    places: list[Place] = []
    for files, tensors in zip(formats, contents, strict=True):
        if tensors is contents[first]:
            continue
        common = tensors.keys() & contents[first].keys()
        if len(common) * 2 < len(contents[first]) and not _is_adapter(files) | _is_adapter(formats[first]):
            name = min(files)
            ledger.unknown(
                fact,
                f"{name} cannot be compared with {min(formats[first])}: unreadable, or its tensors have other names.",
                f"{name} 无法与 {min(formats[first])} 比较：无法读取，或张量命名不同。",
            )
            return
        places += _differing(checkpoint, contents[first], tensors, min(files), common)
    ledger.count(fact, places)


def _is_adapter(files: Mapping[str, bool]) -> bool:
    return any(path.startswith("adapter_model") for path in files)


def _tensors(checkpoint: Checkpoint, files: Iterable[str]) -> dict[str, TensorInfo]:
    paths = set(files)
    headers = [checkpoint.headers[path] for path in sorted(paths) if path in checkpoint.headers]
    stored = [tensor for header in headers for tensor in header.declared]
    if not headers:
        from engine.audit.pickles import torch_tensors

        stored = [tensor for tensor in torch_tensors(checkpoint.folder, checkpoint.pickles) if tensor.file in paths]
    return {tensor.name: tensor for tensor in stored}


def _differing(
    checkpoint: Checkpoint,
    first: Mapping[str, TensorInfo],
    other: Mapping[str, TensorInfo],
    file: str,
    common: set[str],
) -> Iterator[Place]:
    folder = checkpoint.folder
    for name in sorted(common):
        if same_bytes(folder, first[name], folder, other[name]) is False:
            yield Place(file, shown(name), "other bytes", f"as in {first[name].file}", "header")
    # One of the two may store a tied matrix once more, and buffers that the other leaves out.
    tied = {tensor.storage for tensors in (first, other) for name in common if (tensor := tensors[name]).storage}
    for name in sorted(first.keys() ^ other.keys()):
        where = first.get(name) or other[name]
        if where.storage not in tied and not is_optional(name):
            yield Place(file, shown(name), f"only in {where.file}", "in both or in none", "header")
