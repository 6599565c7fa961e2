"""Which family a text speaks of, by weights of words that are learnt from what is written of the causes.

BM25 says how much a text has of what one cause is told with; this says which words tell the families apart. It is a
softmax regression on TF-IDF vectors of unit length, trained by AdaGrad with one rate a word (Duchi, Hazan and Singer,
Adaptive Subgradient Methods, 2011) in a fixed order, so that the same knowledge gives the same weights.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.inference.network import Array

Words = Mapping[str, int]
"""How often each term stands in a text."""

_Vector = tuple[NDArray[np.intp], NDArray[np.float32]]

# Chosen on 419 real incidents that nothing was written for; more passes over the documents gained nothing.
_PASSES = 3
_RATE = 0.3
_BATCH = 128
_BIAS = 0.1
_FEWEST = 2
"""A term of one document only tells nothing that the next text will repeat."""

_LEVELS = 46
_ZERO = ord("!") + _LEVELS
"""A weight is kept as a printable character: so many steps on either side of this one."""


def learnt(documents: Sequence[tuple[int, Words]], families: int) -> dict[str, Any]:
    """The weights as plain data, to be kept: by term its IDF, the size of a step, and a character for each family.

    Args:
        documents: the number of the family, and the terms, of each text.
        families: how many there are.
    """
    held = Counter(term for _, words in documents for term in words)
    known = sorted(term for term, count in held.items() if count >= _FEWEST)
    rarity = {term: math.log((1 + len(documents)) / (1 + held[term])) + 1 for term in known}
    place = {term: number for number, term in enumerate(known)}
    bias = len(known)
    vectors = [_vector(words, place, rarity, bias) for _, words in documents]
    of = np.array([family for family, _ in documents], dtype=np.intp)
    share = np.bincount(of, minlength=families) * families / max(len(of), 1)
    worth = 1 / np.sqrt(np.maximum(share, 1e-9))  # families of which little is written count somewhat more
    weights = np.zeros((len(known) + 1, families), np.float32)
    squares = np.full(len(known) + 1, 1e-3, np.float32)
    for chosen in _batches(len(documents)):
        places = np.concatenate([vectors[i][0] for i in chosen])
        values = np.concatenate([vectors[i][1] for i in chosen])[:, None]
        lengths = np.array([len(vectors[i][0]) for i in chosen])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        missed = _shares(np.add.reduceat(weights[places] * values, starts, axis=0))
        missed[np.arange(len(chosen)), of[chosen]] -= 1
        missed *= worth[of[chosen], None]
        slopes = np.repeat(missed, lengths, axis=0).astype(np.float32) * values
        order = np.argsort(places, kind="stable")
        touched, first = np.unique(places[order], return_index=True)
        slopes = np.add.reduceat(slopes[order], first, axis=0)
        squares[touched] += (slopes * slopes).mean(axis=1)
        weights[touched] -= _RATE * slopes / np.sqrt(squares[touched])[:, None]
    lines = {term: f"{rarity[term]:.3f} {_written(weights[number])}" for term, number in place.items()}
    return {"bias": _written(weights[bias]), "terms": lines}


class Discriminant:
    """The weights of all terms, by what was :func:`learnt`."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        """Take the weights; those of a term are read when it first occurs."""
        self._terms: Mapping[str, str] = weights["terms"]
        self._bias = _read(weights["bias"])
        self._known: dict[str, tuple[float, Array]] = {}

    def bits(self, words: Words) -> tuple[Array, int]:
        """For every family log2 of its share of belief by the words alone, 0 for the best; and of how many words."""
        total = np.zeros(len(self._bias))
        square, told = 0.0, 0
        for term, times in words.items():
            if term in self._terms:
                rarity, weights = self._known.get(term) or self._reading(term)
                value = _value(times, rarity)
                total += value * weights
                square += value * value
                told += 1
        if not told:
            return total, 0
        scores = total / math.sqrt(square) + _BIAS * self._bias
        return np.asarray((scores - scores.max()) / math.log(2), np.float64), told

    def _reading(self, term: str) -> tuple[float, Array]:
        rarity, _, line = self._terms[term].partition(" ")
        self._known[term] = float(rarity), _read(line)
        return self._known[term]


def _batches(count: int) -> Iterator[NDArray[np.intp]]:
    """The documents in portions, those of one cause far apart: by a stride that visits each once."""
    stride = next((step for step in range(int(0.618 * count), count) if math.gcd(step, count) == 1), 1)
    order = np.arange(count, dtype=np.intp) * stride % max(count, 1)
    for _ in range(_PASSES):
        for start in range(0, count, _BATCH):
            yield order[start : start + _BATCH]


def _vector(words: Words, place: Mapping[str, int], rarity: Mapping[str, float], bias: int) -> _Vector:
    held = [term for term in words if term in place]
    values = np.array([_value(words[term], rarity[term]) for term in held])
    values = np.append(values / max(float(np.sqrt((values * values).sum())), 1e-9), _BIAS)
    return np.array([*(place[term] for term in held), bias], np.intp), values.astype(np.float32)


def _value(times: int, rarity: float) -> float:
    return (1 + math.log(times)) * rarity


def _shares(scores: NDArray[np.float32]) -> Array:
    raised = np.exp((scores - scores.max(axis=1, keepdims=True)).astype(np.float64))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float64)


def _written(weights: NDArray[np.float32]) -> str:
    step = max(float(np.abs(weights).max()), 1e-9) / _LEVELS
    steps = np.rint(weights / step).astype(np.int64) + _ZERO
    return f"{step:.5g} {bytes(steps.astype(np.uint8)).decode('ascii')}"


def _read(line: str) -> Array:
    step, _, steps = line.partition(" ")
    return (np.frombuffer(steps.encode("ascii"), np.uint8).astype(np.float64) - _ZERO) * float(step)
