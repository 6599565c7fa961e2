"""How a phrase was said: asserted, denied, guessed, asked, tried, or called normal."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.evidence import cues
from engine.evidence.lexicon import Hit
from engine.evidence.phrases import Match
from engine.evidence.tokens import Tokens

Status = Literal["asserted", "denied", "normal", "suspected", "asked", "tried", "compared", "past"]

MAX_QUOTE = 200

REACH = 6.0
"""Words over which a negator, or a verdict after the noun, still speaks of the match."""

NOUN = 3.0
"""The reach of "without" and "instead of", which deny one noun."""

AT_ONCE = 0.5
"""The reach of "not" before a verdict: at most one Chinese character."""

NEXT = 0.5
"""The reach of 不, 没, 无 and "0": one Chinese character."""

COPULA_REACH = 4
"""How many words before "fine" a copula may stand for it to be a verdict ("is on all ranks fine")."""

_VERDICT_VERBS = (
    "work",
    "run",
    "pass",
    "succ",
    "read",
    "look",
    "ruled",
    "no ",
    "in order",
    "without",
    "as exp",
    "normal",
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch [start, end) of one sentence between contrasts; ``cues`` and ``question`` are of the whole sentence."""

    tokens: Tokens
    start: int
    end: int
    sentence_end: int
    question: bool
    cues: dict[str, list[Hit]]

    def within(self, name: str, start: int, end: int) -> Iterator[Hit]:
        """The occurrences of a cue that lie in the tokens [start, end)."""
        hits = self.cues.get(name)
        if hits is None or start >= end:
            return
        first = bisect_left(hits, start, key=_start) if hits[0].start < start else 0
        for index in range(first, len(hits)):
            if hits[index].end > end:
                break
            yield hits[index]

    def has(self, name: str, start: int, end: int) -> bool:
        """Whether the cue occurs in the tokens [start, end)."""
        return name in self.cues and next(self.within(name, start, end), None) is not None

    def quote(self, start: int, end: int) -> str:
        """The text of the clause around the tokens, or from the first of them on if that is long."""
        first, last = self.clause(start, end)
        whole = self.tokens.ends[last - 1] - self.tokens.starts[first] <= MAX_QUOTE
        return self.tokens.quote(first if whole else start, last if whole else end, MAX_QUOTE)

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """The tokens of the clauses (between commas) that [start, end) touches, inside the segment."""
        clauses = self.tokens.clauses
        first = bisect_left(clauses, clauses[start], self.start, self.end)
        last = bisect_left(clauses, clauses[end - 1] + 1, self.start, self.end)
        return first, last


def _start(hit: Hit) -> int:
    return hit.start


def status_of(match: Match, segment: Segment) -> Status:
    """The status of a match in its segment."""
    start, end = segment.clause(match.start, match.end)
    if _asked(match, segment, start, end):
        return "asked"
    if _guessed(match, segment, start):
        return "suspected"
    if _tried(match, segment, start, end):
        return "tried"
    verdict: Status = "asserted"
    if _ruled_out(match, segment, start, end) or _negators(match, segment, start) % 2:
        verdict = "denied"
    if cues.NORMAL in segment.cues and verdict_on(match, segment):
        verdict = "normal"
    return "past" if verdict != "asserted" and segment.has(cues.PAST, start, end) else verdict


def _free(match: Match, segment: Segment, name: str, start: int, end: int) -> list[Hit]:
    """The occurrences of a cue in the tokens [start, end) that are no part of the match."""
    if name not in segment.cues:
        return []
    return [hit for hit in segment.within(name, start, end) if not match.covers(hit)]


def _asked(match: Match, segment: Segment, start: int, end: int) -> bool:
    if _free(match, segment, cues.WH, start, match.start):
        return False
    if segment.has(cues.ANYONE, start, match.start):
        return False
    if _free(match, segment, cues.ASKS, start, end):
        return not segment.has(cues.WH, start, end)
    return opens_question(segment, match.start)


