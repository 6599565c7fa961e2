"""All words worth noticing in one trie over tokens, and where they occur in a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from engine.evidence.inflection import variants
from engine.evidence.tokens import words_of

MAX_FIRST = 20_000
"""Words whose places in the trie are remembered: more than a language uses, and less than a hostile text holds."""

FILLERS = frozenset([
    "the", "a", "an", "my", "our", "its", "this", "much", "very", "far", "way", "even", "quite", "really", "so",
    "significantly", "considerably", "noticeably", "unusually", "extremely", "slightly", "dramatically", "drastically",
    "substantially", "incredibly", "terribly", "abnormally", "visibly",
])  # fmt: skip
"""Words that change nothing where they stand inside a form of several: "takes much longer", "saves the checkpoint"."""


class Layer(IntEnum):
    """What kind of word list a form belongs to; it decides what hides what."""

    CONCEPT = 0
    WORD = 1
    LITERAL = 2
    CUE = 3
    ALIAS = 4
    VALUE = 5
    BLOCK = 6
    DENIAL = 7


_HIDERS = {
    Layer.CONCEPT: frozenset({Layer.CONCEPT, Layer.BLOCK}),
    Layer.WORD: frozenset({Layer.DENIAL}),
    Layer.LITERAL: frozenset[Layer](),
    Layer.CUE: frozenset({Layer.CONCEPT, Layer.LITERAL, Layer.CUE, Layer.BLOCK}),
    Layer.ALIAS: frozenset({Layer.ALIAS}),
    Layer.VALUE: frozenset({Layer.CONCEPT, Layer.VALUE}),
    Layer.BLOCK: frozenset(),
    Layer.DENIAL: frozenset(),
}
"""The layers whose longer forms hide a form of the key: LOSS inside "critic loss", "not" inside "does not stop".

