"""Likeness in words: silent on strangers, the best at its cap, and an example is not held against itself."""

from __future__ import annotations

from functools import cache

import numpy as np

from engine.diagnose import Diagnoser
from engine.evidence.collect import Collector
from engine.inference.rank import Network, rank
from engine.inference.similarity import Similarity, index_of, terms
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge


@cache
def known() -> tuple[Knowledge, Similarity]:
    knowledge = load_knowledge()
    causes = list(knowledge.active_causes.values())
    concepts = Collector(knowledge).concepts
    index = index_of(causes, knowledge.findings, knowledge.examples, concepts)
    return knowledge, Similarity(index, knowledge.calibration.resemblance, concepts)


def test_terms_cut_endings_pair_chinese_and_leave_numbers_out() -> None:
    assert terms("The losses were spiking at 3000!") == ["loss", "spik"]
    assert terms("显存泄漏") == ["显存", "存泄", "泄漏"]


def test_a_concept_is_the_same_in_both_languages_and_in_other_words(diagnoser: Diagnoser) -> None:
    concepts = diagnoser.collector.concepts
    assert set(concepts("cuda out of memory")) & set(concepts("爆显存了"))
    assert set(concepts("the validation loss")) & set(concepts("验证集损失"))
    assert concepts("zyzzyva qwertz") == []


def test_a_description_resembles_its_own_cause_most() -> None:
    knowledge, similarity = known()
    hits = 0
    for row, cause in enumerate(knowledge.active_causes.values()):
        bits = similarity.bits(" ".join(cause.presentation["en"]))
        assert bits.max() <= knowledge.calibration.resemblance.cap
        assert bits.min() >= 0.0
        hits += int(bits.argmax() == row)
    assert hits >= 0.95 * len(knowledge.active_causes)


def test_strange_text_resembles_nothing() -> None:
    _, similarity = known()
    assert not similarity.bits("zyzzyva qwertz 鑫森淼").any()
    assert not similarity.bits("").any()
    far = "My neighbour's dog barks whenever the postman brings a parcel for the lady upstairs."
    assert similarity.bits(far).max() < 2


def test_words_between_do_not_add_to_a_likeness() -> None:
    _, similarity = known()
    text = "The loss went to NaN after the warm-up in fp16 and the loss scale fell to one."
    padded = text + " Zyzzyva qwertz flurb snark grelb wumpus frabj mimsy borog toves."
    assert similarity.bits(padded).max() <= similarity.bits(text).max()


def test_a_short_report_says_less_than_a_log_line() -> None:
    knowledge, similarity = known()
    worth = knowledge.calibration.resemblance
    for text in ("GPU fell off the bus", "显存溢出", "Gradient overflow in fp16 activations"):
        assert 0 < similarity.bits(text).max() <= worth.per_term * len(set(terms(text))) + 1e-9
    line = -np.log2(knowledge.calibration.leaks["rare"] / knowledge.calibration.links["usually"])
    assert worth.per_term * 5 < line, "five words"


def test_an_example_that_is_left_out_of_its_document_resembles_it_less() -> None:
    knowledge, similarity = known()
    cause = next(iter(knowledge.examples))
    row = list(knowledge.active_causes).index(cause)
    text = knowledge.examples[cause][0]
    assert similarity.bits(text, row)[row] <= similarity.bits(text)[row]


def test_the_words_of_a_likeness_stand_in_the_text() -> None:
    knowledge, similarity = known()
    row = list(knowledge.active_causes).index("numerics/fp16-activation-overflow")
    text = "Activations overflow in fp16"
    (words,) = similarity.words(text, [row])
    assert words
    assert all(word in text.lower() for word in words)


def test_of_causes_together_only_the_largest_likeness_counts() -> None:
    knowledge, _ = known()
    network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, knowledge.calibration)
    likeness = np.zeros(len(network.causes))
    likeness[3] = 3.0
    one = rank(network, [], None, likeness)
    likeness[4] = 3.0
    two = rank(network, [], None, likeness)
    assert one.lead[3] > two.lead[3] > 0
    assert (two.members[:, 1:] == network.nobody).all()
