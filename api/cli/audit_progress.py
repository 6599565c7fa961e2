"""How much of a checkpoint has been read so far, on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from engine.audit.checkpoint import Checkpoint


class Watch:
    """Told of bytes that were read, from any thread; without a terminal it shows nothing."""

    def __init__(self, bar: Progress | None = None) -> None:
        self._bar = bar
        self._task: TaskID | None = bar.add_task("", total=None) if bar else None

    def expect(self, checkpoint: Checkpoint) -> None:
        """Take all bytes of the checkpoint, and of its base, for the whole."""
        if self._bar is not None and self._task is not None:
            both = [checkpoint, *([checkpoint.base] if checkpoint.base else [])]
            self._bar.update(self._task, total=sum(e.size for one in both for e in one.folder.files()))

    def advance(self, count: int) -> None:
        """Another ``count`` bytes were read."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)


@contextmanager
def watching() -> Iterator[Watch]:
    """A watch, whose bar is gone at the end of the ``with``."""
    if not sys.stderr.isatty():
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Watch(bar)
