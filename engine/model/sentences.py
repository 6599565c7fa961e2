"""Sentences that the code says itself, in both languages, by key; all else is worded in the knowledge base."""

from __future__ import annotations

from collections.abc import Mapping

from engine.model.base import Lang, Text


class Sentences:
    """A table of sentences with places in braces."""

    def __init__(self, table: Mapping[str, Text]) -> None:
        self._table = table

    def say(self, key: str, lang: Lang, **values: object) -> str:
        """The sentence of that key in ``lang``, with its places filled."""
        return self._table[key].get(lang).format(**values)
