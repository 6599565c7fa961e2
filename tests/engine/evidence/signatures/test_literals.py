"""Every match holds one of the words that are looked for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.signatures.literals import SHORTEST, literals

PATTERNS = [
    rb"Watchdog caught", rb"(?i)no space left on (?:device|volume)", rb"(?:connection|transport) endpoint .*lost",
    rb"x+permission denied{2}", rb"[Tt]he [Nn]ode failed", rb"(?P<name>allocation) failed? now",
    rb"(?:optional text)?required text",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_match_holds_a_word(pattern: bytes, data: st.DataObject) -> None:
    words = literals(pattern)
    assert words
    text = data.draw(st.from_regex(re.compile(pattern)))
    assert any(word in text.lower() for word in words)


@pytest.mark.parametrize(
    "pattern", [rb"\d+/\d+", rb"(?:a long text|\d+)", rb"short", rb"(?:long enough text)?", rb"(unclosed"]
)
def test_patterns_without_a_word(pattern: bytes) -> None:
    assert literals(pattern) is None


def test_the_longest_part_counts() -> None:
    assert literals(rb"node failed: .* because the link went down") == frozenset({b" because the link went d"})
    assert SHORTEST <= 8
