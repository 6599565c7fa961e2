"""tokenizer.json is refused where the tokenizers library refuses it (compared with release 0.23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.audit.tokenizers.view import parse_tokenizer
from tests.engine.audit.build.tokenizer import END, SPECIALS, TURN, tokenizer_json

DEEP: object = {"type": "Fuse"}
for _ in range(120):
    DEEP = {"type": "Sequence", "decoders": [DEEP]}


def changed(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    value = tokenizer_json()
    change(value)
    return value


@pytest.mark.parametrize(
    "change",
    [
        dict.copy,
        lambda t: t["model"].update(merges=[" ".join(merge) for merge in t["model"]["merges"]]),
        lambda t: t["model"].update(merges=["#version: 0.2", *(" ".join(merge) for merge in t["model"]["merges"])]),
        lambda t: t["model"].pop("type"),
        lambda t: t["model"]["vocab"].update(zz=5),
        lambda t: t.pop("added_tokens"),
        lambda t: t.pop("version"),
        lambda t: t["added_tokens"][0].update(content=""),
        lambda t: t.update(model={"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0], ["b", -2.0]]}),
        lambda t: t.update(model={"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"a": 0}}),
    ],
)
def test_accepted(change: Callable[[dict[str, Any]], Any]) -> None:
    assert parse_tokenizer("tokenizer.json", changed(change)).faults == ()


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (lambda t: t["model"]["merges"].append(["q", "q"]), "$.model.merges[29]"),
        (lambda t: t["model"]["merges"].append("a b c"), "$.model.merges[29]"),
        (lambda t: t["model"].update(type="Other"), "$.model.type"),
        (lambda t: t.pop("model"), "$.model.type"),
        (lambda t: t["model"].update(vocab=[["a", 0.0]]), "$.model.vocab"),
        (lambda t: t["model"]["vocab"].update(zz=-1), "$.model.vocab"),
        (lambda t: t["model"]["vocab"].update(zz=True), "$.model.vocab"),
        (lambda t: t["model"].pop("merges"), "$.model.merges"),
        (lambda t: t.update(added_tokens=None), "$.added_tokens"),
        (lambda t: t["added_tokens"][0].pop("id"), "$.added_tokens[0]"),
        (lambda t: t["added_tokens"][0].pop("lstrip"), "$.added_tokens[0]"),
        (lambda t: t.update(decoder="x"), "$.decoder"),
        (lambda t: t.update(version="2.0"), "$.version"),
        (
            lambda t: t.update(model={"type": "Unigram", "unk_id": 2, "vocab": [["a", -1.0], ["b", -2.0]]}),
            "$.model.unk_id",
        ),
    ],
)
def test_refused(change: Callable[[dict[str, Any]], Any], at: str) -> None:
    faults = parse_tokenizer("tokenizer.json", changed(change)).faults
    assert any(fault.at.endswith(at) for fault in faults)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "x",
        3,
        {},
        {"model": []},
        {"model": {"vocab": 3}},
        {"model": {"type": []}},
        {"decoder": DEEP},
        {"added_tokens": [3]},
    ],
)
def test_anything_else_is_refused_and_no_crash(value: object) -> None:
    assert parse_tokenizer("tokenizer.json", value).faults != ()


def test_a_token_inside_a_longer_one_does_not_occur() -> None:
    value = tokenizer_json()
    value["added_tokens"].append({**value["added_tokens"][0], "id": 288, "content": "<|im_end|>\n"})
    view = parse_tokenizer("tokenizer.json", value)
    assert view.added_in(f"{TURN}user{END}\n") == [TURN, f"{END}\n"]
    assert view.added_in(f"{TURN}user{END}\n{END}") == [TURN, f"{END}\n", END]


def test_a_token_is_one_id_none_or_a_piece() -> None:
    view = parse_tokenizer("tokenizer.json", tokenizer_json())
    assert view.is_one_token(END) is True
    assert view.is_one_token("<|none|>") is False
    assert view.is_one_token("Ġthe") is None
    assert (view.id_of(END), view.texts[SPECIALS[END]]) == (SPECIALS[END], END)
