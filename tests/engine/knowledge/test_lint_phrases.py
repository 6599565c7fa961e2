"""KB308: a phrase that no text can be read by is told, where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.lint import lint

if TYPE_CHECKING:
    from .conftest import SmallKb

FINDINGS = "findings/core.yaml"
LEXICON = "lexicon.yaml"


def _dead(kb: SmallKb) -> list[tuple[int, str]]:
    return [(issue.line, issue.message) for issue in lint(kb.root) if issue.code == "KB308"]


@pytest.mark.parametrize(
    ("old", "new", "line", "phrase"),
    [
        ("en: [LOSS became NAN]", 'en: ["good. LOSS NAN"]', 17, "good. LOSS NAN"),
        ("zh: [LOSS 变成 NAN]", 'zh: ["LOSS。NAN 了"]', 17, "LOSS。NAN 了"),
        ("en: [after upgrading]", 'en: ["after! upgrading"]', 37, "after! upgrading"),
    ],
)
def test_a_phrase_over_two_sentences(kb: SmallKb, old: str, new: str, line: int, phrase: str) -> None:
    kb.replace(FINDINGS, old, new)
    assert _dead(kb) == [(line, f"the phrase '{phrase}' is never read")]


def test_a_word_hidden_by_a_longer_denial_of_the_lexicon(kb: SmallKb) -> None:
    kb.replace(FINDINGS, "en: [LOSS became NAN]", "en: [LOSS became NAN, LOSS not finite]")
    assert _dead(kb) == []
    kb.append(LEXICON, "UNBOUNDED: {en: [not finite], zh: [无界]}\n")
    assert _dead(kb) == [(17, "the phrase 'LOSS not finite' is never read")]
    kb.replace(FINDINGS, "LOSS not finite", "LOSS UNBOUNDED")
    assert _dead(kb) == []


def test_a_denial_that_denies_nothing(kb: SmallKb) -> None:
    denied = "  denied_by: {en: [LOSS finite]}\n- id: lr.far-above-usual"
    kb.replace(FINDINGS, "- id: lr.far-above-usual", denied)
    assert _dead(kb) == []
    kb.replace(FINDINGS, "en: [LOSS finite]", 'en: ["LOSS. finite"]')
    assert _dead(kb) == [(18, "the phrase 'LOSS. finite' is never read")]
