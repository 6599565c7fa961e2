"""What makes a kind of file known: how its beginning looks, and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from engine.evidence.readers.lines import Limits
from engine.evidence.series import RunRecord


@dataclass(frozen=True, slots=True)
class Format:
    """``recognises`` sees the first 64 KiB (inflated); ``read`` gets the stream from its start, label and limits.

    Neither raises on content: a file that is cut or damaged gives a partial record that says so.
    """

    id: str
    recognises: Callable[[bytes], bool]
    read: Callable[[IO[bytes], str, Limits], RunRecord]
