"""What is wrong with a knowledge file, where, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DataPath = tuple[str | int, ...]
"""Where a value stands in a document: keys and indices from the top, e.g. ``('shows', 2, 'finding')``."""


class Place(NamedTuple):
    """Line and column, both counted from 1."""

    line: int
    column: int


START = Place(1, 1)


def place_of(positions: Mapping[DataPath, Place], path: DataPath) -> Place:
    """The place of ``path``, or of its nearest ancestor that stands in the file."""
    while path and path not in positions:
        path = path[:-1]
    return positions.get(path, START)


@dataclass(frozen=True, order=True)
class Problem:
    """One error. ``reason`` says what is wrong, ``hint`` what to write instead."""

    file: str
    line: int
    column: int
    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.reason}. {self.hint}"


class KbError(Exception):
    """A knowledge base that cannot be loaded: every problem found, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))
