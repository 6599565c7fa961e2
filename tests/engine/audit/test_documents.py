"""Values of documents in messages for people, and keys that stand twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.audit.decide import Auditor
from engine.audit.documents import parse_json, shown, written
from engine.audit.intent import IntentError, parse_intent
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import audited


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), ("a", "a"), (1.5, "1.5"), ([None, "a", [1]], "[null, a, …]"), ({}, "an object")],
)
def test_values_are_shown_as_the_file_has_them(value: object, text: str) -> None:
    assert shown(value) == text


def test_what_is_quoted_is_written_as_json_on_one_line() -> None:
    assert written({"a": [None, "b\n"]}) == '{"a": [null, "b\\n"]}'
    assert len(written("x" * 500, 50)) == 50
    assert written("\x1b[31m").isprintable()


def test_a_key_that_stands_twice_is_named() -> None:
    document = parse_json("config.json", b'{"a": 1, "b": {"c": 1, "c": 2, "c": 3}, "a": 2}')
    assert document.value == {"a": 2, "b": {"c": 3}}
    assert sorted(document.repeated) == ["a", "c"]
    assert len(parse_json("x", json.dumps([1]).encode()).repeated) == 0


def test_the_audit_says_which_keys_of_which_files_stand_twice(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    file = given.root / "config.json"
    file.write_text(file.read_text().rstrip().removesuffix("}") + ', "hidden_act": "silu", "hidden_act": "gelu"}')
    assert audited(auditor, given).repeated_keys == ["config.json: hidden_act"]


@pytest.mark.parametrize("text", ["dtype: float16\ndtype: bfloat16\n", '{"dtype": "float16",\n"dtype": "bfloat16"}'])
def test_an_intent_with_a_key_twice_is_refused(text: str) -> None:
    with pytest.raises(IntentError, match=r"intent\.yaml: line 2: the key 'dtype' stands twice"):
        parse_intent(text.encode(), "intent.yaml")


def test_a_wrong_paradigm_is_told_the_right_ones() -> None:
    with pytest.raises(IntentError, match=r"paradigm: it is none of .*lora_sft.*sft"):
        parse_intent(b"paradigm: chatting")
