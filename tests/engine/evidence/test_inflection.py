"""Words in the forms in which people write them."""

from __future__ import annotations

import pytest

from engine.evidence.inflection import VERBS, inflections, variants
from engine.evidence.lexicon import Layer, Lexicon


@pytest.mark.parametrize(
    ("word", "among"),
    [
        ("take", {"takes", "took", "taken", "taking"}),
        ("takes", {"take", "took", "taking"}),
        ("stop", {"stops", "stopped", "stopping"}),
        ("try", {"tries", "tried", "trying"}),
        ("use", {"uses", "used", "using"}),
        ("crash", {"crashes", "crashed"}),
        ("repeat", {"repeats", "repeated"}),
        ("shard", {"shards", "sharded", "sharding"}),
    ],
)
def test_other_forms(word, among):
    assert among <= set(inflections(word))


def test_what_is_left_alone():
    assert inflections("lr") == ["lr"]
    assert "repeated" not in inflections("repeats")  # it may be passive
    assert all(form in VERBS[form] for form in VERBS)


def test_only_the_first_verb_of_a_form_varies():
    assert [" ".join(words) for words in variants(["keeps", "growing"])] == [
        "keeps growing", "keep growing", "keeping growing",
    ]  # fmt: skip
    assert list(variants(["takes"])) == [["takes"]]
    assert list(variants(["loss", "scale"])) == [["loss", "scale"]]


def found(form: str, text: str) -> list[tuple[int, int]]:
    lexicon = Lexicon()
    lexicon.add(Layer.CONCEPT, "IT", form)
    return [(hit.start, hit.end) for hit in lexicon.find(text.split())]


def test_a_form_is_found_inflected_and_with_fillers():
    assert found("takes longer", "it took much longer today") == [(1, 4)]
    assert found("saves checkpoint", "while saving the checkpoint") == [(1, 4)]
    assert found("takes longer", "it takes two hours longer") == []
    assert found("takes longer", "it takes much") == []
