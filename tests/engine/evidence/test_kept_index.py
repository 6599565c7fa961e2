"""What is worked out of the knowledge once and kept: readers made from it read as those made afresh."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.evidence.text import TextReader, index_of
from engine.evidence.vocabulary import Vocabulary
from engine.inference import similarity

REPORTS = [
    "Loss is NaN after 300 steps in fp16; bf16 is fine. We clip at 1.0.",
    "8 卡训练卡住，单卡正常，没有 NaN。学习率 3e-4。",
    "The critic loss explodes, but the reward does not move: query: and item() are slow.",
]


@pytest.fixture(scope="module")
def index(real_vocabulary: Vocabulary) -> dict[str, Any]:
    return index_of(real_vocabulary)


@pytest.mark.parametrize("report", REPORTS)
def test_a_reader_from_the_kept_index_reads_the_same(real_vocabulary, real_reader, index, report) -> None:
    first = TextReader(real_vocabulary, index).read(report)
    assert first[0], "nothing was read"
    assert TextReader(real_vocabulary, json.loads(json.dumps(index))).read(report) == first
    assert real_reader.read(report) == first, "the index that is made where none is given"


def test_a_reader_reads_the_same_a_second_time(real_vocabulary, index) -> None:
    """Forms and phrases are unpacked when they are first met."""
    reader = TextReader(real_vocabulary, index)
    assert [reader.read(report) for report in REPORTS] == [reader.read(report) for report in REPORTS]


def test_likeness_from_the_kept_index(knowledge, real_reader) -> None:
    causes, worth = list(knowledge.active_causes.values())[::8], knowledge.calibration.resemblance
    concepts = real_reader.concepts
    index = similarity.index_of(causes, knowledge.findings, knowledge.examples, knowledge.reports, concepts)
    kept = json.loads(json.dumps(index))
    for report in REPORTS:
        bits = similarity.Similarity(index, worth, concepts).bits(report)
        assert bits.max() > 0
        assert bits.tolist() == similarity.Similarity(kept, worth, concepts).bits(report).tolist()
