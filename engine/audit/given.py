"""From paths to a checkpoint: the folder, the intent, the base and the evidence, for whoever asks for an audit."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Folder, UnreadableError
from engine.audit.intent import MAX_INTENT_BYTES, Intent, parse_intent


class NothingToAuditError(UnreadableError):
    """A folder without anything in it."""


class OutsideError(UnreadableError):
    """A path that leads out of the folders that may be read."""


@dataclass(frozen=True)
class WrittenIntent:
    """An intent that is no file, and the folder that its paths are relative to."""

    content: bytes
    beside: Path


def checkpoint_of(
    directory: Path,
    intent: Path | WrittenIntent | None = None,
    base: Path | None = None,
    evals: Path | None = None,
    baseline: Path | None = None,
    cache: Path | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    within: Sequence[Path] = (),
) -> Checkpoint:
    """The checkpoint in ``directory`` with all that was given beside it.

    Args:
        intent: the file, or its content; without one nothing is declared.
        base: the checkpoint it was trained from; by default the intent's ``base_reference``, if that is a folder here.
        evals: results of evaluations of the checkpoint, a file or a folder.
        baseline: the same of what it is compared with.
        cache: folder that keeps scans of unchanged files; None keeps none.
        progress: called with the number of bytes read since the last call, from several threads.
        within: folders that everything must lie in; by default anything the process may read.

    Raises:
        IntentError: if the intent cannot be used.
        NothingToAuditError: if the folder is empty.
        OutsideError: if something that was named lies outside of ``within``.
        UnreadableError: if it is not there or cannot be read.
    """
    folder = Folder.of(inside(directory, within))
    if not folder.entries:
        raise NothingToAuditError(f"{directory} is empty")
    declared, beside = _declared(intent, within)
    of_base = inside(base, within) if base else _base_of(declared, beside, within)
    beneath = Folder.of(of_base) if of_base else None
    if base and beneath and not beneath.entries:
        raise UnreadableError(f"{base}, the base, is empty: it needs config.json, a tokenizer and weights")
    given = {"evals": evals, "baseline": baseline}
    return Checkpoint(
        folder,
        declared,
        beside,
        Checkpoint(beneath, cache=cache, progress=progress, hashing=False) if beneath else None,
        {name: _existing(inside(path, within)) for name, path in given.items() if path is not None},
        cache,
        progress,
    )


def _declared(intent: Path | WrittenIntent | None, within: Sequence[Path]) -> tuple[Intent, Path | None]:
    if intent is None:
        return Intent(), None
    if isinstance(intent, WrittenIntent):
        return parse_intent(intent.content), intent.beside
    return parse_intent(_content(inside(intent, within)), str(intent)), intent.parent


def _base_of(intent: Intent, beside: Path | None, within: Sequence[Path]) -> Path | None:
    """The folder that the intent calls its base; one that is not at hand leaves the gates that compare undecided."""
    if intent.base_reference is None or beside is None:
        return None
    path = beside / intent.base_reference
    try:
        return inside(path, within) if path.is_dir() else None
    except (UnreadableError, OSError, ValueError):
        return None


def inside(path: Path, within: Sequence[Path]) -> Path:
    """The path, if with every link followed it lies in one of the folders, or if there are none to lie in.

    Raises:
        OutsideError: if it does not.
        UnreadableError: if it is no usable path.
    """
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a null byte
        raise UnreadableError(f"{path} is no usable path") from None
    if within and not any(real.is_relative_to(root.resolve()) for root in within):
        raise OutsideError(f"{path} is outside of the folders that may be read")
    return path


def _existing(path: Path) -> Path:
    if not path.exists():
        raise UnreadableError(f"{path} is not there")
    return path


def _content(path: Path) -> bytes:
    """A small regular file; never waits for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableError(f"{path} is no regular file")
            return stream.read(MAX_INTENT_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None
