"""Facts are found by the words that a person or a model would use."""

from typing import get_args

import pytest

from api.mcp.results import Kind
from api.mcp.vocabulary import Vocabulary
from engine.knowledge.knowledge import Knowledge


@pytest.fixture(scope="module")
def vocabulary(knowledge: Knowledge) -> Vocabulary:
    return Vocabulary(knowledge)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("loss scale", "amp.loss_scale"),
        ("amp", "amp.loss_scale"),
        ("lr", "lr.peak"),
        ("fp16", "run.precision"),
        ("loss exploded", "loss.diverges"),
        ("precisi", "run.precision"),
        ("precision", "run.precision"),
        ("dtype", "run.precision"),
        ("gradient norm", "grad_norm.last"),
        ("梯度范数", "grad_norm.last"),
        ("gradient accumulation steps", "batch.accumulation"),
        ("per_device_train_batch_size", "batch.micro"),
        ("steps skipped for overflow", "amp.steps-skipped"),
        ("out of memory", "oom.cuda"),
    ],
)
def test_found_among_the_first(vocabulary: Vocabulary, query: str, wanted: str) -> None:
    assert wanted in [entry.id for entry in vocabulary.search(query, None, "en")][:8]


def test_a_fact_says_how_it_is_stated(vocabulary: Vocabulary) -> None:
    (precision,) = [entry for entry in vocabulary.search("run.precision", "fact", "en") if entry.id == "run.precision"]
    assert (precision.type, precision.values[:3]) == ("choice", ["fp32", "tf32", "fp16"])
    (scale,) = [entry for entry in vocabulary.search("amp.loss_scale", "fact", "zh") if entry.id == "amp.loss_scale"]
    assert (scale.type, scale.at_least, scale.title) == ("number", 0.0, "最近的损失缩放值")


def test_kinds_are_kept_apart(vocabulary: Vocabulary) -> None:
    for kind in get_args(Kind):
        assert {entry.kind for entry in vocabulary.search("loss", kind, "en")} == {kind}


def test_facts_of_files_are_not_offered(vocabulary: Vocabulary) -> None:
    assert not [entry for entry in vocabulary.search("audit", "fact", "en") if entry.id.startswith("audit.")]


def test_nothing_fits(vocabulary: Vocabulary) -> None:
    for query in ("xyzzy", "?!", " "):
        assert vocabulary.search(query, None, "en") == []
    assert vocabulary.near("xyzzy", "cause") == []
