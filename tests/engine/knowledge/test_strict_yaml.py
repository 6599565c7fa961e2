from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.knowledge import strict_yaml
from engine.knowledge.problems import KbError
from engine.knowledge.strict_yaml import load, parse

PLAIN = {
    "a": "a",
    "1e-5": 1e-5,
    "1.0": 1.0,
    ".5": 0.5,
    "12.": 12.0,
    "-3": -3,
    "0": 0,
    "0x1F": 31,
    "0o17": 15,
    "true": True,
    "False": False,
    "null": None,
    "~": None,
    '"yes"': "yes",
    "'2026-01-01'": "2026-01-01",
    '"0777"': "0777",
    "1.2.3": "1.2.3",
    "8xA100": "8xA100",
    "nan": "nan",
    "https://a.org/b": "https://a.org/b",
    "1e": "1e",
    "a_b": "a_b",
    '"\\t"': "\t",
}

# text of the document -> (line, column, words of the reason, words of the hint)
REFUSED = {
    "a: yes": (1, 4, "true or false to some", "Write true or false"),
    "a: 1\nb: Off": (2, 4, "true or false to some", "quotes if it is text"),
    "a: [x, n]": (1, 8, "'n' is true or false", "Write true or false"),
    "on: 1": (1, 1, "'on' is true or false", "quotes"),
    "a: 0777": (1, 4, "an octal number", "in quotes"),
    "a: 007": (1, 4, "an octal number", "decimal digits"),
    "a: 0b11": (1, 4, "a binary number", "decimal digits"),
    "a: 1:30": (1, 4, "base 60", "in quotes"),
    "a: 12:30:45.5": (1, 4, "base 60", "in quotes"),
    "a: 1_000": (1, 4, "'1_000' is a number to some", "decimal digits"),
    "a: 2026-01-01": (1, 4, "a date", "in quotes"),
    "a: 2026-01-01T10:00:00Z": (1, 4, "a date", "in quotes"),
    "a: .nan": (1, 4, "not a finite number", "in quotes"),
    "a: -.inf": (1, 4, "not a finite number", "in quotes"),
    "a: 1e999": (1, 4, "beyond the range", "in quotes"),
    "a: 99999999999999999999": (1, 4, "64 bits", "in quotes"),
    "a: " + "9" * 5000: (1, 4, "more than 40 characters", "in quotes"),
    "a:": (1, 3, "a value is missing", "null"),
    "- \n- b": (1, 2, "a value is missing", "null"),
    "a: &x 1": (1, 4, "anchor or alias (&x)", "Repeat the text"),
    "a: *x": (1, 4, "anchor or alias (*x)", "in quotes if it is text"),
    "a: !!str 1": (1, 4, "a tag", "Delete it"),
    "a: !x 1": (1, 4, "a tag", "starts with !"),
    "<<: {a: 1}": (1, 1, "merge key", "nothing is inherited"),
    "a: 1\nb: 2\na: 3": (3, 1, "'a' stands here twice, first in line 1", "Keep one"),
    "1: a": (1, 1, "a key must be a text", "in quotes"),
    "? [a, b]\n: c": (1, 3, "a key must be a text", "in quotes"),
    "a:\tb": (1, 3, "a tab", "spaces"),
    "a:\n\tb: 1": (2, 1, "a tab", "spaces"),
    "---\na: 1\n---\nb: 2": (3, 1, "a second document", "file of its own"),
    "%YAML 1.1\n---\na: 1": (1, 1, "a directive", "starts with %"),
    "": (1, 1, "the file is empty", "delete the file"),
    "# only a comment\n": (1, 1, "the file is empty", "delete the file"),
    "a: b: c": (1, 5, "mapping values are not allowed", "': ' inside must stand in quotes"),
    'x: 1\na: "b': (2, 4, "unexpected end of stream", "Close the quote"),
    "a: [1, 2": (1, 4, "flow sequence", "Close the"),
    "a: @b": (1, 4, "cannot start any token", "must stand in quotes"),
    "a:\n  - b\n c: 1": (3, 2, "block mapping", "Line the key up"),
    'a: "\\q"': (1, 4, "unknown escape", "backslash"),
    "a\x07: 1": (1, 2, "U+0007", "escape"),
    "[" * 21 + "]" * 21: (1, 21, "nested deeper than 20", "brackets"),
    "a: |\n" + "  x" * 7000: (1, 4, "more than 20000 bytes", "Shorten"),
    "[" + "1," * 20_000 + "1]": (1, 40_000, "more than 20000 values", "Split"),
    "#" * (256 * 1024 + 1): (1, 1, "262145 bytes", "Split"),
    "\ufeffa: 1": (1, 1, "byte order mark", "UTF-8 without BOM"),
}


