"""Case files as people write them, and the ways in which they go wrong."""

from __future__ import annotations

import math

import pytest

from engine.evidence.case_file import CaseError, case_from, is_case, parse_document


def test_numbers_people_write() -> None:
    data = parse_document("a: 1e-5\nb: .nan\nc: -.inf\nd: 017\ne: 2026-11-30\nf: 12:30\ng: 1_000\nh: 3\ni: 2.0")
    assert data["a"] == 1e-5
    assert math.isnan(data["b"])
    assert data["c"] == -math.inf
    assert [data[key] for key in "defg"] == ["017", "2026-11-30", "12:30", "1_000"]
    assert (data["h"], data["i"]) == (3, 2.0)
    assert isinstance(data["h"], int)


def test_json_with_nan_is_understood() -> None:
    assert math.isnan(parse_document('{"series": [{"name": "loss", "values": [1.0, NaN]}]}')["series"][0]["values"][1])


@pytest.mark.parametrize("text", ["a: {b: 1, b: 2}", '{"a": {"b": 1, "b": 2}}'])
def test_keys_that_stand_twice_are_noted_where_they_may(text: str) -> None:
    repeated: list[str] = []
    assert parse_document(text, repeated) == {"a": {"b": 2}}
    assert repeated == ["b"]
    with pytest.raises(CaseError, match="'b' stands twice") as refused:
        parse_document(text)
    assert refused.value.repeats


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2", "line 2.*stands twice"),
        ("a: &x [1]\nb: *x", "line 2.*anchors"),
        ("report: [", "line 2"),
        ("a: \x01", "line 1"),
        ("a: " + "[" * 500, "nested too deep"),
        ("[" * 70 + "]" * 70, "64 levels"),
        ("a: !!python/object:os.system {}", "line 1"),
    ],
)
def test_bad_documents_say_where(text: str, says: str) -> None:
    with pytest.raises(CaseError, match=says):
        parse_document(text)


def test_what_is_a_case() -> None:
    assert is_case({"report": "x", "log": []})
    assert is_case({"id": "r1", "case": {"report": "x"}, "truth": {"family": "y"}})
    assert not is_case({"learning_rate": 3e-4})
    assert not is_case([])


def test_a_wrong_key_is_named_with_the_known_ones() -> None:
    with pytest.raises(CaseError, match=r"/reprot: unknown key; known keys: .*report"):
        case_from({"reprot": "x"})


def test_paradigm_aliases_and_log_text() -> None:
    case = case_from({"paradigm": "lora_sft", "log": "one\ntwo"})
    assert (case.paradigm, case.log) == ("sft", ["one", "two"])
