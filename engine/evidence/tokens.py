"""Text as tokens: English words, numbers, single Chinese characters; and its sentences, segments and clauses.

Hyphens, underscores and other signs between words are no tokens, so ``micro_batch``, ``micro-batch`` and
``micro batch`` read alike. Tags and calls (``<s>``, ``.item()``) are one token, and a colon stays with the word
before it, so that a form may ask for it ("query:"). Everything here is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_WORD = 64
"""A longer word is compared by its first 64 characters: no word of any lexicon is that long."""

HAN_WEIGHT = 0.4
"""Twenty Chinese characters say about as much as eight English words."""

COMMA_WEIGHT = 2.0

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f]+")
_FULL_WIDTH = {
    code: code - 0xFEE0
    for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B), 0xFF05, 0xFF0D, 0xFF1D)
} | {0x2019: 0x27}
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(
    rf"(?P<word>[^\W\d_{_HAN}][^\W_{_HAN}]*(?:'[a-z]{{1,2}}\b)?(?:\(\))?)"
    rf"|(?P<number>(?:(?<![a-z0-9_)\]])[-+])?(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+)(?:\.\d+)*(?:e[-+]?\d+)?"
    r"(?:\ ?%|[a-z]+)?)"
    rf"|(?P<han>[{_HAN}])"
    r"|(?P<code></?[a-z]{1,20}>|<\|[a-z_]{1,30}\|>|\.[a-z_]{1,30}\(\))"
    r"|(?P<stop>[!?。！？;；]|\.(?=\s|$)|\n\s*\n|\n\s*[-*•]\s)"
    r"|(?P<comma>[,，、：()（）—]|(?<!\d):|:(?!\d)|\s-+\s)"
)
_ABBREVIATIONS = frozenset(["e", "g", "i", "vs", "etc", "approx", "cf", "no", "fig", "resp"])


def tidy(text: str) -> str:
    """The text without invisible characters, its full-width letters and digits as ASCII."""
    return text if text.isascii() else _INVISIBLE.sub("", text).translate(_FULL_WIDTH)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A half-open range of tokens that ends with a full stop, a question mark, a semicolon or a blank line."""

    start: int
    end: int
    question: bool


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut up. The lists run parallel, one entry a token; ``place`` is the distance from the start in words."""

    text: str
    words: list[str]
    starts: list[int]
    ends: list[int]
    clauses: list[int]
    places: list[float]
    sentences: list[Sentence]

    def quote(self, start: int, end: int, limit: int = 200) -> str:
        """The text of the tokens [start, end), at most ``limit`` characters of it."""
        begin = self.starts[start]
        return self.text[begin : min(self.ends[end - 1], begin + limit)]

    def width(self, start: int, end: int) -> float:
        """How much stands between token ``start`` and token ``end``, in words."""
        return self.places[end] - self.places[start]


# Nobody writes clauses or sentences this long. What looks like one is a paste without punctuation, and each word of a
# clause is held against the others: without a bound, 60 kB of it would take minutes.
MAX_CLAUSE = 80
MAX_SENTENCE = 400


def tokenise(text: str) -> Tokens:
    """Cut ``text`` (already tidy) into tokens, clauses (at commas) and sentences; endless ones are cut as well."""
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    clauses: list[int] = []
    places = [0.0]
    sentences: list[Sentence] = []
    place, clause, begun, comma = 0.0, 0, 0, 0
    for match in _TOKEN.finditer(_lower(text)):
        kind, piece = match.lastgroup, match[0]
        if kind == "stop":
            if piece == "." and words and words[-1] in _ABBREVIATIONS:
                continue
            if len(words) > begun:
                sentences.append(Sentence(begun, len(words), question=piece in "?？"))
                begun = len(words)
            clause += 1
        elif kind == "comma":
            if piece == ":" and words and ends[-1] == match.start() and words[-1].isalpha():
                words[-1] += ":"
            clause += 1
            place += COMMA_WEIGHT
            places[-1] = place
            comma = len(words)
        else:
            if len(words) - begun >= MAX_SENTENCE:
                sentences.append(Sentence(begun, len(words), question=False))
                begun = len(words)
            if len(words) - max(comma, begun) >= MAX_CLAUSE or begun == len(words):
                clause, comma = clause + 1, len(words)
            words.append(_word(piece))
            start, end = match.span()
            starts.append(start)
            ends.append(end)
            clauses.append(clause)
            place += HAN_WEIGHT if kind == "han" else 1.0
            places.append(place)
    if len(words) > begun:
        sentences.append(Sentence(begun, len(words), question=False))
    return Tokens(text, words, starts, ends, clauses, places, sentences)


def words_in(text: str) -> list[str]:
    """The words alone that ``tokenise`` finds, in a third of its time."""
    words: list[str] = []
    end = -1
    for match in _TOKEN.finditer(_lower(text)):
        kind = match.lastgroup
        if kind == "comma":
            if match[0] == ":" and end == match.start() and words[-1].isalpha():
                words[-1] += ":"
        elif kind != "stop":
            words.append(_word(match[0]))
            end = match.end()
    return words


def _word(piece: str) -> str:
    """A token as it is compared; the blank of "35 %" is none."""
    return piece[:MAX_WORD].removesuffix("'s").replace(" ", "")


def _lower(text: str) -> str:
    """Lower case of the same length: a letter whose lower case is longer stays as it is."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(char if len(char.lower()) > 1 else char.lower() for char in text)


def words_of(text: str) -> list[str]:
    """The tokens of a short text, such as a form of the lexicon; a ``*`` or a colon right after a word is kept."""
    if text.isascii() and text.isalpha():
        return [_word(text.lower())]
    text = _lower(tidy(text))
    found = [match for match in _TOKEN.finditer(text) if match.lastgroup not in ("stop", "comma")]
    if "*" not in text and ":" not in text:
        return [_word(match[0]) for match in found]
    words = []
    for match in found:
        word, sign = _word(match[0]), text[match.end() : match.end() + 1]
        words.append(word + sign if sign == "*" or (sign == ":" and word.isalpha()) else word)
    return words