A plain word of a phrase is hidden only behind a negator of the same form: "help" inside "does not help".
"""


class Hit(NamedTuple):
    """One occurrence of a name: tokens [start, end)."""

    layer: Layer
    name: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """A place in the trie. What most nodes lack is shared, for there are many nodes."""

    exact: dict[str, _Node] = field(default_factory=dict)
    stems: dict[str, _Node] | None = None
    lengths: tuple[int, ...] = ()
    names: tuple[tuple[Layer, str], ...] = ()

    def child(self, word: str) -> _Node:
        known = self.exact
        if word.endswith("*"):
            word = word[:-1]
            known = self.stems = self.stems or {}
            self.lengths = tuple(sorted({*self.lengths, len(word)}))
        node = known.get(word)
        if node is None:
            node = known[word] = _Node()
        return node

    def after(self, word: str) -> list[_Node]:
        node = self.exact.get(word)
        found = [node] if node is not None else []
        if self.stems is not None:
            found += [self.stems[word[:n]] for n in self.lengths if n <= len(word) and word[:n] in self.stems]
        if word[-1] in "):":  # rare, and this is asked for every word
            bare = _bare(word)
            return found + self.after(bare) if bare else found
        return found


_Start = tuple[list[tuple[Layer, str]], list[_Node]]
"""What one word says by itself, and where the forms that go on after it stand in the trie."""


def packed(entries: Mapping[str, Any]) -> dict[str, str]:
    """Every entry as JSON text of its own: of thousands, a report needs a few hundred, and only those are parsed."""
    return {key: json.dumps(value, ensure_ascii=False, separators=(",", ":")) for key, value in entries.items()}


def _bare(word: str) -> str:
    """A word without the colon or call brackets that forms do without ("query:", "item()"); "" if it has none."""
    return word[:-2] if word[-1] == ")" else word[:-1] if word[-1] == ":" else ""


class Lexicon:
    """Forms by name. ``add`` while building, then ``find``.

    A form is only threaded into the trie when a text holds its first word: there are some twenty thousand forms, and a
    report meets a few hundred.
    """

    def __init__(self, layers: frozenset[int] = frozenset(Layer)) -> None:
        """Start with no forms; of ``layers`` alone any are found."""
        self._layers = layers
        self._root = _Node()
        self._added: set[tuple[Layer, str, str]] = set()
        self._waiting: dict[str, list[tuple[list[str], int, str]]] = {}
        self._stems: list[tuple[list[str], int, str]] = []
        self._kept: Mapping[str, str] = {}
        self._threaded: set[str] = set()
        self._first: dict[str, _Start] = {}
        self._sealed = False

    def index(self) -> dict[str, Any]:
        """All forms as plain data, to be kept and restored: cutting them into words takes most of the time to start.

        Only of a lexicon in which nothing was looked up yet.
        """
        return {"forms": packed(self._waiting), "stems": self._stems}

    @staticmethod
    def restored(index: dict[str, Any], layers: frozenset[int] = frozenset(Layer)) -> Lexicon:
        """The lexicon of an ``index``, or some layers of it.

        It holds every form already: what is added to it is ignored.
        """
        lexicon = Lexicon(layers)
        lexicon._kept = index["forms"]
        for stem in index["stems"]:
            lexicon._thread(*stem)
        lexicon._sealed = True
        return lexicon

    def add(self, layer: Layer, name: str, form: str) -> None:
        """One more form of ``name``; a form without any word is ignored."""
        if self._sealed or (layer, name, form) in self._added:
            return
        self._added.add((layer, name, form))
        first = words_of(form)
        for words in variants(first) if layer is Layer.CONCEPT else [first]:
            if words:
                self._keep(layer, name, words)

    def _keep(self, layer: Layer, name: str, words: list[str]) -> None:
        if words[0].endswith("*"):
            self._stems.append((words, layer, name))
            self._thread(words, layer, name)
        else:
            self._waiting.setdefault(words[0], []).append((words, layer, name))
            self._first.clear()

    def _thread(self, words: list[str], layer: int, name: str) -> None:
        if layer not in self._layers:
            return
        node = self._root
        for word in words:
            node = node.child(word)
        key = (Layer(layer), name)
        if key not in node.names:
            node.names += (key,)

    def _starting_with(self, word: str) -> _Start:
        """What begins with a word, once the forms that do are in the trie."""
        known = self._first.get(word)
        if known is not None:
            return known
        begin = word
        while begin:
            if begin in self._kept and begin not in self._threaded:
                self._threaded.add(begin)
                self._waiting.setdefault(begin, []).extend(json.loads(self._kept[begin]))
            for waiting in self._waiting.pop(begin, ()):
                self._thread(*waiting)
            begin = _bare(begin)
        if len(self._first) >= MAX_FIRST:
            self._first.clear()
        nodes = self._root.after(word)
        names = [name for node in reversed(nodes) for name in reversed(node.names)]
        known = self._first[word] = names, [node for node in nodes if node.exact or node.stems]
        return known

    def has(self, layer: Layer, name: str) -> bool:
        """Whether ``name`` was added under itself."""
        return (layer, name, name) in self._added

    def find(self, words: list[str]) -> list[Hit]:
        """Every occurrence that no longer one hides, by position, the longer first."""
        hits: list[Hit] = []
        for start, word in enumerate(words):
            names, nodes = self._starting_with(word)
            if nodes:
                hits += _walk(nodes, words, start)
            for layer, name in names:
                hits.append(Hit(layer, name, start, start + 1))
        return _visible(hits)


def _walk(nodes: list[_Node], words: list[str], start: int) -> list[Hit]:
    """The forms of several words that start here, the longer first."""
    found: list[Hit] = []
    end = start + 1
    while nodes and end < len(words):
        word = words[end]
        end += 1
        further = [child for node in nodes for child in node.after(word)]
        for node in further:
            for layer, name in node.names:
                found.append(Hit(layer, name, start, end))
        nodes = further + nodes if word in FILLERS else further
    found.reverse()
    return found


def _visible(hits: list[Hit]) -> list[Hit]:
    """Drop the hidden: ``reach`` holds, a layer, the occurrence so far that ends last (and starts first)."""
    reach: dict[Layer, Hit] = {}
    visible: list[Hit] = []
    for hit in hits:
        layer, _, start, end = hit
        for hider in _HIDERS[layer]:
            outer = reach.get(hider)
            if outer is None or outer.end < end or outer.end - outer.start <= end - start:
                continue
            if hider is not Layer.DENIAL or outer.start < start:
                break
        else:
            visible.append(hit)
        known = reach.get(layer)
        if known is None or end > known.end:
            reach[layer] = hit
    return visible
