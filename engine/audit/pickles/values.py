"""What a symbolic reading puts on the stack: descriptions of objects, never the objects themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_DICTS = ("collections.OrderedDict", "collections.defaultdict")


@dataclass(frozen=True, slots=True)
class Global:
    """A name that the pickle imports."""

    module: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class Built:
    """What a call or a class gives: ``callee`` with ``args``, then ``state`` set on it and members put into it."""

    callee: Any
    args: Any
    state: Any = None
    items: list[tuple[Any, Any]] | tuple[()] = ()
    appended: list[Any] | tuple[()] = ()

    @property
    def path(self) -> str:
        """The dotted name of what was called; empty if that is no imported name."""
        return self.callee.path if isinstance(self.callee, Global) else ""


@dataclass(slots=True, eq=False)
class Mapping:
    """A dict, with its pairs in the order of writing; keys may be anything."""

    items: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Bag:
    """A set or a frozen set."""

    members: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Persistent:
    """An object that lies outside the pickle, by its id; for torch the id describes a storage."""

    id: Any


@dataclass(frozen=True, slots=True)
class Blob:
    """Text, bytes or a number too long to keep; only its length in bytes is known."""

    length: int


def pairs(value: Any) -> Iterator[tuple[Any, Any]]:
    """Keys and values of a dict, an ordered dict, or the attributes of an object that was given a dict as its state."""
    if isinstance(value, Built) and not value.items and value.path not in _DICTS:
        value = value.state
    if isinstance(value, (Mapping, Built)):
        yield from value.items


def named(value: Any) -> dict[str, Any]:
    """The pairs whose key is a text; of equal keys the later one counts."""
    return {key: item for key, item in pairs(value) if isinstance(key, str)}
