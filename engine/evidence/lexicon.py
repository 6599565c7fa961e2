"""All words worth noticing in one trie over tokens, and where they occur in a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from engine.evidence.tokens import words_of


class Layer(IntEnum):
    """What kind of word list a form belongs to; it decides what hides what."""

    CONCEPT = 0
    WORD = 1
    LITERAL = 2
    CUE = 3
    ALIAS = 4
    VALUE = 5


_HIDERS = {
    Layer.CONCEPT: frozenset({Layer.CONCEPT}),
    Layer.WORD: frozenset({Layer.CONCEPT}),
    Layer.LITERAL: frozenset[Layer](),
    Layer.CUE: frozenset({Layer.CONCEPT, Layer.LITERAL, Layer.CUE}),
    Layer.ALIAS: frozenset({Layer.ALIAS}),
    Layer.VALUE: frozenset({Layer.CONCEPT, Layer.VALUE}),
}
"""The layers whose longer forms hide a form of the key: LOSS inside "critic loss", "not" inside "does not stop"."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One occurrence of a name: tokens [start, end)."""

    layer: Layer
    name: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    exact: dict[str, _Node] = field(default_factory=dict)
    stems: dict[str, _Node] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    names: list[tuple[Layer, str]] = field(default_factory=list)

    def child(self, word: str) -> _Node:
        if not word.endswith("*"):
            return self.exact.setdefault(word, _Node())
        stem = word[:-1]
        if stem not in self.stems:
            self.stems[stem] = _Node()
            self.lengths = sorted({len(known) for known in self.stems})
        return self.stems[stem]

    def after(self, word: str) -> list[_Node]:
        node = self.exact.get(word)
        found = [node] if node is not None else []
        for length in self.lengths:
            if length > len(word):
                break
            node = self.stems.get(word[:length])
            if node is not None:
                found.append(node)
        return found


class Lexicon:
    """Forms by name. ``add`` while building, then ``find``."""

    def __init__(self) -> None:
        """Start with no forms."""
        self._root = _Node()

    def add(self, layer: Layer, name: str, form: str) -> None:
        """One more form of ``name``; a form without any word is ignored."""
        words = words_of(form)
        node = self._root
        for word in words:
            node = node.child(word)
        if words and (layer, name) not in node.names:
            node.names.append((layer, name))

    def find(self, words: list[str]) -> list[Hit]:
        """Every occurrence that no longer one hides, by position, the longer first."""
        hits: list[Hit] = []
        first: dict[str, list[_Node]] = {}
        for start, word in enumerate(words):
            nodes = first.get(word)
            if nodes is None:
                nodes = first[word] = self._root.after(word)
            if nodes:
                hits.extend(_walk(nodes, words, start))
        return list(_visible(hits))


def _walk(nodes: list[_Node], words: list[str], start: int) -> list[Hit]:
    """The forms that start here, the longest of each name, the longer first."""
    found: dict[tuple[Layer, str], int] = {}
    end = start + 1
    while nodes:
        for node in nodes:
            for name in node.names:
                found[name] = end
        nodes = [node for node in nodes if node.exact or node.stems]
        if not nodes or end == len(words):
            break
        nodes = [child for node in nodes for child in node.after(words[end])]
        end += 1
    hits = [Hit(layer, name, start, end) for (layer, name), end in found.items()]
    if len(hits) > 1:
        hits.sort(key=_ends_last)
    return hits


def _ends_last(hit: Hit) -> int:
    return -hit.end


def _visible(hits: Iterable[Hit]) -> Iterable[Hit]:
    """Drop the hidden: ``reach`` holds, a layer, the occurrence so far that ends last (and starts first)."""
    reach: dict[Layer, Hit] = {}
    for hit in hits:
        for layer in _HIDERS[hit.layer]:
            outer = reach.get(layer)
            if outer is not None and outer.end >= hit.end and outer.end - outer.start > hit.end - hit.start:
                break
        else:
            yield hit
        known = reach.get(hit.layer)
        if known is None or hit.end > known.end:
            reach[hit.layer] = hit


def inflections(word: str) -> list[str]:
    """An English word with its regular endings ("shard" also finds "shards", "sharded", "sharding")."""
    if not (word.isascii() and word.isalpha() and len(word) >= 4):
        return [word]
    if word.endswith("e"):
        return [word, word + "s", word + "d", word[:-1] + "ing"]
    return [word, word + "s", word + "es", word + "ed", word + "ing"]
