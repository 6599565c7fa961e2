"""Which cause a person means: by its id, its title in either language, or enough of its words."""

from __future__ import annotations

import re
from collections import Counter

from engine.evidence.numbers import plain
from engine.knowledge.knowledge import Knowledge

MAX_WORDS = 300
SHOWN = 3

_WORD = re.compile("[a-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]")
_SMALL = frozenset(
    [
        "the", "a", "an", "of", "is", "are", "was", "in", "to", "and", "or", "that", "it", "on", "at", "by", "for",
        "too", "not", "problem", "issue", "cause", "的", "是", "了", "在", "与", "和", "因", "为", "原", "问", "题",
    ]
)  # fmt: skip
_ENOUGH = 0.6
"""The share of a person's words that must stand in a title: fewer are another cause's."""


def cause_told(words: str, knowledge: Knowledge) -> str | None:
    """The one cause that the words tell by id, title or most of its words; None where they may mean anything else."""
    named = causes_named(words, knowledge)
    if len(named) != 1:
        return None
    cause = knowledge.causes[named[0]]
    said = _words(plain(words)[:MAX_WORDS].casefold())
    names = (cause.id.partition("/")[2], cause.id, cause.title.en, cause.title.zh)
    parts = [_words(name.casefold()) for name in names]
    return cause.id if any((said & words).total() >= _ENOUGH * words.total() for words in parts) else None


def causes_named(words: str, knowledge: Knowledge) -> list[str]:
    """The causes that the words may mean, best first: one if it is sure, at most three if not, none if nothing fits."""
    text = plain(words)[:MAX_WORDS].strip().strip("\"'“”‘’.?!。？！").casefold()
    if not text:
        return []
    causes = knowledge.active_causes.values()
    exact = [
        cause.id
        for cause in causes
        if text in (cause.id, cause.id.partition("/")[2], cause.title.en.casefold(), cause.title.zh.casefold())
    ]
    if exact:
        return exact[:SHOWN]
    said = _words(text)
    if not said:
        return []
    rated = {cause.id: _likeness(said, cause.id, cause.title.en, cause.title.zh) for cause in causes}
    best = max(rated.values(), default=0.0)
    if best < _ENOUGH:
        return []
    near = sorted(
        (id_ for id_, likeness in rated.items() if likeness >= best - 0.1), key=lambda id_: (-rated[id_], id_)
    )
    return near[:SHOWN]


def _likeness(said: Counter[str], *names: str) -> float:
    """The best share of the words that a name holds, less a little for every word of it that was not said."""
    best = 0.0
    for name in names:
        words = _words(name.casefold())
        common = (said & words).total()
        if common:
            best = max(best, common / said.total() - 0.02 * (words.total() - common))
    return best


def _words(text: str) -> Counter[str]:
    return Counter(_stem(word) for word in _WORD.findall(text) if word not in _SMALL)


def _stem(word: str) -> str:
    """Plural and third person fall together with the plain word."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
