"""Patterns of signatures as RE2 on bytes: what a line must hold to be a hit, and a wider form for whole blocks.

Lines are read as bytes (Latin-1 in the words of RE2), so that the finder and the confirmation mean the same by
``.`` and by counts, and a line that is no valid UTF-8 cannot hide. Written as UTF-8, a literal beyond ASCII is found
all the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import re2

from engine.model.kb import Signature

MAX_LINE = 4_000
SMALL = 8 << 20
# Escapes and classes beside what is looked for, so that this is left alone inside of a class or behind a backslash.
_ELSE = r"\\(?P<escape>.)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"
_ANCHORS = re.compile(_ELSE + r"|(?P<anchor>[\^$])", re.DOTALL)
_FLAGS = re.compile(_ELSE.encode() + rb"|(?P<flags>\(\?[a-zA-Z]+\))", re.DOTALL)
# What other engines read otherwise than RE2: quoting, any byte, Unicode classes, flags switched off.
_PECULIAR = re.compile(r"\\[QCpP]|\(\?[a-zA-Z]*-")


def options(memory: int = SMALL) -> re2.Options:
    """Bytes are characters; ``memory`` bytes for the automaton and its states."""
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.max_mem = memory
    chosen.log_errors = False
    return chosen


def digest_of(patterns: Mapping[int, bytes]) -> str:
    """Digest of patterns: the key under which what is worked out of them is kept."""
    total = hashlib.sha256()
    for number, pattern in patterns.items():
        total.update(b"\0%d:%d:" % (number, len(pattern)) + pattern)
    return total.hexdigest()


def widened(pattern: str) -> bytes | None:
    """The pattern without anchors: it takes every line that the pattern takes, wherever in a block that line stands.

    Launchers put prefixes before a line and blanks behind it, which the confirmation takes off; so ``^`` and ``$`` say
    nothing about a raw block. None if the pattern uses what not every engine reads alike.
    """
    if _PECULIAR.search(pattern):
        return None

    def without_anchor(match: re.Match[str]) -> str:
        anchor = match["anchor"] or (match["escape"] or "") in {"A", "z"}
        return "(?:)" if anchor else match[0]

    return _ANCHORS.sub(without_anchor, pattern).encode()


def without_flags(pattern: bytes) -> bytes:
    """The pattern without flags that hold from their place on, which Python takes at the very start alone."""
    return _FLAGS.sub(lambda match: b"(?:)" if match["flags"] else match[0], pattern)


class Patterns:
    """All signatures; each is compiled when first asked. ``take`` decides a line: it is the only word on a hit."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures: tuple[Signature, ...] = tuple(signatures)
        wide = {number: widened(one.pattern) for number, one in enumerate(self.signatures)}
        self.wide = {number: pattern for number, pattern in wide.items() if pattern is not None}
        # sets of one: they say yes or no several times faster than a search, which works out the groups
        self._tests: dict[int, tuple[re2.Set, re2.Set | None]] = {}

    def take(self, line: bytes, candidates: Iterable[int]) -> list[int]:
        """Of the candidates, in order, those whose pattern stands in the line while their guard does not."""
        text = line[:MAX_LINE]
        return [index for index in sorted(candidates) if self._hits(index, text)]

    def _hits(self, index: int, text: bytes) -> bool:
        test = self._tests.get(index)
        if test is None:
            one = self.signatures[index]
            guard = compiled_set([one.unless.encode()], SMALL) if one.unless else None
            test = self._tests[index] = (compiled_set([one.pattern.encode()], SMALL), guard)
        return bool(test[0].Match(text)) and (test[1] is None or not test[1].Match(text))

    def fields(self, index: int, line: bytes) -> dict[str, str]:
        """The named groups of a hit that took part in it."""
        match = re2.compile(self.signatures[index].pattern.encode(), options()).search(line[:MAX_LINE])
        found = match.groupdict() if match is not None else {}
        # The groups of a pattern in bytes have their names in bytes as well.
        return {name.decode(): value.decode("utf-8", "replace") for name, value in found.items() if value is not None}


def compiled_set(patterns: Sequence[bytes], memory: int = 64 << 20) -> re2.Set:
    """One automaton over all patterns. 64 MiB hold its states for 300 patterns; a full cache starts anew, slower."""
    joined = re2.Set.SearchSet(options(memory))
    for pattern in patterns:
        joined.Add(pattern)
    joined.Compile()
    return joined
