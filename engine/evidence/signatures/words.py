"""Which of many words stand in a piece of text, in any case: hyperscan where it is (x86-64 Linux), RE2 elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engine.evidence.signatures.patterns import compiled_set

Matcher = Callable[[bytes], Sequence[int]]
"""The numbers of the words in a text, each once, in any order."""


def by_re2(words: Sequence[bytes]) -> Matcher:
    """One automaton over all words."""
    joined = compiled_set([b"(?i)" + re.escape(word) for word in words])

    def match(text: bytes) -> Sequence[int]:
        found: Sequence[int] = joined.Match(text) or ()
        return found

    return match


def by_hyperscan(words: Sequence[bytes]) -> Matcher | None:
    """The same from hyperscan, several times faster; None where it is not installed or fails."""
    if not words:
        return None
    try:
        import hyperscan

        compiled = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        compiled.compile(
            expressions=words,
            ids=range(len(words)),
            elements=len(words),
            flags=[hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_SINGLEMATCH] * len(words),
            literal=True,
        )
        compiled.scratch = hyperscan.Scratch(compiled)
    except ImportError:
        return None
    except hyperscan.error:
        return None
    found: list[int] = []

    def report(number: int, start: int, end: int, flags: int, context: object) -> None:
        del start, end, flags, context
        found.append(number)

    def match(text: bytes) -> Sequence[int]:
        found.clear()
        compiled.scan(text, match_event_handler=report)
        return found

    return match
