"""Both matchers of words find what RE2 finds on each line alone, and only that."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.evidence.readers.lines import without_prefix
from engine.evidence.signatures.blocks import BlockScan, Finder
from engine.evidence.signatures.patterns import Patterns, options, widened
from engine.evidence.signatures.words import Matcher, by_hyperscan
from engine.model.kb import Signature

PARTS = [
    b"uncorrectable ECC error", b"out of memory. GPU 3", b"Killed", b"nfs: ", b"lost", b" lost",
    b"evicted OK", b"no space left on",
    b"[Errno 5] xx", b"[Errno 5] xxxxx", b"a.b*c", b"a.bc", "é".encode(), "é12!".encode(), "é你!".encode(),
    b"Xid: 79", b"Xid: 790", b"xid: 48",
    b"[rank3]: ", b"0: ", b"[default1]:", b" ", b"\t", b"\v", b"\xff\xfe", b"step 12 loss 2.5", b"-", b"",
]  # fmt: skip
BLOCK = st.lists(st.lists(st.sampled_from(PARTS), max_size=5).map(b"".join), max_size=12)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def one_by_one(signatures: Sequence[Signature], lines: Sequence[bytes]) -> dict[int, tuple[int, ...]]:
    """The definition: every pattern on every bare line."""
    found = {}
    for at, line in enumerate(lines):
        bare = without_prefix(line)[0].rstrip()
        numbers = [
            number
            for number, one in enumerate(signatures)
            if re2.search(one.pattern.encode(), bare, options())
            and not (one.unless and re2.search(one.unless.encode(), bare, options()))
        ]
        if numbers:
            found[at] = tuple(numbers)
    return found


@pytest.fixture(scope="module")
def patterns(signatures: tuple[Signature, ...]) -> Patterns:
    return Patterns(signatures)


@pytest.fixture(scope="module")
def finder(patterns: Patterns) -> Finder:
    return Finder(patterns.wide)


def scan_with(patterns: Patterns, finder: Finder, matcher: Matcher) -> BlockScan:
    """A scan that uses one matcher from the first line to the last."""
    only = Finder(patterns.wide)
    only.__dict__ |= finder.__dict__ | {"re2": matcher, "hyperscan": matcher}
    return BlockScan(patterns, only)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(lines=BLOCK)
def test_re2_finds_what_stands_there(patterns: Patterns, finder: Finder, lines: list[bytes]) -> None:
    assert scan_with(patterns, finder, finder.re2).hits(lines) == one_by_one(patterns.signatures, lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(lines=BLOCK)
def test_hyperscan_finds_the_same(patterns: Patterns, finder: Finder, lines: list[bytes]) -> None:
    pytest.importorskip("hyperscan")
    assert finder.hyperscan is not None
    assert scan_with(patterns, finder, finder.hyperscan).hits(lines) == one_by_one(patterns.signatures, lines)


def test_a_line_needs_a_word_of_each_set(finder: Finder) -> None:
    lines = [b"nfs: server", b"the lease was evicted", b"nfs: mount evicted", b"nfs: evicted, OK"]
    assert finder.find(lines, finder.re2) == {2: {6}, 3: {6}}
    assert finder.find(lines[:1], finder.re2) == finder.find([], finder.re2) == {}


def test_pieces_of_a_large_block_join(patterns: Patterns, finder: Finder) -> None:
    lines = [b"step %d of nothing at all" % step for step in range(9_000)]
    lines[4_321], lines[8_999] = b"[rank0]: Killed ", b"nfs: server evicted"
    assert BlockScan(patterns, finder).hits(lines) == {4_321: (5,), 8_999: (6,)}


def test_a_long_log_changes_over_in_its_midst(
    patterns: Patterns, finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hyperscan")
    monkeypatch.setattr("engine.evidence.signatures.blocks.WORTH_HYPERSCAN", 100)
    scan, block = BlockScan(patterns, finder), [b"x" * 60, b"Killed"]
    used = []
    monkeypatch.setitem(finder.__dict__, "re2", _noted(finder.re2, used))
    monkeypatch.setitem(finder.__dict__, "hyperscan", _noted(by_hyperscan(finder.words), used))
    assert [scan.hits(block) for _ in range(3)] == [{1: (5,)}] * 3
    assert used == [finder.re2, finder.hyperscan, finder.hyperscan]


def _noted(matcher: Matcher | None, used: list[Matcher]) -> Matcher:
    assert matcher is not None

    def match(text: bytes) -> Sequence[int]:
        used.append(match)
        return matcher(text)

    return match


def test_without_hyperscan_re2_goes_on(patterns: Patterns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    monkeypatch.setattr("engine.evidence.signatures.blocks.WORTH_HYPERSCAN", 1)
    finder = Finder(patterns.wide)
    assert finder.hyperscan is None
    assert BlockScan(patterns, finder).hits([b"Killed"]) == {0: (5,)}


def test_nothing_to_look_for() -> None:
    scan = BlockScan(Patterns(()), Finder({}))
    assert scan.hits([b"Killed"]) == {}
    assert by_hyperscan([]) is None


@pytest.mark.parametrize(
    ("pattern", "wide"),
    [
        (r"^Killed$", b"(?:)Killed(?:)"),
        (r"\Aa\z", b"(?:)a(?:)"),
        (r"[^a]\^\$", rb"[^a]\^\$"),
        (r"[]^$]x[[:alpha:]^]", b"[]^$]x[[:alpha:]^]"),
        (r"\\A", rb"\\A"),
        (r"\Qa\E", None),
        (r"(?-i)a", None),
    ],
)
def test_anchors_are_taken_off(pattern: str, wide: bytes | None) -> None:
    assert widened(pattern) == wide
