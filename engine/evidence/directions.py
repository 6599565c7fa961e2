"""Rises and falls that only the numbers tell: "from 2.3 to 8.1", "0.8 -> 4000", "从 90% 到 30%"."""

from __future__ import annotations

from collections.abc import Iterator

from engine.evidence.lexicon import Hit, Layer
from engine.evidence.numbers import Quantity, parse, split_magnitude
from engine.evidence.tokens import Sentence, Tokens
from engine.evidence.units import find_unit

UP, DOWN = "GROW", "FALL"
"""The concepts of the lexicon that a rise and a fall stand for."""

MAX_BETWEEN = 8
"""Tokens between the two numbers: a unit and a verb (从 2.3 一路升高到 8.1)."""

_FROM = frozenset(["from", "从", "由"])
_TO = frozenset(["to", "到", "至", "成", "为"])
_ARROWS = frozenset(["->", "→", "-->", "=>", "⇒"])
_ABOUT = frozenset(["about", "around", "roughly", "some", "a", "大", "约", "原", "来", "的", "最", "初", "高", "低"])
_COUNTS_NO_LEVEL = frozenset(
    """step steps iteration iterations iter epoch epochs rank ranks node nodes am pm day days layer layers 步 点 号 月
    日 轮 层 卡 行 页""".split()  # noqa: SIM905 one word each
)
"""After these the numbers are places, not levels: "from 100 to 200 steps"."""

_PEAKS = frozenset(["spike", "spikes", "spiked", "spiking"])
"""After these the numbers are the height of a peak, not a rise that stays."""


def directions(sentence: Sentence, tokens: Tokens) -> Iterator[Hit]:
    """One occurrence of a rise or a fall for each pair of numbers, at the word or number that opens it."""
    words = tokens.words
    for at in range(sentence.start, sentence.end - 1):
        if at > sentence.start and words[at - 1] in _PEAKS:
            continue
        second = _second(at, sentence, tokens)
        if second is None:
            continue
        first = at if _number(words[at]) else _first(at, sentence, words)
        name = _direction(_quantity(first, sentence, words), _quantity(second, sentence, words))
        if name:
            yield Hit(Layer.CONCEPT, name, at, at + 1)


def _second(at: int, sentence: Sentence, tokens: Tokens) -> int | None:
    """The token of the second number of a pair that opens at ``at``; None if there is no pair."""
    words = tokens.words
    if words[at] in _FROM:
        first = _first(at, sentence, words)
        end = min(first + MAX_BETWEEN, sentence.end - 1)
        for place in range(first + 1, end):
            if words[place] in _TO and _number(words[place + 1]) and _number(words[first]):
                return place + 1
        return None
    if _number(words[at]) and at + 1 < sentence.end:
        for other in range(at + 1, min(at + 3, sentence.end)):
            if tokens.text[tokens.ends[other - 1] : tokens.starts[other]].strip() in _ARROWS:
                return other if _number(words[other]) else None
    return None


def _first(at: int, sentence: Sentence, words: list[str]) -> int:
    place = at + 1
    while place < sentence.end - 1 and words[place] in _ABOUT:
        place += 1
    return place


def _number(word: str) -> bool:
    return word[0].isdigit() or (word[0] in "+-" and word[1:2].isdigit())


def _quantity(at: int, sentence: Sentence, words: list[str]) -> Quantity | None:
    """The number at a token, with its unit if one follows; None if it counts places or is no number."""
    following = words[at + 1] if at + 1 < sentence.end else ""
    if following in _COUNTS_NO_LEVEL:
        return None
    text = f"{words[at]} {following}" if following and find_unit(following) is not None else words[at]
    parsed = parse(text)
    return parsed.quantities[0] if parsed.shape == "number" else None


def _direction(first: Quantity | None, second: Quantity | None) -> str:
    """Which way it goes; "" if it does not move, or if the two numbers measure different things."""
    if first is None or second is None:
        return ""
    before, measured = _base(first, second.suffix)
    after, also = _base(second, first.suffix)
    if measured != also or before == after:
        return ""
    return UP if after > before else DOWN


def _base(quantity: Quantity, other: str) -> tuple[float, str]:
    """The number in its dimension's base unit, and the dimension; without a unit it has that of the other number."""
    unit = find_unit(quantity.suffix or other)
    if unit is not None:
        return quantity.number * unit.factor, unit.dimension
    return quantity.number * split_magnitude(quantity.suffix)[0], ""