def opens_question(segment: Segment, before: int) -> bool:
    """Whether a clause before that token opens as a question ("is it ..."), in a sentence with a question mark."""
    return segment.question and any(
        _opens_clause(hit, segment) for hit in segment.within(cues.ASKS_FIRST, segment.start, before)
    )


def _opens_clause(hit: Hit, segment: Segment) -> bool:
    clauses = segment.tokens.clauses
    return hit.start == segment.start or clauses[hit.start - 1] != clauses[hit.start]


def _guessed(match: Match, segment: Segment, start: int) -> bool:
    for hit in _free(match, segment, cues.GUESS, start, match.end):
        if not segment.has(cues.WH, hit.end, match.start):
            return True
    return cues.WHETHER in segment.cues and any(
        segment.has(cues.WHETHER, doubt.end, match.start) for doubt in segment.within(cues.NEUTRAL, start, match.start)
    )


def _tried(match: Match, segment: Segment, start: int, end: int) -> bool:
    """Between the deed and its outcome stands what was tried, not what is wrong."""
    if segment.has(cues.TRIED, start, match.end):
        end = segment.sentence_end
    elif not _free(match, segment, cues.ACTION, start, match.end):
        return False
    return any(
        not segment.has(cues.AND, match.end, hit.start)
        for outcome in (cues.NO_EFFECT, cues.FIXED)
        for hit in _free(match, segment, outcome, match.end, end)
    )


def _ruled_out(match: Match, segment: Segment, start: int, end: int) -> bool:
    return any(
        segment.tokens.width(min(hit.end, match.end), max(hit.start, match.start)) <= REACH
        for hit in _free(match, segment, cues.RULED_OUT, start, end)
    )


def verdict_on(match: Match, segment: Segment) -> bool:
    """Whether the clause says of the match that it is fine."""
    end = segment.clause(match.start, match.end)[1]
    for hit in _free(match, segment, cues.NORMAL, match.end, end):
        if segment.tokens.width(match.end, hit.start) > REACH:
            return False
        if _is_verdict(hit, match, segment) and not _negated(hit, segment, match.end):
            return len(match.hits) == 1 or not segment.has(cues.AND, match.end, hit.start)
    return False


def _is_verdict(hit: Hit, match: Match, segment: Segment) -> bool:
    """Whether a word of the kind of "fine" is said of what stands before it ("is fine", 正常), not in passing."""
    text = segment.tokens.quote(hit.start, hit.end).lower()
    if not text[0].isascii() or text.startswith(_VERDICT_VERBS):
        return True
    return any(
        segment.tokens.width(copula.end, hit.start) <= COPULA_REACH
        for copula in segment.within(cues.IS, match.end, hit.start)
    )


def _negated(hit: Hit, segment: Segment, start: int) -> bool:
    return segment.has(cues.NOT, start, hit.start) or any(
        segment.tokens.width(near.end, hit.start) <= AT_ONCE for near in segment.within(cues.NOT_NEXT, start, hit.start)
    )


def _negators(match: Match, segment: Segment, start: int) -> int:
    """How many negators govern the match."""
    return sum(
        _governs(hit, match, segment, reach)
        for name, reach in ((cues.NOT, REACH), (cues.WITHOUT, NOUN), (cues.INSTEAD, NOUN), (cues.NOT_NEXT, NEXT))
        for hit in _free(match, segment, name, start, match.end)
    )


def _governs(negator: Hit, match: Match, segment: Segment, reach: float) -> bool:
    """Whether it stands before a part, near enough, with neither a conjunction nor a question word between."""
    after = next((part for part in match.hits if part.start >= negator.end), None)
    if after is None or segment.tokens.clauses[negator.start] != segment.tokens.clauses[after.start]:
        return False
    if segment.tokens.width(negator.end, after.start) > reach:
        return False
    if "nor" in segment.tokens.words[negator.end : after.start]:  # "neither A nor B": each negator has its own noun
        return False
    return not any(segment.has(stop, negator.end, after.start) for stop in (cues.AND, cues.WH, cues.WHETHER))
