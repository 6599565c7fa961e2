"""Pickles and the archives around them, read symbolically: nothing is imported, built or called."""

from __future__ import annotations

from collections.abc import Iterable

from engine.audit.folder import Folder
from engine.audit.tensors import TensorInfo


def torch_tensors(folder: Folder) -> Iterable[TensorInfo]:
    """Every tensor of the folder's PyTorch weight files."""
    return ()
