"""Likeness in words: capped, silent on strangers, and never enough to pass unknown."""

from __future__ import annotations

import numpy as np

from engine.inference.rank import Network, rank
from engine.inference.similarity import Similarity, index_of, terms
from engine.knowledge.load import load_knowledge


def test_terms_cut_endings_and_pair_chinese() -> None:
    assert terms("The losses were spiking!") == ["loss", "spik"]
    assert terms("显存泄漏") == ["显存", "存泄", "泄漏"]


def test_a_description_resembles_its_own_cause_most() -> None:
    knowledge = load_knowledge()
    causes = [knowledge.causes[key] for key in sorted(knowledge.active_causes)]
    similarity = Similarity(index_of(causes, knowledge.findings))
    hits = 0
    for row, cause in enumerate(causes):
        bits = similarity.bits(" ".join(cause.presentation["en"]), 3.0)
        assert bits.max() <= 3.0
        assert bits.min() >= 0.0
        hits += int(bits.argmax() == row)
    assert hits >= 0.95 * len(causes)


def test_strange_text_resembles_nothing() -> None:
    knowledge = load_knowledge()
    similarity = Similarity(index_of(list(knowledge.active_causes.values()), knowledge.findings))
    assert not similarity.bits("zyzzyva qwertz 鑫森淼", 3.0).any()
    assert not similarity.bits("", 3.0).any()


def test_likeness_alone_never_passes_unknown() -> None:
    knowledge = load_knowledge()
    network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, knowledge.calibration)
    likeness = np.zeros(len(network.causes))
    likeness[3] = 3.0
    ranking = rank(network, [], None, likeness)
    assert 0 < ranking.lead[3] < ranking.unknown
