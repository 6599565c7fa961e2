"""What tells the families apart is learnt from documents, is the same each time, and survives being written down."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.inference.discriminant import Discriminant, learnt

DOCUMENTS = [
    *[(0, Counter(["loss", "nan", f"run{i}"])) for i in range(8)],
    *[(1, Counter(["loss", "slow", f"run{i}"])) for i in range(8)],
    *[(2, Counter(["disk", "slow"])) for _ in range(8)],
]
WORDS = st.dictionaries(st.sampled_from(["loss", "nan", "slow", "disk", "run1", "unheard"]), st.integers(1, 5))


@pytest.fixture(scope="module")
def discriminant() -> Discriminant:
    return Discriminant(json.loads(json.dumps(learnt(DOCUMENTS, 3))))


def test_a_word_of_one_family_decides_and_a_shared_word_does_not(discriminant: Discriminant) -> None:
    assert discriminant.bits(Counter(["nan"]))[0].argmax() == 0
    assert discriminant.bits(Counter(["disk"]))[0].argmax() == 2
    shared = np.sort(discriminant.bits(Counter(["slow"]))[0])
    decided = np.sort(discriminant.bits(Counter(["disk", "disk"]))[0])
    assert shared[-1] - shared[-2] < decided[-1] - decided[-2]


def test_words_of_one_document_or_of_none_say_nothing(discriminant: Discriminant) -> None:
    once = learnt([*DOCUMENTS, (0, Counter(["once"]))], 3)
    assert "once" not in once["terms"]
    assert not discriminant.bits(Counter(["unheard"]))[0].any()
    assert not discriminant.bits(Counter())[0].any()


def test_it_is_told_how_many_words_have_weights(discriminant: Discriminant) -> None:
    assert discriminant.bits(Counter(["nan", "nan", "slow", "unheard"]))[1] == 2


@given(WORDS)
def test_the_best_family_has_no_bits_and_others_fewer(words: dict[str, int]) -> None:
    bits = Discriminant(learnt(DOCUMENTS, 3)).bits(words)[0]
    assert bits.shape == (3,)
    assert bits.max() == 0.0
    assert np.isfinite(bits).all()


def test_the_same_documents_give_the_same_weights() -> None:
    assert learnt(DOCUMENTS, 3) == learnt(DOCUMENTS, 3)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 127, 128, 129])
def test_any_number_of_documents_can_be_learnt(count: int) -> None:
    documents = [(number % 2, Counter(["loss", "slow"])) for number in range(count)]
    assert Discriminant(learnt(documents, 2)).bits(Counter(["loss"]))[0].shape == (2,)
