"""How far a report resembles what is written of each cause (BM25): evidence in words, kept apart from the findings.

It carries where people use words that no phrase knows, which is often: the documents are the causes' own texts, the
phrases and questions of the findings they show, and what reporters wrote. The answer shows it as likeness, with the
words that made it. BM25 and its constants: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.inference.discriminant import Discriminant, learnt
from engine.inference.network import Array
from engine.inference.rank import below
from engine.model.calibration import Resemblance
from engine.model.kb import Cause, Finding

K1 = 2.5
B = 0.6
MAX_TEXT = 20_000
# A word is named as a reason for a likeness from this weight on: common words lie below.
_HEAVY = 1.0
_WORDS = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]+")
# Phrases name concepts in capitals.
_NAMES = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
# How often a word counts where it stands: reports are written as a reporter writes, a cause's own texts as its expert
# does, and a finding's words belong to all causes that show it. Chosen on 205 real incidents
# that nothing was written for.
_REPORTED, _EXPLAINED, _SHOWN = 4, 2, 1
_ENDINGS = ("ings", "ing", "edly", "ed", "es", "s", "ly")
_COMMON_WORDS = """
a an and or of to in on at is are was were be been it its this that these those with for from by as not no but
we i you they he she our my their same when then than so if after before only all any each one two does do did
has have had the can could will would should may might must there here what which who how why very more most less
"""
_COMMON = frozenset(_COMMON_WORDS.split())

Concepts = Callable[[str], list[str]]
"""The ideas of the lexicon that a text names, as often as it does: "OOM" and "显存不足" are one."""


def terms(text: str) -> list[str]:
    """Words in lower case with their endings cut, Chinese as pairs of characters; no common words, no numbers."""
    result: list[str] = []
    for word in _WORDS.findall(text.lower()):
        if word[0] >= "\u4e00":
            result += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        elif word not in _COMMON and not word.isdigit():
            result.append(_stem(word))
    return result


def _parts(text: str) -> Iterator[str]:
    """The words of a text as they stand in it, Chinese as pairs of characters."""
    for word in _WORDS.findall(text.lower()):
        if word[0] >= "\u4e00":
            yield from (word[i : i + 2] for i in range(len(word) - 1))
        else:
            yield word


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def index_of(
    causes: Sequence[Cause],
    findings: Mapping[str, Finding],
    examples: Mapping[str, Sequence[str]],
    reports: Mapping[str, Sequence[str]],
    concepts: Concepts,
) -> dict[str, Any]:
    """The terms of all documents as plain data, to be kept: the lengths, and by term "row times row times …".

    Beside them what tells the families apart (``apart``, and ``families``: that of each row). It is not learnt from
    examples, which would be held against themselves.

    ``examples`` are what reporters wrote in the examples beside a cause, by its id; ``reports`` what others wrote.
    """
    shown = {link.finding for cause in causes for link in cause.shows if findings[link.finding].role != "context"}
    counted = {name: _counted(_told_of(findings[name]), concepts) for name in shown}
    numbers = {family: number for number, family in enumerate(sorted({cause.family for cause in causes}))}
    documents, texts = [], []
    for cause in causes:
        told = [_counted([line], concepts) for line in _told_by(cause)]
        reported = [_counted([line], concepts) for line in (*_presented(cause), *reports.get(cause.id, ()))]
        texts += [(numbers[cause.family], words) for words in (*told, *reported)]
        document: Counter[str] = Counter()
        for times, parts in (
            (_EXPLAINED, [*told, _counted(examples.get(cause.id, ()), concepts)]),
            (_REPORTED, reported),
            (_SHOWN, [counted[link.finding] for link in cause.shows if link.finding in counted]),
        ):
            for words in parts:
                document.update({term: times * often for term, often in words.items()})
        documents.append(document)
    postings: dict[str, list[str]] = {}
    for row, document in enumerate(documents):
        for term, times in document.items():
            postings.setdefault(term, []).append(f"{row} {times}")
    return {
        "lengths": [sum(document.values()) for document in documents],
        "postings": {term: " ".join(found) for term, found in postings.items()},
        "families": [numbers[cause.family] for cause in causes],
        "apart": learnt(texts, len(numbers)),
    }


class Similarity:
    """The documents of all causes, by their ``index_of``."""

    def __init__(self, index: dict[str, Any], worth: Resemblance, concepts: Concepts) -> None:
        """Take the index, what a likeness is worth, and what names the concepts in a text."""
        self._concepts = concepts
        self._worth = worth
        self._count = len(index["lengths"])
        lengths = np.array(index["lengths"], dtype=np.float64)
        self._norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if self._count else 1.0, 1.0))
        self._postings: Mapping[str, str] = index["postings"]
        self._families = np.array(index["families"], dtype=np.intp)
        self._apart = Discriminant(index["apart"])
        self._read: dict[str, tuple[NDArray[np.intp], Array, float]] = {}  # of the terms that occurred so far

    def bits(self, text: str, own: int | None = None) -> Array:
        """For every cause the bits that its likeness to ``text`` is worth, none below 0.

        A text reaches some score with every document by chance, the more the longer it is: only what lies beyond that
        counts, so that a report of something strange resembles nothing.

        Args:
            own: the row of the cause whose examples hold this very text, which is then left out of its document.
        """
        scores = np.zeros(self._count)
        text = text[:MAX_TEXT]
        words = terms(text)  # a concept adds to a score, but not to what so short a text may say
        counted = Counter([*words, *self._concepts(text)])
        shared = [term for term in counted if term in self._postings]
        for term in shared:
            rows, weights = self._weights(term, own, _EXPLAINED * counted[term])
            scores[rows] += weights
        worth = self._worth
        bits = worth.bits * (scores - worth.noise * len(counted))
        # What lies above the cap is taken from all alike: it is the difference between rivals that a text tells best.
        most = min(worth.cap, worth.per_term * len(self._postings.keys() & set(words)))
        bits = below(bits, most)
        return self._told_apart(bits, counted) if bits.any() else bits

    def _told_apart(self, bits: Array, counted: Mapping[str, int]) -> Array:
        """As much likeness in all, shared out anew by what tells the families apart.

        It moves belief between causes and takes none from *unknown*. Three words of a short report are no more than a
        guess, however much they would decide.
        """
        worth = self._worth
        by_family, told = self._apart.bits(counted)
        share = worth.by_family * told / (told + worth.half_at)
        mixed = worth.by_cause * bits + share * by_family[self._families]
        return below(mixed + _raise_to(mixed, float(np.exp2(bits).sum())), float(bits.max()))

    def words(self, text: str, rows: Sequence[int], limit: int = 6) -> list[list[str]]:
        """For each of these causes the words of ``text`` that make the likeness, those that weigh most first."""
        spoken: list[str] = []
        weights: list[Array] = []
        for part in sorted(set(_parts(text[:MAX_TEXT]))):  # equal weights go by word, not by order of the evidence
            for term in terms(part):
                if term in self._postings:
                    holders, values = self._weights(term)
                    whole = np.zeros(self._count)
                    whole[holders] = values
                    spoken.append(part)
                    weights.append(whole[list(rows)])
        table = np.array(weights).reshape(len(spoken), len(rows))
        order = np.argsort(-table, axis=0, kind="stable")[:limit]
        return [[spoken[i] for i in order[:, n] if table[i, n] > _HEAVY] for n in range(len(rows))]

    def _weights(self, term: str, own: int | None = None, less: int = 0) -> tuple[NDArray[np.intp], Array]:
        """The causes that hold a term, and its BM25 weight in each; ``less`` of its times are left out at ``own``."""
        rows, times, idf = self._read.get(term) or self._reading(term)
        if own is not None:
            times = np.where(rows == own, np.maximum(times - less, 0.0), times)
        return rows, idf * times * (K1 + 1) / (times + self._norm[rows])

    def _reading(self, term: str) -> tuple[NDArray[np.intp], Array, float]:
        """The causes that hold a term, how often each, and its inverse document frequency; kept for the next text."""
        found = np.array(self._postings[term].split(), dtype=np.intp)
        rows, times = found[::2], found[1::2].astype(np.float64)
        idf = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
        self._read[term] = rows, times, idf
        return rows, times, idf


def _raise_to(values: Array, total: float) -> float:
    """What is to be added to all values, none below 0 afterwards, that their powers of 2 sum to ``total``."""
    falling = np.sort(values)[::-1]
    above = np.arange(1, len(values) + 1)  # so many stay above 0; each of the others counts 1
    raised = np.log2((total - len(values) + above) / np.cumsum(np.exp2(falling)))
    return float(raised[np.flatnonzero(falling + raised >= 0)[-1]])


def _counted(lines: Iterable[str], concepts: Concepts) -> Counter[str]:
    """How often each term stands in a document: its words, and what they mean by the lexicon."""
    text = "\n".join(lines)
    counted = Counter([*terms(text), *_NAMES.findall(text)])
    counted.update(concepts(_NAMES.sub(" ", text)))
    return counted


def _told_by(cause: Cause) -> list[str]:
    """A cause's own texts."""
    texts = [cause.title, cause.meaning, cause.impact, cause.blind_spots]
    texts += [remedy.do for remedy in cause.remedies]
    texts += [rival.boundary for rival in cause.confused_with]
    return [line for text in texts for line in (text.en, text.zh)]


def _presented(cause: Cause) -> list[str]:
    """How a cause presents itself to those who meet it."""
    return [line for told in cause.presentation.values() for line in told]


def _told_of(finding: Finding) -> list[str]:
    """A finding's title, its question, and how people say it."""
    texts = [finding.title, finding.ask] if finding.ask else [finding.title]
    lines = [line for text in texts for line in (text.en, text.zh)]
    return [*lines, *finding.phrases.en, *finding.phrases.zh]
