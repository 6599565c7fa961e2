"""Every match holds one of the words of each set."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.signatures.literals import LONGEST, SHORTEST, needles
from engine.evidence.signatures.patterns import widened, without_flags
from engine.knowledge.knowledge import Knowledge

PATTERNS = [
    rb"Watchdog caught", rb"(?i)no space left on (?:device|volume)", rb"(?:connection|transport) endpoint .*lost",
    rb"x+permission denied{2}", rb"[Tt]he [Nn]ode failed", rb"(?P<name>allocation) failed? now",
    rb"(?:optional text)?required text", rb"one way|(?i)\banother \w+ way|(?:the )?third",
    rb"(?:ab|cd)+[:=]+ ?(?:nan|inf)",
    rb"(?:DCGM|GPU)(?:GPU)?(?:Device|Node)?(?:Xid|Ecc)", rb"a{2,3}bcd{1}e (?:x|y{2}z+)?\b(?:fail|lost)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=30)
@given(data=st.data())
def test_a_match_holds_a_word_of_each_set(pattern: bytes, data: st.DataObject) -> None:
    found = needles(pattern)
    assert found
    text = data.draw(st.from_regex(re.compile(without_flags(pattern)))).lower()
    assert any(all(any(word in text for word in words) for words in needle) for needle in found)
    assert all(SHORTEST <= len(word) <= LONGEST for needle in found for words in needle for word in words)


@pytest.mark.parametrize(
    "pattern",
    [rb"\d+/\d+", rb"a long text|\d+", rb"abc", rb"(?:long enough text)?", rb"(unclosed", rb"[[:alpha:]]way off", rb""],
)
def test_patterns_without_a_word(pattern: bytes) -> None:
    assert needles(pattern) == ()


def test_the_longest_parts_count() -> None:
    assert needles(rb"node: .* link (?:down|lost), .*xy") == ((frozenset({b" link down, ", b" link lost, "}),),)
    assert needles(rb"node: .* failed, .*xy") == ((frozenset({b" failed, "}), frozenset({b"node: "})),)


def test_what_stands_on_every_line_counts_last() -> None:
    assert needles(rb"NCCL INFO Channel .* loopback") == ((frozenset({b" loopback"}), frozenset({b"nccl info ch"})),)


def test_each_alternative_has_its_own_words() -> None:
    assert needles(rb"(?i)out of memory|(?:process|worker) \d+ killed") == (
        (frozenset({b"out of memor"}),),
        (frozenset({b" killed"}), frozenset({b"process ", b"worker "})),
    )


def test_longer_words_with_a_word_of_their_set_in_them_are_left_out() -> None:
    assert needles(rb"(?:nodes? )?failing") == ((frozenset({b"failing"}),),)


def test_every_signature_of_the_knowledge_base_has_words(knowledge: Knowledge) -> None:
    patterns = {one.id: one.pattern for one in knowledge.signatures.values()}
    assert [name for name, pattern in patterns.items() if not needles(widened(pattern) or b"")] == []
