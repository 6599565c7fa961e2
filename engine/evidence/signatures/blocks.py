"""Many patterns over blocks of lines: which lines may hit, found fast; RE2 then confirms each on its own line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from engine.evidence.readers.lines import without_prefix
from engine.evidence.signatures import literals
from engine.evidence.signatures.patterns import Patterns, compiled_set
from engine.evidence.signatures.words import Matcher, by_hyperscan, by_re2

PIECE = 1 << 16
"""Bytes that are left at once if no pattern has its words there: the smaller, the fewer words meet by chance."""
WORTH_HYPERSCAN = 16 << 20
"""Bytes of a log that RE2 reads in about the time that loading hyperscan and compiling the words takes."""

Candidates = dict[int, set[int]]


class Finder:
    """Gives every line on which a pattern could hit, and a few others, by the words of the patterns.

    Not by the patterns themselves: gaps (``.*``) of hundreds of patterns multiply the states of an automaton, which
    then are built anew for ever. The few patterns without words have an automaton of their own.
    """

    def __init__(self, patterns: Mapping[int, bytes]) -> None:
        needles = literals.of_all(patterns)
        self.words = sorted({word for one in needles.values() for needle in one for words in needle for word in words})
        number_of = {word: number for number, word in enumerate(self.words)}
        # of each needle its pattern and its words, by number; it is asked for where a word of its first set stands
        self._needles = [
            (number, [frozenset(map(number_of.__getitem__, words)) for words in needle])
            for number, one in needles.items()
            for needle in one
        ]
        self._asked_by: list[list[int]] = [[] for _ in self.words]
        for at, (_, sets) in enumerate(self._needles):
            for word in sets[0]:
                self._asked_by[word].append(at)
        self._others = [number for number in patterns if number not in needles]
        self._other_set = compiled_set([patterns[number] for number in self._others])

    @cached_property
    def re2(self) -> Matcher:
        """Which words stand in a text."""
        return by_re2(self.words)

    @cached_property
    def hyperscan(self) -> Matcher | None:
        """The same, faster, for long logs."""
        return by_hyperscan(self.words)

    def find(self, lines: Sequence[bytes], match: Matcher) -> Candidates:
        """The candidates of a block: pattern numbers by line number."""
        found: Candidates = {}
        text, start = b"\n".join(lines), 0
        ends: list[int] = []
        while start < len(text):
            end = text.find(b"\n", start + PIECE) + 1 or len(text)
            piece = text[start:end]
            asked = self._asked(frozenset(match(piece)))
            others = bool(self._others) and self._other_set.Match(piece) is not None
            if asked or others:
                ends = ends or list(accumulate(len(line) + 1 for line in lines))
                first, after = bisect_right(ends, start), bisect_right(ends, end - 1) + 1
                of_piece = [at - start for at in ends[first:after]]
                self._with_words(asked, piece.lower(), first, of_piece, found)
                for line in range(first, after) if others else ():
                    if numbers := self._other_set.Match(lines[line]):
                        found.setdefault(line, set()).update(map(self._others.__getitem__, numbers))
            start = end
        return found

    def _asked(self, present: frozenset[int]) -> list[tuple[int, list[frozenset[int]]]]:
        """The needles of whose words, all sets of them, some are present: pattern number, and these words by set."""
        asked = []
        for at in {at for word in present for at in self._asked_by[word]}:
            number, sets = self._needles[at]
            there = [words & present for words in sets]
            if all(there):
                asked.append((number, there))
        return asked

    def _with_words(
        self, asked: Sequence[tuple[int, list[frozenset[int]]]], text: bytes, first: int, ends: Sequence[int],
        found: Candidates,
    ) -> None:  # fmt: skip
        """Find the lines with a word of each set: they end at ``ends`` of the text, the first is line ``first``."""
        words = {word for _, sets in asked for some in sets for word in some}
        places = {word: _lines_with(self.words[word], text, ends) for word in words}
        for number, sets in asked:
            for line in set.intersection(*(set().union(*map(places.__getitem__, some)) for some in sets)):
                found.setdefault(first + line, set()).add(number)


def _lines_with(word: bytes, text: bytes, ends: Sequence[int]) -> set[int]:
    """The lines, which end at ``ends``, on which a word stands."""
    lines: set[int] = set()
    at = text.find(word)
    while at >= 0:
        line = bisect_right(ends, at)
        lines.add(line)
        at = text.find(word, ends[line])
    return lines


class BlockScan:
    """Finds the lines of a log that signatures hit, block by block, in time linear in the text.

    It counts the bytes of its log: a short one never loads hyperscan.
    """

    def __init__(self, patterns: Patterns, finder: Finder) -> None:
        self.patterns = patterns
        self._always = set(range(len(patterns.signatures))) - set(patterns.wide)
        self._finder = finder
        self._match: Matcher | None = None
        self._until_hyperscan = WORTH_HYPERSCAN

    def hits(self, lines: Sequence[bytes]) -> dict[int, tuple[int, ...]]:
        """Numbers of the signatures that hit, by place in ``lines`` (without line ends); lines without are left out."""
        candidates = self._finder.find(lines, self._matcher(lines))
        if self._always:
            for at in range(len(lines)):
                candidates.setdefault(at, set()).update(self._always)
        confirmed: dict[int, tuple[int, ...]] = {}
        for at in sorted(candidates):
            bare, _ = without_prefix(lines[at])
            if taken := self.patterns.take(bare.rstrip(), candidates[at]):
                confirmed[at] = tuple(taken)
        return confirmed

    def _matcher(self, lines: Sequence[bytes]) -> Matcher:
        """RE2 until the log has shown that it is long."""
        if self._until_hyperscan > 0:
            self._until_hyperscan -= sum(map(len, lines))
            if self._until_hyperscan > 0:
                return self._finder.re2
        return self._finder.hyperscan or self._finder.re2
