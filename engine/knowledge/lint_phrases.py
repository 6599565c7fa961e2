"""KB308: phrases that are never read, because longer words of the lexicon or a sign of their own hides them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from engine.knowledge.lint_context import Context, Remark, Rule
from engine.model.base import Lang

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.evidence.text import TextReader
    from engine.knowledge.problems import DataPath
    from engine.model.kb import Concept

WORDINGS = 3
"""A phrase is dead if it is read with none of the first three words of its concepts."""

_KEYS: tuple[Literal["any", "en", "zh"], ...] = ("any", "en", "zh")
_LANGS: tuple[Lang, ...] = ("en", "zh")
_COMPARED = ("contrast(", "responds(", "unchanged(", "normal(")
_HINT = "Quote words that belong together, or use the concept that hides them: 'kb explain' shows what is read"


def phrases_are_read(context: Context) -> Iterator[Remark]:
    """KB308: a phrase, read alone as a report, yields its own finding or fact (denied_by: denies it)."""
    lexicon = context.single("lexicon.yaml")
    if not lexicon:
        return
    reader = _reader(context, lexicon)
    for placed, path, phrases in context.phrases():
        targets, denies = _targets(placed.value, path), path[-1] == "denied_by"
        for key in _KEYS:
            for index, phrase in enumerate(getattr(phrases, key)):
                langs = _LANGS if key == "any" else (key,)
                if not any(
                    _is_read(_filled(phrase, placed.value, lang), lang, targets, denies, reader, lexicon)
                    for lang in langs
                ):
                    where = (*path, key, index)
                    yield Remark(placed, where, f"the phrase '{phrase}' is never read", _HINT)


def _reader(context: Context, lexicon: dict[str, Concept]) -> TextReader:
    from engine.evidence.text import TextReader  # the reader of reports is no part of reading a knowledge base
    from engine.evidence.vocabulary import Vocabulary

    return TextReader(Vocabulary(context.facts, context.findings, lexicon))


def _targets(value: Any, path: DataPath) -> frozenset[str]:
    """The ids that the phrases at a path speak of."""
    parameter = getattr(value, "parameter", None)
    if parameter is None:
        return frozenset([value.id])
    names = [path[2]] if path[0] == "parameter" else parameter.values
    return frozenset(f"{value.id}({name})" for name in names)


def _filled(phrase: str, value: Any, lang: Lang) -> str:
    """The phrase with the first value of the finding's parameter in its slot."""
    parameter = getattr(value, "parameter", None)
    if parameter is None:
        return phrase
    title: str = getattr(next(iter(parameter.values.values())).title, lang)
    return phrase.replace("{value}", title)


def _is_read(
    phrase: str, lang: Lang, targets: frozenset[str], denies: bool, reader: TextReader, lexicon: dict[str, Concept]
) -> bool:
    for wording in range(WORDINGS):
        for said in reader.said(_worded(phrase, lang, wording, lexicon)):
            if said.target.id not in targets or said.target.denies is not denies:
                continue
            if said.state is not denies and (said.state is not None or said.target.id.startswith(_COMPARED)):
                return True  # what is compared or tried only speaks in a sentence
    return False


def _worded(phrase: str, lang: Lang, wording: int, lexicon: dict[str, Concept]) -> str:
    """The phrase with words in place of its concepts."""
    from engine.evidence.phrases import pieces_of  # see _reader

    words = []
    for literal, bare in pieces_of(phrase):
        concept = lexicon.get(bare)
        if concept is None:
            words.append(literal or bare)
            continue
        forms = getattr(concept, lang) or concept.en or concept.zh
        words.append(forms[min(wording, len(forms) - 1)].replace("*", ""))
    return " ".join(words)


RULES = (Rule("KB308", "warning", phrases_are_read),)
