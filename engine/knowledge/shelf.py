"""Objects by id, each made of its text when it is first asked for: of thousands a case meets a few hundred."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from engine.knowledge.table import Table

T_co = TypeVar("T_co", covariant=True)


class Shelf(Mapping[str, T_co]):
    """What ``read`` makes of the texts, which are sorted by id."""

    def __init__(self, texts: Mapping[str, str], read: Callable[[str], T_co]) -> None:
        """Read nothing yet."""
        self._texts = texts
        self._read = read
        self._made: dict[str, T_co] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without what was made of the texts: another thread may be making more, and the receiver makes its own."""
        return {"_texts": self._texts, "_read": self._read, "_made": {}}

    def __getitem__(self, id_: str) -> T_co:
        """The object; KeyError without."""
        made = self._made.get(id_)
        if made is None:
            made = self._made[id_] = self._read(self._texts[id_])
        return made

    def __contains__(self, id_: object) -> bool:
        """Whether there is such an object; it is not made for that."""
        return id_ in self._made or id_ in self._texts

    def __iter__(self) -> Iterator[str]:
        """Every id, sorted."""
        if isinstance(self._texts, Table):  # who goes through them all is served faster by a dictionary
            self._texts = self._texts.whole()
        return iter(self._texts)

    def __len__(self) -> int:
        """The number of objects."""
        return len(self._texts)
