"""A large table of texts as the bytes it is kept in: looked up by halving, so that to start costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

REMEMBERED = 20_000
"""Keys whose lookup is remembered, found or not: a service meets the same words again and again."""


class Table(Mapping[str, str]):
    """Lines of key, tab and value, sorted by key, each with a line feed at its end."""

    def __init__(self, lines: bytes) -> None:
        """Read nothing yet."""
        self._lines = lines
        self._found = lru_cache(REMEMBERED)(self._search)

    @staticmethod
    def lines_of(texts: Mapping[str, str]) -> bytes | None:
        """The lines of a table, None if one of its texts cannot stand in a line."""
        if any("\n" in text or "\t" in text for item in texts.items() for text in item):
            return None
        return b"".join(sorted(f"{key}\t{value}\n".encode() for key, value in texts.items()))

    def __reduce__(self) -> tuple[type[Table], tuple[bytes]]:
        """Passed to another process without what it remembers."""
        return Table, (self._lines,)

    def __getitem__(self, key: str) -> str:
        """The value; KeyError without."""
        found = self._found(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        """Whether the table holds the key."""
        return isinstance(key, str) and self._found(key) is not None

    def __iter__(self) -> Iterator[str]:
        """Every key, sorted."""
        return iter(self.whole())

    def __len__(self) -> int:
        """The number of keys."""
        return self._lines.count(b"\n")

    def whole(self) -> dict[str, str]:
        """All of it."""
        lines = self._lines.decode().split("\n")[:-1]
        return {key: text for key, _, text in (line.partition("\t") for line in lines)}

    def _search(self, key: str) -> str | None:
        lines, wanted = self._lines, key.encode("utf-8", "surrogatepass") + b"\t"
        low, high = 0, len(lines)  # both at the start of a line
        while low < high:
            start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
            stop = lines.index(b"\n", start)
            line = lines[start:stop]
            if line.startswith(wanted):
                return line[len(wanted) :].decode()
            if line < wanted:
                low = stop + 1
            else:
                high = start
        return None