@pytest.fixture(params=["c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers: the C one may be absent where the program is installed."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader")
    return str(request.param)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(("text", "value"), PLAIN.items(), ids=PLAIN)
def test_a_scalar_means_what_yaml_1_2_says(text: str, value: object) -> None:
    document = parse(f"a: {text}".encode(), "f.yaml")
    assert document.problems == []
    assert document.data == {"a": value}
    assert type(document.data["a"]) is type(value)


@pytest.mark.parametrize("text", REFUSED, ids=[text[:24] for text in REFUSED])
def test_what_is_refused_is_told_with_place_and_remedy(text: str) -> None:
    line, column, reason, hint = REFUSED[text]
    problems = parse(text.encode(), "f.yaml").problems
    assert [(found.file, found.line, found.column) for found in problems] == [("f.yaml", line, column)]
    assert reason in problems[0].reason
    assert hint in problems[0].hint


def test_the_python_parser_refuses_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    # The pure parser is too slow for the large ones.
    for text in (text for text in REFUSED if len(text) < 1000):
        problems = parse(text.encode(), "f.yaml").problems
        assert problems, text
        assert problems[0].line == REFUSED[text][0], text


def test_bytes_that_are_no_utf_8_are_placed() -> None:
    (problem,) = parse("a: 1\nb: é".encode("latin-1"), "f.yaml").problems
    assert (problem.line, problem.column) == (2, 4)
    assert "not UTF-8" in problem.reason


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: yes\nb: 0777\nc: fine\nd: {e: 2026-01-01, e: 1}\n")
    with pytest.raises(KbError) as caught:
        load(path)
    assert [problem.line for problem in caught.value.problems] == [1, 2, 4, 4]
    assert str(caught.value).startswith(f"{path}:1:4: 'yes' is true or false")


def test_positions_lead_to_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("id: a\nshows:\n  - finding: x\n  - {finding: z,\n     how: often}\n")
    data, positions = load(path)
    assert data == {"id": "a", "shows": [{"finding": "x"}, {"finding": "z", "how": "often"}]}
    assert positions["shows",].line == 2
    assert positions["shows", 0, "finding"] == (3, 5)
    assert positions["shows", 1] == (4, 5)
    assert positions["shows", 1, "how"] == (5, 6)


def test_a_broken_file_is_not_complete() -> None:
    assert not parse(b"a: [1", "f.yaml").complete
    assert parse(b"a: yes", "f.yaml").complete


@given(st.text(max_size=300) | st.text(alphabet="ab01 :-[]{}&*!|>'\"\n#%@`,?~<=.\t_ynoe", max_size=80))
@example("? - a\n  - b\n: - c")
@example("*a : b")
@example("&a *b")
@example("<key 1>: a\nx: b\n<key 1>: c")
@example("? {a: b, a: c}\n: d")
@settings(max_examples=300, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    document = parse(text.encode("utf-8", "surrogatepass"), "f.yaml")
    lines = text.count("\n") + text.count("\r") + 2
    assert all(
        1 <= problem.line <= lines + text.count("\x85") + text.count("\u2028") + text.count("\u2029")
        for problem in document.problems
    )
    assert all(problem.reason and problem.hint for problem in document.problems)
    if not document.problems:
        _assert_plain(document.data)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_crash_the_reader(content: bytes) -> None:
    parse(content, "f.yaml")


def _assert_plain(value: object) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            assert isinstance(key, str)
            _assert_plain(part)
    elif isinstance(value, list):
        for part in value:
            _assert_plain(part)
    else:
        assert value is None or isinstance(value, str | int | float)
        assert not isinstance(value, float) or math.isfinite(value)


def test_the_limits_are_those_of_the_style_guide() -> None:
    assert (strict_yaml.MAX_FILE_BYTES, strict_yaml.MAX_DEPTH) == (262_144, 20)
    assert (strict_yaml.MAX_NODES, strict_yaml.MAX_SCALAR_BYTES) == (20_000, 20_000)
