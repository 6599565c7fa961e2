"""The words without which a pattern cannot match: an automaton over words stays small, one over patterns does not.

For each alternative of a pattern a needle is worked out: sets of words, of each of which a match holds at least one.
Of all the parts that must be there, those count whose shortest word is longest: one such set if its words are long,
else two, as short words alone stand on too many lines. (The idea of FilteredRE2, and of Russ Cox, "Regular Expression
Matching with a Trigram Index", 2012.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import product
from typing import Any

from engine.evidence.signatures.patterns import digest_of, without_flags
from engine.knowledge import cache

SHORTEST = 4
"""Shorter words stand on too many lines to be worth asking for."""
LONGEST = 12
"""A word is cut to this many bytes: it is rare enough, and shared with other patterns."""
ENOUGH = 10
"""Where even the shortest word of a set has as many bytes, one set is enough."""
MOST = 256
"""Words in a set."""
_ORDINARY = (b"nccl info", b'", line ', b"[rank", b"torch.distributed")  # on lines of every log
_POSIX = re.compile(rb"\[:\^?\w+:\]")  # a class that Python reads as the letters of its name
_CLASS = 4  # members of a class that are spelt out: [Nn]ode, but not [a-f]

Literals = frozenset[bytes]
Needle = tuple[Literals, ...]
_NOTHING: Literals = frozenset([b""])


def of_all(patterns: Mapping[int, bytes]) -> dict[int, tuple[Needle, ...]]:
    """The needles of every pattern that has some, from the cache: parsing hundreds of patterns takes a moment."""

    def found() -> dict[str, list[list[list[str]]]]:
        known = {number: needles(pattern) for number, pattern in patterns.items()}
        return {
            str(number): [[sorted(word.hex() for word in words) for words in needle] for needle in alternatives]
            for number, alternatives in known.items()
            if alternatives
        }

    kept = cache.kept("literals", digest_of(patterns), found)
    return {
        int(number): tuple(tuple(frozenset(map(bytes.fromhex, words)) for words in needle) for needle in alternatives)
        for number, alternatives in kept.items()
    }


def needles(pattern: bytes) -> tuple[Needle, ...]:
    """A needle for each alternative, words in lower case (to be looked for in any case); () if some match needs none.

    ``pattern`` has no anchors (see ``widened``); one that Python does not read, or reads otherwise than RE2, gives ().
    """
    if _POSIX.search(pattern):
        return ()
    try:
        found = [_needle(branch) for branch in _branches(import_module("re._parser").parse(without_flags(pattern)))]
    except (re.error, OverflowError, RecursionError):
        return ()
    return tuple(found) if all(found) else ()


def _branches(tree: Iterable[tuple[Any, Any]]) -> list[Iterable[tuple[Any, Any]]]:
    """The alternatives that a whole pattern consists of."""
    parts = list(tree)
    if len(parts) == 1:
        operation, value = str(parts[0][0]), parts[0][1]
        if operation == "SUBPATTERN":
            return _branches(value[3])
        if operation == "BRANCH":
            return [inner for branch in value[1] for inner in _branches(branch)]
    return [parts]


def _needle(tree: Iterable[tuple[Any, Any]]) -> Needle:
    sets: list[Literals] = []
    for words in sorted(_sequence(tree)[1], key=_worth, reverse=True):
        least = frozenset(word[:LONGEST] for word in words if not any(other in word for other in words - {word}))
        if min(map(len, least)) >= SHORTEST and least not in sets:
            sets.append(least)
    return tuple(sets[: 1 if sets and min(map(len, sets[0])) >= ENOUGH else 2])


def _worth(words: Literals) -> tuple[bool, int, int]:
    """The set whose shortest word is longest, within reason; of equals the one with the fewest."""
    ordinary = any(other in word for word in words for other in _ORDINARY)
    return not ordinary, min(LONGEST, *map(len, words)), -len(words)


def _sequence(tree: Iterable[tuple[Any, Any]]) -> tuple[Literals | None, list[Literals]]:
    """All that a sequence can be, if that is few texts, and sets of which a match holds one each."""
    required: list[Literals] = []
    run, whole = _NOTHING, True  # what may stand here in one piece; whether that is the sequence from its start
    for operation, value in tree:
        exact, inside, repeats = _part(str(operation), value)
        if exact is None or len(run) * len(exact) > MOST:
            required += [run, *inside]
            run, whole = exact or _NOTHING, False
            continue
        run = frozenset(before + after for before, after in product(run, exact))
        if repeats:  # the first of them follows what was before, the last goes before what comes
            required.append(run)
            run, whole = exact, False
    return run if whole else None, [*required, run]


def _part(operation: str, value: Any) -> tuple[Literals | None, Sequence[Literals], bool]:
    """The same of a part of a sequence, and whether it may be there more than once."""
    if operation == "LITERAL":
        return frozenset([bytes([value]).lower()]), (), False
    if operation == "AT":  # between two bytes
        return _NOTHING, (), False
    if operation == "IN" and len(value) <= _CLASS and all(str(kind) == "LITERAL" for kind, _ in value):
        return frozenset(bytes([code]).lower() for _, code in value), (), False
    if operation == "SUBPATTERN":
        return (*_sequence(value[3]), False)
    if operation in {"MAX_REPEAT", "MIN_REPEAT"}:
        least, most, body = value
        exact, inside = _sequence(body)
        if least == 0:
            return (exact | _NOTHING if exact is not None and most == 1 else None), (), False
        return exact, inside, most > 1
    if operation == "BRANCH":
        return (*_alternatives([_sequence(branch) for branch in value[1]]), False)
    return None, (), False


def _alternatives(branches: Sequence[tuple[Literals | None, list[Literals]]]) -> tuple[Literals | None, list[Literals]]:
    required = frozenset[bytes]().union(*(max(inside, key=_worth) for _, inside in branches))
    spelt = [exact for exact, _ in branches if exact is not None]
    together = frozenset[bytes]().union(*spelt)
    return together if len(spelt) == len(branches) and len(together) <= MOST else None, [required]
