"""How a phrase was said: asserted, denied, guessed, asked, tried, or called normal."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
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

SOON = 1.0
"""The reach of "should" and "used to": what follows at once, and no predicate after it."""

MAX_ADVERBIAL = 10.0
"""A longer clause before the one of the match is no mere "until step 300,"."""

MEETS = 4
"""Words after "if" within which what "we" meet begins ("if we ever see a NaN"); further on stands what follows."""

AT_ONCE = 0.5
"""The reach of "not" before a verdict: at most one Chinese character."""

NEXT = 0.5
"""The reach of 不, 没, 无 and "0": one Chinese character."""

COPULA_REACH = 4
"""How many words before "fine" a copula may stand for it to be a verdict ("is on all ranks fine")."""

_BY_WHAT = frozenset(["by", "after", "when", "once", "with"])
"""A repair by something is a trial and not history."""

_INVERTED = frozenset(["were", "had"])
"""First words of a condition without "if" ("had the job hung, we would know")."""

_CONSEQUENCE = frozenset(["it", "we", "they", "everything", "you", "then", "就", "便", "则", "会"])
"""First words of what follows from a condition, where no comma stands before it."""

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


_CHANGES = frozenset([
    cues.FIND_OUT, cues.ASKS, cues.ASKS_FIRST, cues.GUESS, cues.WHETHER, cues.UNREAL, cues.PREVENT, cues.IF,
    cues.REACTION, cues.TRIED, cues.ACTION, cues.RULED_OUT, cues.NOT, cues.CANNOT, cues.WITHOUT, cues.INSTEAD,
    cues.NOT_NEXT, cues.NORMAL, cues.PAST, cues.USED_TO, cues.LONG_AGO, cues.ELSEWHERE, cues.RESOLVED,
])  # fmt: skip
"""A sentence without any of these asserts what it says."""

_REACHES = (
    (cues.NOT, REACH),
    (cues.CANNOT, REACH),
    (cues.WITHOUT, NOUN),
    (cues.INSTEAD, NOUN),
    (cues.NOT_NEXT, NEXT),
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
    if _CHANGES.isdisjoint(segment.cues):
        return "asserted"
    start, end = segment.clause(match.start, match.end)
    if _asked(match, segment, start, end):
        return "asked"
    if _guessed(match, segment, start) or _supposed(match, segment, start):
        return "suspected"
    if _tried(match, segment, start, end):
        return "tried"
    verdict: Status = "asserted"
    if _ruled_out(match, segment, start, end) or _is_negated(match, segment, start):
        verdict = "denied"
    if cues.NORMAL in segment.cues and verdict_on(match, segment):
        verdict = "normal"
    over = _is_over(match, segment, start, end) if verdict == "asserted" else is_past(match, segment)
    return "past" if over else verdict


def is_past(match: Match, segment: Segment) -> bool:
    """Whether its clause, or an adverbial clause before it, says that it was so until something happened."""
    start, end = segment.clause(match.start, match.end)
    if _free(match, segment, cues.PAST, start, end):
        return True
    if cues.PAST not in segment.cues or start <= segment.start or segment.has(cues.THEN, start, match.start):
        return False
    first = segment.clause(start - 1, start)[0]
    if segment.tokens.width(first, start) > MAX_ADVERBIAL:
        return False
    return any(hit.start == first or hit.end == start for hit in segment.within(cues.PAST, first, start))


def _free(match: Match, segment: Segment, name: str, start: int, end: int) -> list[Hit]:
    """The occurrences of a cue in the tokens [start, end) that are no part of the match."""
    if name not in segment.cues:
        return []
    return [hit for hit in segment.within(name, start, end) if not match.covers(hit)]


def _is_over(match: Match, segment: Segment, start: int, end: int) -> bool:
    """Whether what is wrong was wrong once: "used to hang", "was fixed weeks ago", and never by a trial just made."""
    found = segment.cues
    if cues.USED_TO in found and any(
        segment.tokens.width(hit.end, match.start) <= SOON or (hit.start == start and hit.end - hit.start < 3)
        for hit in segment.within(cues.USED_TO, start, match.start)
    ):
        return True
    trial = cues.ACTION in found or cues.TRIED in found
    if cues.LONG_AGO in found and (cues.FIXED in found or cues.RESOLVED in found):
        return True
    if cues.ELSEWHERE in found and segment.has(cues.ELSEWHERE, start, end):
        return True
    return not trial and any(
        segment.tokens.words[min(hit.end, segment.sentence_end - 1)] not in _BY_WHAT
        for hit in found.get(cues.RESOLVED, ())
        if hit.start >= match.end and not match.covers(hit)
    )


def _asked(match: Match, segment: Segment, start: int, end: int) -> bool:
    if segment.has(cues.FIND_OUT, start, match.start):
        return True
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


def _supposed(match: Match, segment: Segment, start: int) -> bool:
    """Whether it is only a condition ("if the loss diverges"), or wished, feared or prevented ("to avoid NaN").

    Settings and what is normal keep their say: "if I use one GPU it is fine" tells of one GPU.
    """
    unreal = _free(match, segment, cues.UNREAL, start, match.end)
    if any(0 <= segment.tokens.width(hit.end, part.start) <= SOON for hit in unreal for part in match.hits):
        return True
    prevented = segment.within(cues.PREVENT, start, match.start)
    if any(segment.tokens.width(hit.end, match.start) <= REACH for hit in prevented):
        return True
    if any(hit.start == start and hit.end == start + 1 for hit in unreal):  # "should the job hang, we are told"
        return True
    if segment.tokens.words[segment.start] in _INVERTED and segment.has(cues.UNREAL, match.end, segment.sentence_end):
        return True
    if match.target.id.endswith(")"):
        return False
    return match.target.role not in ("normal", "context") and condition_of(match, segment) is not None


def condition_of(match: Match, segment: Segment) -> int | None:
    """Where the condition begins in which the match stands ("if the loss diverges"), None if it is in none.

    What a standing order reacts to is a condition as well ("when the loss spikes, the callback rolls back").
    """
    start = segment.clause(match.start, match.end)[0]
    for opener in segment.within(cues.IF, start, match.start):
        beyond = is_trial(opener.end, segment) and match.start - opener.end > MEETS  # "if I use fp16 the loss is NaN"
        if match.end <= _end_of_condition(opener, segment) and not beyond:
            return opener.start
    return match.start if _laid_down(match, segment, start) else None


def is_trial(after: int, segment: Segment) -> bool:
    """Whether the condition opened before that token is something that the reporter does ("if I pass it, it stops")."""
    return segment.tokens.words[after : after + 1] in (["i"], ["we"], ["我"])


def _laid_down(match: Match, segment: Segment, start: int) -> bool:
    """Whether the sentence only tells what is to be done about it."""
    if cues.REACTION not in segment.cues or cues.WHEN not in segment.cues or cues.EACH_TIME in segment.cues:
        return False
    words, end = segment.tokens.words, segment.clause(match.start, match.end)[1]
    opened = segment.has(cues.WHEN, start, match.start) or any(
        not words[hit.start].isascii() for hit in segment.within(cues.WHEN, match.end, end)
    )
    return opened and any(
        words[min(hit.end, len(words) - 1)] != "了" and not hit.start <= match.hits[0].start < hit.end
        for hit in segment.cues[cues.REACTION]
    )


def _end_of_condition(opener: Hit, segment: Segment) -> int:
    end = segment.clause(opener.start, opener.end)[1]
    words = segment.tokens.words
    return next((at for at in range(opener.end + 1, end) if words[at] in _CONSEQUENCE), end)


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
    return any(segment.has(cue, start, hit.start) for cue in (cues.NOT, cues.CANNOT, cues.UNREAL)) or any(
        segment.tokens.width(near.end, hit.start) <= AT_ONCE for near in segment.within(cues.NOT_NEXT, start, hit.start)
    )


def _is_negated(match: Match, segment: Segment, start: int) -> bool:
    """Whether an odd number of negators governs the match in one of its clauses ("no hang, and no slow rank").

    What cannot be done denies no trouble ("cannot load: shape mismatch").
    """
    clauses = segment.tokens.clauses
    found = [
        hit
        for name, reach in _REACHES
        if name in segment.cues and (name != cues.CANNOT or match.target.role == "normal")
        for hit in segment.within(name, start, match.end)
        if not _is_own(hit, match, segment) and _governs(hit, match, segment, reach)
    ]
    if not found:
        return False
    governing = sorted(found, key=lambda hit: hit.start)
    apart = [hit for at, hit in enumerate(governing) if at == 0 or hit.start >= governing[at - 1].end]
    return any(count % 2 for count in Counter(clauses[hit.start] for hit in apart).values())


def _is_own(negator: Hit, match: Match, segment: Segment) -> bool:
    """Whether the phrase holds the negator itself; 出现 inside 没有出现 is only what it denies."""
    words = segment.tokens.words
    return any(
        part.start <= negator.start < part.end
        or (part.start < negator.end and negator.start < part.end and words[part.start].startswith(cues.NEGATIVE_WORDS))
        for part in match.hits
    )


def _governs(negator: Hit, match: Match, segment: Segment, reach: float) -> bool:
    """Whether it stands before a part, near enough, with neither a conjunction nor a question word between."""
    after = next((part for part in match.hits if part.start > negator.start and part.end > negator.end), None)
    if after is None or segment.tokens.clauses[negator.start] != segment.tokens.clauses[after.start]:
        return False
    if segment.tokens.width(negator.end, after.start) > reach:
        return False
    words = segment.tokens.words
    if "nor" in words[negator.end : after.start]:  # "neither A nor B": each negator has its own noun
        return False
    if (
        words[negator.start] == "nor"
        and "neither" in words[segment.start : match.hits[0].start]
        and after.start != (match.hits[0].start)
    ):
        return False  # "neither A nor B rises": A's negator stands before it already
    return not any(segment.has(stop, negator.end, after.start) for stop in (cues.AND, cues.WH, cues.WHETHER))
