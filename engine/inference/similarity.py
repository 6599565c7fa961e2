"""How far a report resembles a cause's own description (BM25): a small, capped shift of its prior.

It helps where people use words that no phrase knows. It is no reason: it can never carry a cause past *unknown*, and
the answer shows it as "resembles the description". BM25 and its constants: Robertson and Zaragoza, The Probabilistic
Relevance Framework, 2009.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.inference.rank import Array
from engine.model.kb import Cause, Finding

K1 = 1.2
B = 0.75
MAX_TEXT = 20_000
_WORDS = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]+")
_ENDINGS = ("ings", "ing", "edly", "ed", "es", "s", "ly")
_COMMON_WORDS = """
a an and or of to in on at is are was were be been it its this that these those with for from by as not no but
we i you they he she our my their same when then than so if after before only all any each one two does do did
has have had the can could will would should may might must there here what which who how why very more most less
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def terms(text: str) -> list[str]:
    """Words in lower case with their endings cut, Chinese as pairs of characters, common words left out."""
    result: list[str] = []
    for word in _WORDS.findall(text.lower()):
        if word[0] >= "\u4e00":
            result += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        elif word not in _COMMON:
            result.append(_stem(word))
    return result


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def index_of(causes: Sequence[Cause], findings: Mapping[str, Finding]) -> dict[str, Any]:
    """The terms of all descriptions as plain data, to be kept: the lengths, and by term "row times row times …"."""
    shown = {link.finding for cause in causes for link in cause.shows if findings[link.finding].role != "context"}
    titles = {name: Counter(terms(f"{findings[name].title.en} {findings[name].title.zh}")) for name in shown}
    documents = [_document(cause, titles) for cause in causes]
    postings: dict[str, list[str]] = {}
    for row, document in enumerate(documents):
        for term, times in document.items():
            postings.setdefault(term, []).append(f"{row} {times}")
    return {
        "lengths": [sum(document.values()) for document in documents],
        "postings": {term: " ".join(found) for term, found in postings.items()},
    }


class Similarity:
    """The descriptions of all causes, by their ``index_of``."""

    def __init__(self, index: dict[str, Any]) -> None:
        """Take the index."""
        self._count = len(index["lengths"])
        lengths = np.array(index["lengths"], dtype=np.float64)
        self._norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if self._count else 1.0, 1.0))
        self._postings: dict[str, str] = index["postings"]

    def bits(self, text: str, cap: float) -> Array:
        """For every cause, 0 to ``cap`` bits: where its score lies between the median cause and the best one.

        A text that resembles nothing well gives little to all: the best score is held against what the text's own
        terms could reach.
        """
        scores = np.zeros(self._count)
        reachable = 0.0
        for term in dict.fromkeys(terms(text[:MAX_TEXT])):
            if term in self._postings:
                rows, weights = self._weights(term)
                scores[rows] += weights
                reachable += float(weights.max())
        if not reachable:
            return scores
        middle, best = float(np.median(scores)), float(scores.max())
        if best <= middle:
            return np.zeros(self._count)
        strength = min(1.0, 2.0 * best / reachable)
        return np.asarray(np.clip((scores - middle) / (best - middle), 0.0, 1.0) * cap * strength, dtype=np.float64)

    def _weights(self, term: str) -> tuple[NDArray[np.intp], Array]:
        """The causes that hold a term, and its BM25 weight in each."""
        found = np.array(self._postings[term].split(), dtype=np.intp)
        rows, times = found[::2], found[1::2].astype(np.float64)
        idf = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
        return rows, idf * times * (K1 + 1) / (times + self._norm[rows])


def _document(cause: Cause, titles: Mapping[str, Counter[str]]) -> Counter[str]:
    """The terms of a cause's own texts and of the findings it shows."""
    texts = [cause.title.en, cause.title.zh, cause.meaning.en, cause.meaning.zh]
    texts += [line for lines in cause.presentation.values() for line in lines]
    document = Counter(terms("\n".join(texts)))
    for link in cause.shows:
        document.update(titles.get(link.finding, Counter()))
    return document
