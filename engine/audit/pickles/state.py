"""Tensors of sharded training state: pieces of ``torch.distributed.checkpoint``, and what ranks of DeepSpeed saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.audit.folder import Folder
from engine.audit.pickles import dcp, deepspeed
from engine.audit.pickles.survey import Pickled, Survey
from engine.audit.tensors import TensorInfo


def state_tensors(folder: Folder, survey: Survey) -> Iterator[TensorInfo]:
    """Every tensor of the state whose bytes lie in one piece of a file, by the name ``file: tensor``.

    A piece of a shard is known by its place in the file, which the metadata beside it gives the tensor's name.
    """
    for entry in folder.files(".distcp"):
        names = _names(survey, entry.path)
        for pickled in survey.of(entry.path):
            yield from _named(pickled, names.get((entry.name, pickled.section), f"byte {pickled.section:,}"))
    for tag in deepspeed.tags(folder, survey):
        for path in tag.files:
            for pickled in survey.of(path):
                yield from _named(pickled, "")


def _names(survey: Survey, path: str) -> dict[tuple[str, int], str]:
    """Names of the tensors by file and offset, as the metadata in the folder of a shard has them."""
    where = path.rpartition("/")[0]
    pickled = next(iter(survey.of(f"{where}/{dcp.NAME}".lstrip("/"))), None)
    found = dcp.layout(pickled.value) if pickled else None
    return {(at.path, at.offset): name for (name, _), at in found.extents.items()} if found else {}


def _named(pickled: Pickled, name: str) -> Iterator[TensorInfo]:
    if pickled.form in ("torch", "legacy"):
        for tensor in pickled.tensors(lists=True):
            full = ".".join(filter(None, (name, tensor.name)))
            yield replace(tensor, name=f"{pickled.path}: {full}")
