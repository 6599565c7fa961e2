"""Whether a few words name anything the knowledge base knows: small talk must not become evidence."""

from __future__ import annotations

import re

from engine.evidence.numbers import plain
from engine.knowledge.knowledge import Knowledge

FEW = 12
"""So many letters or, counted threefold, Chinese characters at most: a longer text is a report of its own."""

_WORD = re.compile("[a-z][a-z0-9_.-]+|[\u3400-\u4dbf\u4e00-\u9fff]+")


def says_nothing(report: str, knowledge: Knowledge) -> bool:
    """Whether a short text holds no word of the lexicon, no name of a fact and no setting: "hm", "哈哈"."""
    words = _WORD.findall(plain(report).casefold())
    weight = sum(len(word) * (1 if word.isascii() else 3) for word in words)
    return 0 < weight <= FEW and not any(_is_known(word, knowledge) for word in words)


def _is_known(word: str, knowledge: Knowledge) -> bool:
    forms = (form for concept in knowledge.lexicon.values() for form in (*concept.en, *concept.zh))
    names = (name for fact in knowledge.facts.values() for name in (*fact.aliases, *(fact.values or ())))
    if not word.isascii():
        return any(not form.isascii() and form in word for form in (*forms, *names))
    return any(
        word in _WORD.findall(form.casefold()) or (form.endswith("*") and word.startswith(form[:-1].casefold()))
        for form in (*forms, *names)
    )
