"""Likeness in words: silent on strangers, the best at its cap, and an example is not held against itself."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from engine.diagnose import Diagnoser
from engine.inference.rank import Network, rank
from engine.inference.similarity import Similarity, index_of, terms
from engine.knowledge.knowledge import Knowledge


@pytest.fixture(scope="module")
def similarity(diagnoser: Diagnoser) -> Similarity:
    return diagnoser._similarity


def _plain(similarity: Similarity) -> Similarity:
    """The same without what tells the families apart."""
    other = copy(similarity)
    other._worth = similarity._worth.model_copy(update={"by_cause": 1.0, "by_family": 0.0})
    return other


def test_terms_cut_endings_pair_chinese_and_leave_numbers_out() -> None:
    assert terms("The losses were spiking at 3000!") == ["loss", "spik"]
    assert terms("显存泄漏") == ["显存", "存泄", "泄漏"]


def test_a_concept_is_the_same_in_both_languages_and_in_other_words(diagnoser: Diagnoser) -> None:
    concepts = diagnoser.collector.concepts
    assert set(concepts("cuda out of memory")) & set(concepts("爆显存了"))
    assert set(concepts("the validation loss")) & set(concepts("验证集损失"))
    assert concepts("zyzzyva qwertz") == []


def test_a_description_resembles_its_own_cause_most(diagnoser: Diagnoser, similarity: Similarity) -> None:
    hits = 0
    causes = diagnoser.knowledge.active_causes
    for row, cause in enumerate(causes.values()):
        bits = similarity.bits(" ".join(cause.presentation["en"]))
        assert bits.max() <= diagnoser.knowledge.calibration.resemblance.cap
        assert bits.min() >= 0.0
        hits += int(bits.argmax() == row)
    assert hits >= 0.95 * len(causes)


def test_strange_text_resembles_nothing(knowledge: Knowledge, similarity: Similarity) -> None:
    assert not similarity.bits("zyzzyva qwertz 鑫森淼").any()
    assert not similarity.bits("").any()
    far = "My neighbour's dog barks whenever the postman brings a parcel for the lady upstairs."
    assert similarity.bits(far).max() < knowledge.calibration.resemblance.listed_from


def test_words_between_do_not_add_to_a_likeness(similarity: Similarity) -> None:
    text = "The loss went to NaN after the warm-up in fp16 and the loss scale fell to one."
    padded = text + " Zyzzyva qwertz flurb snark grelb wumpus frabj mimsy borog toves."
    assert similarity.bits(padded).max() <= similarity.bits(text).max() + 1e-9


def test_a_short_report_says_less_than_a_log_line(knowledge: Knowledge, similarity: Similarity) -> None:
    worth = knowledge.calibration.resemblance
    for text in ("GPU fell off the bus", "显存溢出", "Gradient overflow in fp16 activations"):
        assert 0 < similarity.bits(text).max() <= worth.per_term * len(set(terms(text))) + 1e-9
    line = -np.log2(knowledge.calibration.leaks["rare"] / knowledge.calibration.links["usually"])
    assert worth.per_term * 5 < line, "five words"


def test_an_example_that_is_left_out_of_its_document_resembles_it_less(
    knowledge: Knowledge, similarity: Similarity
) -> None:
    plain = _plain(similarity)

    def lead(own: int | None) -> float:
        bits = similarity.bits(text, own)
        return float(bits[row] - np.delete(bits, row).max())

    for cause in list(knowledge.examples)[:20]:
        row = list(knowledge.active_causes).index(cause)
        text = knowledge.examples[cause][0]
        assert lead(row) <= lead(None) + 1e-9
        assert plain.bits(text, row)[row] <= plain.bits(text)[row] + 1e-9


def test_telling_families_apart_takes_nothing_from_unknown(knowledge: Knowledge, similarity: Similarity) -> None:
    plain = _plain(similarity)
    for cause in list(knowledge.active_causes.values())[::20]:
        text = " ".join(cause.presentation["en"])
        shared, before = similarity.bits(text), plain.bits(text)
        assert shared.max() <= before.max() + 1e-9
        assert np.exp2(shared).sum() <= np.exp2(before).sum() + 1e-6


def test_what_reporters_wrote_counts_for_the_likeness(knowledge: Knowledge) -> None:
    causes, findings = list(knowledge.active_causes.values())[:3], knowledge.findings
    told = "The frobnicator of the wumpus array stalls whenever grelb is on"
    worth = knowledge.calibration.resemblance
    without, with_report = (
        Similarity(index_of(causes, findings, {}, reports, lambda _: []), worth, lambda _: []).bits(told)
        for reports in ({}, {causes[1].id: [told]})
    )
    assert not without.any()
    assert with_report.argmax() == 1
    assert with_report[1] > 0


def test_the_words_of_a_likeness_stand_in_the_text(knowledge: Knowledge, similarity: Similarity) -> None:
    row = list(knowledge.active_causes).index("numerics/fp16-activation-overflow")
    text = "Activations overflow in fp16"
    (words,) = similarity.words(text, [row])
    assert words
    assert all(word in text.lower() for word in words)


def test_of_causes_together_only_the_largest_likeness_counts(knowledge: Knowledge) -> None:
    network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, knowledge.calibration)
    likeness = np.zeros(len(network.causes))
    likeness[3] = 3.0
    one = rank(network, [], None, likeness)
    likeness[4] = 3.0
    two = rank(network, [], None, likeness)
    assert one.lead[3] > two.lead[3] > 0
    assert (two.members[:, 1:] == network.nobody).all()
