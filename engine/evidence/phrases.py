"""Phrases of the knowledge base, and where they stand in a segment of text."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from engine.evidence.inflection import inflections
from engine.evidence.lexicon import Hit, Layer, Lexicon, packed
from engine.evidence.tokens import Tokens
from engine.model.kb import Concept, Role

MAX_WIDTH = 8.0
"""Words that may stand between the parts of a phrase; a comma counts two, a Chinese character 0.4."""

MAX_MATCHES = 3
"""More matches of one phrase in one segment say nothing new."""

MAX_TRIES = 50

_SAYS_NOTHING = frozenset(["the", "a", "an", "is", "are", "was", "were", "be", "of", "it", "its", "that"])
"""Words that a phrase may hold to read well and that no text needs to repeat."""

_NEGATORS = frozenset(["not", "no", "never", "without", "没", "没有", "不", "未", "无"])
"""Words of phrases that must not stand behind what they deny; all others may come in any order."""

_PART = re.compile(r"'([^']+)'|\"([^\"]+)\"|(\S+)")
_CONCEPT = re.compile(r"[A-Z][A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class Target:
    """What a phrase speaks of: a finding of some role, or a fact; ``denies`` for the phrases of ``denied_by``."""

    id: str
    role: Role | Literal["fact"]
    denies: bool = False

    @property
    def is_fact(self) -> bool:
        return self.role == "fact"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase as the names of its parts, each name once; ``is_topic`` if it only names what is compared."""

    target: Target
    parts: tuple[str, ...]
    is_topic: bool = False


class Match(NamedTuple):
    """A phrase found: its parts' occurrences by position, in the tokens [start, end)."""

    phrase: Phrase
    hits: tuple[Hit, ...]
    start: int
    end: int

    @property
    def target(self) -> Target:
        return self.phrase.target

    def covers(self, hit: Hit) -> bool:
        """Whether the occurrence overlaps one of the parts."""
        return any(part.start < hit.end and hit.start < part.end for part in self.hits)


class PhraseBook:
    """All phrases, keyed by their rarest part; a phrase becomes an object when a text holds that part."""

    def __init__(self, index: dict[str, Any]) -> None:
        """From the ``index_of`` some phrases."""
        self._index = index
        self._by_anchor: dict[str, dict[str, list[tuple[frozenset[str], Phrase]]]] = {}

    def _anchored(self, anchor: str) -> dict[str, list[tuple[frozenset[str], Phrase]]]:
        """The phrases with that anchor by another part, the rarest among them (one of a single part by the anchor)."""
        known = self._by_anchor.get(anchor)
        if known is None:
            targets = self._index["targets"]
            entries = json.loads(self._index["by_anchor"].get(anchor, "[]"))
            use = Counter(part for _, parts, _ in entries for part in parts)
            known = self._by_anchor[anchor] = {}
            for target, parts, is_topic in entries:
                other = min((part for part in parts if part != anchor), key=lambda part: use[part], default=anchor)
                phrase = Phrase(Target(*targets[target]), tuple(parts), is_topic)
                known.setdefault(other, []).append((frozenset(parts), phrase))
        return known

    def match(self, hits: list[Hit], tokens: Tokens) -> list[Match]:
        """The matches among the occurrences of one segment, without those that a more specific one covers."""
        by_name: dict[str, list[Hit]] = {}
        for hit in hits:
            by_name.setdefault(hit.name, []).append(hit)
        found: list[Match] = []
        names = frozenset(by_name)
        for anchor in by_name:
            anchored = self._anchored(anchor)
            for other in sorted(anchored.keys() & names):
                for needed, phrase in anchored[other]:
                    if needed <= names:
                        found += _matches(phrase, anchor, by_name, tokens)
        return _most_specific(found)


def index_of(phrases: Iterable[Phrase]) -> dict[str, Any]:
    """The phrases as plain data, to be kept; their order decides nothing but the order of equal matches."""
    distinct = list(dict.fromkeys(phrases))
    use = Counter(part for phrase in distinct for part in phrase.parts)
    targets: dict[Target, int] = {}
    by_anchor: dict[str, list[tuple[int, tuple[str, ...], bool]]] = {}
    for phrase in distinct:
        anchor = min(phrase.parts, key=lambda part: (use[part], part))
        target = targets.setdefault(phrase.target, len(targets))
        by_anchor.setdefault(anchor, []).append((target, phrase.parts, phrase.is_topic))
    return {
        "targets": [(target.id, target.role, target.denies) for target in targets],
        "by_anchor": packed(by_anchor),
    }


