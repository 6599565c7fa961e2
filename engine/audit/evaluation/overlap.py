"""Overlap of evaluation documents with training data: runs of 13 words, or 50 characters of a script without spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from engine.audit.evaluation.files import MAX_DOCUMENT_BYTES, Bundle, NoEvidenceError, json_rows
from engine.audit.folder import UnreadableError
from engine.audit.ledger import Place
from engine.model.base import Text

# T. Brown et al., Language Models are Few-Shot Learners, arXiv 2005.14165, appendix C: overlap by 13-grams.
WORDS, CHARACTERS = 13, 50
MAX_GRAMS = 2_000_000
MAX_TRAINED = 64 << 20  # characters, some ten seconds; of more a sample is to be given
_WORD = re.compile(r"\w+")
_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")  # Thai, Japanese, Chinese
_TEXTS = ("text", "content", "prompt", "question", "query", "instruction", "input", "output", "answer", "messages")


def overlapping(evaluated: Bundle, trained: Bundle) -> tuple[list[Place], int]:
    """Evaluation documents of which a run of words stands in the training data, and how many documents there are.

    A run that several evaluation documents share is boilerplate of the task and does not count.

    Raises:
        NoEvidenceError: if either side holds no text, or is damaged or too large.
    """
    documents = list(_documents(evaluated))
    owners: dict[int, int] = {}
    shared: set[int] = set()
    for number, (_, text) in enumerate(documents):
        for gram in _grams(text):
            if owners.setdefault(gram, number) != number:
                shared.add(gram)
        if len(owners) > MAX_GRAMS:
            raise _useless(evaluated, "holds too much text to be compared", "文本过多，无法比对")
    if not owners:
        raise _useless(evaluated, "holds no document of at least 13 words", "没有不少于 13 个词的文档")
    hits: dict[int, str] = {}
    seen = 0
    for where, text in _documents(trained):
        seen += len(text)
        if seen > MAX_TRAINED:
            raise _useless(
                trained, f"is longer than {MAX_TRAINED:,} characters: give a sample of it", "过大：请给出其样本"
            )
        for gram in _grams(text):
            if gram in owners and gram not in shared:
                hits.setdefault(owners[gram], where)
    if not seen:
        raise _useless(trained, "holds no text", "没有文本")
    places = [
        Place(documents[number][0], "", f"also in {where}", "not in training", "training")
        for number, where in hits.items()
    ]
    return places, len(documents)


def _documents(bundle: Bundle) -> Iterator[tuple[str, str]]:
    for path in bundle.paths:
        label = bundle.label(path)
        if path.endswith((".jsonl", ".json")):
            for number, row in json_rows(bundle, path):
                if text := " ".join(_texts(row, 0)):
                    yield f"{label}, line {number}", text
            continue
        try:
            content = bundle.read(path, MAX_DOCUMENT_BYTES).decode("utf-8", "replace")
        except UnreadableError as error:
            raise NoEvidenceError(Text(en=f"{label}: {error}.", zh=f"{label} 无法读取。")) from None
        for number, text in enumerate(content.split("\n\n"), 1):
            yield f"{label}, paragraph {number}", text


def _texts(value: Any, depth: int) -> Iterator[str]:
    """The texts of a row: of the usual keys, of the turns of a conversation, of the row's document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 4:
        for item in value[:1000]:
            yield from _texts(item, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for key in (*_TEXTS, "doc"):
            if key in value:
                yield from _texts(value[key], depth + 1)


def _grams(text: str) -> Iterator[int]:
    words = _WORD.findall(text.lower())
    letters = "".join(words)
    if 2 * len(_WITHOUT_SPACES.findall(letters)) > len(letters):
        yield from (hash(letters[at : at + CHARACTERS]) for at in range(len(letters) - CHARACTERS + 1))
        return
    yield from (hash(tuple(words[at : at + WORDS])) for at in range(len(words) - WORDS + 1))


def _useless(bundle: Bundle, en: str, zh: str) -> NoEvidenceError:
    return NoEvidenceError(Text(en=f"{bundle.name} {en}.", zh=f"{bundle.name} {zh}。"))
