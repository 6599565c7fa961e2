"""Both scanners find what RE2 finds on each line alone, and only that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.evidence.readers.lines import without_prefix
from engine.evidence.signatures import database
from engine.evidence.signatures.blocks import BlockScan, HyperscanFinder, Re2Finder
from engine.evidence.signatures.patterns import Patterns, options, widened
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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(lines=BLOCK)
def test_re2_finds_what_stands_there(patterns: Patterns, re2_finder: Re2Finder, lines: list[bytes]) -> None:
    assert BlockScan(patterns, re2_finder).hits(lines) == one_by_one(patterns.signatures, lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(lines=BLOCK)
def test_hyperscan_finds_the_same(patterns: Patterns, opened: database.Opened, lines: list[bytes]) -> None:
    scan = BlockScan(patterns, HyperscanFinder(opened), use_hyperscan=False)
    assert scan.hits(lines) == one_by_one(patterns.signatures, lines)


@pytest.fixture(scope="module")
def re2_finder(patterns: Patterns) -> Re2Finder:
    return Re2Finder(patterns.wide)


@pytest.fixture(scope="module")
def opened(patterns: Patterns) -> database.Opened:
    pytest.importorskip("hyperscan")
    found = database.opened(patterns.wide)
    assert found is not None
    return found


def test_pieces_of_a_large_block_join(patterns: Patterns, re2_finder: Re2Finder) -> None:
    lines = [b"step %d of nothing at all" % step for step in range(9_000)]
    lines[4_321], lines[8_999] = b"[rank0]: Killed ", b"nfs: server evicted"
    assert BlockScan(patterns, re2_finder).hits(lines) == {4_321: (5,), 8_999: (6,)}


def test_a_long_log_changes_over_in_its_midst(
    patterns: Patterns, re2_finder: Re2Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hyperscan")
    monkeypatch.setattr("engine.evidence.signatures.blocks.WORTH_HYPERSCAN", 100)
    scan = BlockScan(patterns, re2_finder)
    block = [b"x" * 60, b"Killed"]
    assert [scan.hits(block) for _ in range(3)] == [{1: (5,)}] * 3


def test_without_hyperscan_re2_goes_on(
    patterns: Patterns, re2_finder: Re2Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    monkeypatch.setattr("engine.evidence.signatures.blocks.WORTH_HYPERSCAN", 1)
    assert BlockScan(patterns, re2_finder).hits([b"Killed"]) == {0: (5,)}


def test_a_damaged_database_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patterns: Patterns) -> None:
    pytest.importorskip("hyperscan")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert database.opened(patterns.wide) is not None
    (kept,) = (tmp_path / "traintriage").glob("scan-*")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:200] + b"damage" + whole[206:])
    again = database.opened(patterns.wide)
    assert again is not None
    assert again.scan(b"Killed")
    assert kept.read_bytes() == whole


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
