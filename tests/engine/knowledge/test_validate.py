# ruff: noqa: E501 - one mistake a line
from __future__ import annotations

import pytest

from engine.knowledge.strict_yaml import parse
from engine.knowledge.validate import build, known_keys, resolve_path
from engine.model.kb import Cause, Check, Fact, Finding

TITLE = "title: {en: x, zh: 字}\n"

# model, document -> (line, words of the reason, words of the hint)
WRONG = [
    (Finding, f"id: a.b\ntitel: {{en: x, zh: 字}}\n{TITLE}", 2, "'titel' is not known here", "Did you mean 'title'?"),
    (Finding, "id: a.b\n", 1, "'title' is missing", "Add 'title:'"),
    (Finding, f"id: a.b\n{TITLE}role: sympton\n", 3, 'is "sympton"', "'symptom', 'mechanism', 'context' or 'normal'"),
    (Finding, f"id: a b\n{TITLE}", 1, 'is "a b"', "must match"),
    (Finding, f"id: a.b\n{TITLE}visible: 1\n", 3, "'visible' is 1", "true or false"),
    (Finding, "id: a.b\ntitle: {en: x}\n", 2, "'zh' is missing", "Add 'zh:' to title"),
    (Finding, "id: a.b\ntitle: word\n", 2, "'title' is \"word\"", "keys with values"),
    (Finding, f'id: a.b\n{TITLE}when:\n  all:\n    - {{fact: a.b, atleast: 2}}\n', 5, "'atleast'", "'at_least'"),
    (Finding, f'id: a.b\n{TITLE}when:\n  all:\n    - {{fact: a.b, at_least: "2"}}\n', 5, '"2"', "a number or keys"),
    (Finding, f"id: a.b\n{TITLE}when:\n  not: {{fact: a.b}}\n", 4, "not consistent", "exactly one operator"),
    (Finding, f"id: a.b\n{TITLE}when: {{fakt: a.b, is: 1}}\n", 3, "no condition", "'fact', 'finding', 'all'"),
    (Fact, f"id: a.b\ntype: number\n{TITLE}at_least: big\n", 4, "'at_least'", "a number"),
    (Fact, f"id: a.b\ntype: choice\n{TITLE}", 1, "not consistent", "lists its values"),
    (Check, f"id: c\n{TITLE}how: {{en: x, zh: 字}}\nminutes: 0\nsettles: [a.b]\n", 4, "'minutes' is 0", "greater than 0"),
    (Check, f"id: c\n{TITLE}how: {{en: x, zh: 字}}\nminutes: 1\nsettles: []\n", 5, "'settles' has 0", "at least 1"),
    (Check, f"id: c\n{TITLE}how: {{en: x, zh: 字}}\nminutes: 1\naccelerators: 1.5\nsettles: [a.b]\n", 5, "1.5", "whole"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text", "line", "reason", "hint"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_object_is_told_in_words_at_its_line(
    model: type[object], text: str, line: int, reason: str, hint: str
) -> None:
    document = parse(text.encode(), "f.yaml")
    assert document.problems == []
    value, problems = build(model, document.data, "f.yaml", document.positions)
    assert value is None
    assert [problem.line for problem in problems] == [line]
    assert reason in problems[0].reason
    assert hint in problems[0].hint


def test_all_problems_of_an_object_are_told() -> None:
    text = b"id: a.b\ntitle: {en: x}\nrole: bad\nvisble: true\n"
    document = parse(text, "f.yaml")
    _, problems = build(Finding, document.data, "f.yaml", document.positions)
    assert sorted(problem.line for problem in problems) == [2, 3, 4]


def test_wrong_entries_are_not_called_missing_ones() -> None:
    document = parse(f"id: a.b\n{TITLE}when: {{all: [{{fact: a.b, bad: 1}}]}}".encode(), "f.yaml")
    _, problems = build(Finding, document.data, "f.yaml", document.positions)
    assert len(problems) == 1


def test_an_entry_of_a_list_is_judged_at_its_place() -> None:
    document = parse(f"- id: a.b\n  {TITLE}- id: a.c\n  {TITLE}  roll: x\n".encode(), "f.yaml")
    _, problems = build(Finding, document.data[1], "f.yaml", document.positions, (1,))
    assert [problem.line for problem in problems] == [5]


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (("when", "all", "all", 0, "fact", "is", "bool"), ("when", "all", 0, "is")),
        (("when", "all", "all", 0, "fact"), ("when", "all", 0)),
        (("when", "all", "all", 0, "fact", "at_least"), ("when", "all", 0)),
        ((), ()),
    ],
)
def test_union_members_are_stepped_over(location: tuple[str | int, ...], path: tuple[str | int, ...]) -> None:
    data = {"when": {"all": [{"fact": "a.b", "is": 1}]}}
    found = resolve_path(data, location)
    # A trailing tag may name the key itself: the line is the same.
    assert found[: len(path)] == path


def test_known_keys_follow_the_models() -> None:
    assert known_keys(Cause, ("shows", 0)) == ["finding", "how"]
    assert known_keys(Cause, ("rules_out", 1)) == ["finding", "is"]
    assert "at_least" in known_keys(Finding, ("when", "all", 0))
