"""The words without which a pattern cannot match: an automaton over words stays small, one over patterns does not.

For each pattern a set of literals is worked out of which every match holds at least one: of the parts that must all be
there the one with the longest shortest literal counts, of alternatives each gives its own. (The idea of FilteredRE2,
and of Russ Cox, "Regular Expression Matching with a Trigram Index", 2012.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import product
from typing import Any

from engine.evidence.signatures.patterns import digest_of
from engine.knowledge import cache

SHORTEST = 7
"""Shorter literals stand on too many lines to be worth asking for."""
_ORDINARY = (
    b"nccl info",
    b'", line ',
    b"[rank",
    b"torch.distributed",
)  # on lines of every log: taken for want of others
LONGEST = 24
MOST = 64
"""Literals of one pattern; with more the pattern itself is looked for."""
_CLASS = 4  # members of a class that are spelt out: [Nn]ode, but not [a-f]

Literals = frozenset[bytes]


def of_all(patterns: Mapping[int, bytes]) -> dict[int, Literals]:
    """The literals of every pattern that has some, from the cache: parsing hundreds of patterns takes a moment."""

    def found() -> dict[str, list[str]]:
        known = {number: literals(pattern) for number, pattern in patterns.items()}
        return {str(n): sorted(text.hex() for text in texts) for n, texts in known.items() if texts is not None}

    kept = cache.kept("literals", digest_of(patterns, f"{SHORTEST}:{LONGEST}:{MOST}:{_CLASS}"), found)
    return {int(number): frozenset(map(bytes.fromhex, texts)) for number, texts in kept.items()}


def literals(pattern: bytes) -> Literals | None:
    """The literals (lower case: they are to be looked for in any case), or None if some match needs none.

    ``pattern`` has no anchors (see ``widened``); one that Python does not read gives None.
    """
    try:
        tree = import_module("re._parser").parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    found = _best(_required(tree))
    return found if found is not None and len(found) <= MOST else None


def _required(tree: Iterable[tuple[Any, Any]]) -> list[Literals]:
    """Sets of literals, of each of which a match of the sequence holds one."""
    required: list[Literals] = []
    run: list[bytes] = [b""]
    for operation, value in tree:
        spelt = _spelt(str(operation), value)
        if spelt is not None and len(run) * len(spelt) <= MOST:
            run = [before + after for before, after in product(run, spelt)]
            continue
        required += _kept(run)
        run = list(spelt) if spelt is not None else [b""]
        if spelt is None:
            required += _inside(str(operation), value)
    return required + _kept(run)


def _spelt(operation: str, value: Any) -> Sequence[bytes] | None:
    """The few bytes that a part can be, None if they are many."""
    if operation == "LITERAL":
        return [bytes([value]).lower()]
    if operation == "IN" and len(value) <= _CLASS and all(str(kind) == "LITERAL" for kind, _ in value):
        return sorted({bytes([code]).lower() for _, code in value})
    if operation == "SUBPATTERN" and all(str(kind) == "LITERAL" for kind, _ in value[3]):
        return [bytes(code for _, code in value[3]).lower()]
    return None


def _inside(operation: str, value: Any) -> list[Literals]:
    """What a part with parts of its own requires."""
    if operation == "SUBPATTERN":
        return _required(value[3])
    if operation in {"MAX_REPEAT", "MIN_REPEAT"}:
        return _required(value[2]) if value[0] >= 1 else []
    if operation == "BRANCH":
        branches = [_best(_required(branch)) for branch in value[1]]
        if all(branch is not None for branch in branches):
            return [frozenset[bytes]().union(*(branch for branch in branches if branch is not None))]
    return []


def _kept(run: Sequence[bytes]) -> list[Literals]:
    return [frozenset(text[:LONGEST] for text in run)] if min(map(len, run)) >= SHORTEST else []


def _best(required: Sequence[Literals]) -> Literals | None:
    """The set whose shortest literal is longest; of equals the one with the fewest."""

    def worth(one: Literals) -> tuple[bool, int, int]:
        ordinary = any(word in text for text in one for word in _ORDINARY)
        return not ordinary, min(map(len, one)), -len(one)

    return max(required, key=worth, default=None)
