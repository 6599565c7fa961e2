"""Many patterns over blocks of lines: which lines may hit, found fast; RE2 then confirms each on its own line.

Two finders give candidates, RE2 and hyperscan; both give every line that a pattern takes (and a few that it does not),
so which of them ran is seen in the time alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Protocol

from engine.evidence.readers.lines import without_prefix
from engine.evidence.signatures import database, literals
from engine.evidence.signatures.patterns import Patterns, compiled_set

# Blocks in which nothing hits are left at once: the smaller, the fewer lines are looked at for one that does.
PIECE = 1 << 16
# Loading hyperscan and compiling its database costs what RE2 needs for about this much text.
WORTH_HYPERSCAN = 32 << 20

Candidates = dict[int, set[int]]


class Finder(Protocol):
    """Gives, for a block of lines joined by newlines, the candidates: pattern numbers by line number."""

    def find(self, lines: Sequence[bytes]) -> Candidates:
        """Every line on which a pattern could hit, and no more than a few others."""
        ...


class Re2Finder:
    """The words of all patterns in one automaton says which stand in a piece; those few are looked for in its lines.

    Not the patterns themselves: gaps (``.*``) of hundreds of patterns multiply the states, which then are built anew
    for ever. The few patterns without a word to look for have an automaton of their own.
    """

    def __init__(self, patterns: Mapping[int, bytes]) -> None:
        words = literals.of_all(patterns)
        self._of_word: dict[bytes, set[int]] = {}
        for number, texts in words.items():
            for text in texts:
                self._of_word.setdefault(text, set()).add(number)
        self._words = list(self._of_word)
        self._others = [number for number in patterns if number not in words]
        self._word_set = compiled_set([b"(?i)" + re.escape(text) for text in self._words])
        self._other_set = compiled_set([patterns[number] for number in self._others])

    def find(self, lines: Sequence[bytes]) -> Candidates:
        """See ``Finder``."""
        found: Candidates = {}
        first, size = 0, 0
        for after, line in enumerate(lines, 1):
            size += len(line) + 1
            if size >= PIECE or after == len(lines):
                self._search(lines[first:after], first, found)
                first, size = after, 0
        return found

    def _search(self, lines: Sequence[bytes], first: int, found: Candidates) -> None:
        piece = b"\n".join(lines)
        if words := self._word_set.Match(piece) if self._words else None:
            lower, ends = piece.lower(), list(accumulate(len(line) + 1 for line in lines))
            for word in (self._words[number] for number in words):
                at = lower.find(word)
                while at >= 0:
                    place = bisect_right(ends, at)
                    found.setdefault(first + place, set()).update(self._of_word[word])
                    at = lower.find(word, ends[place])
        if self._others and self._other_set.Match(piece):
            for place, line in enumerate(lines, first):
                if numbers := self._other_set.Match(line):
                    found.setdefault(place, set()).update(self._others[number] for number in numbers)


class HyperscanFinder:
    """The block goes through one database; each report names a pattern and the byte at which its match ends."""

    def __init__(self, opened: database.Opened) -> None:
        self._scan = opened.scan

    def find(self, lines: Sequence[bytes]) -> Candidates:
        """See ``Finder``."""
        # \s of hyperscan takes the vertical tab, that of RE2 does not: neither a blank nor of a word, it is one control
        # character like another.
        text = b"\n".join(lines)
        reports = self._scan(text.replace(b"\v", b"\1") if b"\v" in text else text)
        if not reports:
            return {}
        ends = list(accumulate(len(line) + 1 for line in lines))
        found: Candidates = {}
        for number, end in reports:
            found.setdefault(bisect_left(ends, end), set()).add(number)
        return found


class BlockScan:
    """Finds the lines of a log that signatures hit, block by block, in time linear in the text.

    It counts the bytes of its log: a short one never loads hyperscan.
    """

    def __init__(self, patterns: Patterns, finder: Finder, use_hyperscan: bool = True) -> None:
        self.patterns = patterns
        self._always = set(range(len(patterns.signatures))) - set(patterns.wide)
        self._finder = finder
        self._until_hyperscan = WORTH_HYPERSCAN if use_hyperscan else None

    def hits(self, lines: Sequence[bytes]) -> dict[int, tuple[int, ...]]:
        """Numbers of the signatures that hit, by place in ``lines`` (without line ends); lines without are left out."""
        self._count(lines)
        candidates = self._finder.find(lines)
        if self._always:
            for at in range(len(lines)):
                candidates.setdefault(at, set()).update(self._always)
        confirmed: dict[int, tuple[int, ...]] = {}
        for at in sorted(candidates):
            bare, _ = without_prefix(lines[at])
            if taken := self.patterns.take(bare.rstrip(), candidates[at]):
                confirmed[at] = tuple(taken)
        return confirmed

    def _count(self, lines: Sequence[bytes]) -> None:
        """Change to hyperscan once the log has shown that it is long."""
        if self._until_hyperscan is None:
            return
        self._until_hyperscan -= sum(map(len, lines))
        if self._until_hyperscan <= 0:
            self._until_hyperscan = None
            opened = database.opened(self.patterns.wide)
            if opened is not None:
                self._always |= opened.refused
                self._finder = HyperscanFinder(opened)