def _matches(phrase: Phrase, anchor: str, by_name: dict[str, list[Hit]], tokens: Tokens) -> list[Match]:
    found: list[Match] = []
    for first in by_name[anchor][:MAX_TRIES]:
        chosen = [first]
        for part in phrase.parts:
            if part == anchor:
                continue
            nearest = _nearest(by_name[part], chosen, first, tokens)
            if nearest is None:
                break
            chosen.append(nearest)
        if len(chosen) == len(phrase.parts) and _gaps(chosen, tokens) <= MAX_WIDTH and _denies_in_place(phrase, chosen):
            chosen.sort(key=lambda hit: hit.start)
            found.append(Match(phrase, tuple(chosen), chosen[0].start, max(hit.end for hit in chosen)))
            if len(found) == MAX_MATCHES:
                break
    return found


def _nearest(options: list[Hit], taken: list[Hit], anchor: Hit, tokens: Tokens) -> Hit | None:
    """The occurrence nearest to the anchor that shares no token with those already taken; of two as near the later.

    In "reward rises and held-out accuracy rises" the second rise is that of the accuracy.
    """
    middle = bisect_left(options, anchor.start, key=lambda hit: hit.start)
    near = options[max(0, middle - 3) : middle + 3]
    free = [hit for hit in near if all(hit.end <= part.start or part.end <= hit.start for part in taken)]

    def distance(hit: Hit) -> tuple[float, bool]:
        before = hit.start < anchor.start
        first, second = (hit, anchor) if before else (anchor, hit)
        return tokens.width(first.end - 1, second.start), before  # with a comma that follows the first

    return min(free, key=distance, default=None)


def _denies_in_place(phrase: Phrase, chosen: list[Hit]) -> bool:
    """Whether each negator of the phrase stands before what it denies there: 没有 微调 is not in 微调之后没有下降."""
    starts = {hit.name: hit.start for hit in chosen}
    return all(starts[part] < starts[denied] for part, denied in pairwise(phrase.parts) if part in _NEGATORS)


def _gaps(hits: list[Hit], tokens: Tokens) -> float:
    """What stands between the parts, in words."""
    ordered = sorted(hits, key=lambda hit: hit.start)
    return sum(max(0.0, tokens.width(a.end, b.start)) for a, b in pairwise(ordered))


def _most_specific(matches: list[Match]) -> list[Match]:
    """Drop a match whose parts all lie in those of a match for something else, one of them in a longer part."""
    if len(matches) < 2:
        return matches
    literals = [match for match in matches if any(hit.end - hit.start > 1 for hit in match.hits)]
    return [
        match
        for match in matches
        if not any(_covered(match, other) for other in literals if other.target.id != match.target.id)
    ]


def _covered(match: Match, other: Match) -> bool:
    longer = False
    for hit in match.hits:
        size = max(
            (part.end - part.start for part in other.hits if part.start <= hit.start and hit.end <= part.end), default=0
        )
        if size == 0:
            return False
        longer = longer or size > hit.end - hit.start
    return longer


def pieces_of(phrase: str) -> Iterator[tuple[str, str]]:
    """The pieces of a phrase as (what was quoted, what was not): one of the two is empty."""
    for single, double, bare in _PART.findall(phrase):
        yield single or double, bare


def parts_of(phrase: str, concepts: Mapping[str, Concept], lexicon: Lexicon) -> tuple[str, ...]:
    """The names of a phrase's parts; words that are no concept join the lexicon as forms of their own.

    An unknown word in capitals is taken as a plain word: the linter of the knowledge base reports it.
    """
    names: list[str] = []
    for literal, bare in pieces_of(phrase):
        if bare and _CONCEPT.fullmatch(bare) and bare in concepts:
            names.append(bare)
            continue
        if not any(char.isalnum() for char in literal or bare):
            continue  # a sign such as "*" or "/": nothing to find
        if bare in _SAYS_NOTHING:
            continue
        name = f"'{literal}'" if literal else bare.lower()
        if literal:
            lexicon.add(Layer.LITERAL, name, literal)
        elif not lexicon.has(Layer.WORD, name):
            for form in inflections(name):
                lexicon.add(Layer.WORD, name, form)
        names.append(name)
    return tuple(dict.fromkeys(names))
