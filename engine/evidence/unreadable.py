"""Why a text is no document, without what reading one needs."""

from __future__ import annotations

from collections.abc import Iterable

MAX_REPEATED = 20


class UnreadableTextError(Exception):
    """A text that is no YAML; ``where`` names the line, as far as it is known."""

    def __init__(self, where: str, why: str) -> None:
        self.where = where
        super().__init__(why)


class RepeatedKeyError(UnreadableTextError):
    """A key that stands twice in one object: of the two, one would be lost without a word."""


def note_repeated(keys: Iterable[str], repeated: list[str] | None, where: str = "") -> None:
    """Note keys that stand twice, a few of them.

    Raises:
        RepeatedKeyError: if there is no list to note them in.
    """
    for key in keys:
        if repeated is None:
            raise RepeatedKeyError(where, f"the key {key!r} stands twice in one object")
        if len(repeated) < MAX_REPEATED:
            repeated.append(key)
