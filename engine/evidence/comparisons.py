"""Trials, comparisons and invariances: what cured it, what did nothing, what works where the other fails.

Their findings are parametrised: ``responds(knob)``, ``contrast(dimension)``, ``unchanged(thing)``, ``normal(thing)``.
A phrase of theirs that names only the knob or the dimension is a *topic*: what is said of it is read here. A phrase
that carries its own outcome ("LR CURES") is an ordinary phrase.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from engine.evidence import cues
from engine.evidence.lexicon import Hit
from engine.evidence.phrases import Match
from engine.evidence.status import Segment, status_of, verdict_on

Verdict = Literal["present", "absent"]

OUTCOMES = frozenset(
    [
        "NORMAL",
        "SAME",
        "CURES",
        "NO_EFFECT",
        "FAILS",
        "WORSE",
        "BAD",
        "DIFFER",
        "WORKS",
        "HANG",
        "CRASH",
        "NAN",
        "SLOW",
        "CHANGED",
    ]
)
"""Concepts that make a phrase of a parametrised finding complete."""

NEAR = 3.0
"""Words between "only in" or "slower than" and what it speaks of."""

_READERS = ("responds", "contrast", "unchanged", "normal")


_SAMENESS = re.compile(
    r"\b(?:equal|same|identical|match(?:es)?|agrees?|consistent)\b|完全一致|一致|相同|一样", re.IGNORECASE
)


def differing(name: str) -> str | None:
    """What "weights equal on all ranks: false" says: "weights differ on all ranks"; None if it names no sameness."""
    found = _SAMENESS.search(name)
    if found is None:
        return None
    return name[: found.start()] + ("differ" if found[0].isascii() else "不一致") + name[found.end() :]


def is_comparison(target_id: str) -> bool:
    """Whether the finding is of a trial or a comparison, whose opposite takes more than a denial."""
    return target_id.startswith(("responds(", "contrast("))


def is_topic(target_id: str, parts: tuple[str, ...]) -> bool:
    """Whether a phrase of that finding names only what is compared or changed."""
    return target_id.partition("(")[0] in _READERS and target_id.endswith(")") and not OUTCOMES & set(parts)


def topic_of(target_id: str, parts: tuple[str, ...]) -> str | None:
    """The topic inside a phrase that carries its outcome: LR of "LR CURES" for ``responds(lr)``; else None."""
    rest = [part for part in parts if part not in OUTCOMES]
    one_concept = len(rest) == 1 < len(parts) and rest[0].isupper()
    return rest[0] if one_concept and is_comparison(target_id) else None


def read_topic(match: Match, segment: Segment, others: list[tuple[Match, Segment]]) -> Verdict | None:
    """What the sentence says of the topic; ``others`` are all topics of the sentence."""
    if status_of(match, segment) in ("asked", "suspected"):
        return None
    kind = match.target.id.partition("(")[0]
    if kind == "contrast":
        return _contrast(match, segment, others)
    reader: dict[str, Callable[[Match, Segment], Verdict | None]] = {
        "responds": _responds,
        "unchanged": _unchanged,
        "normal": _normal,
    }
    return reader[kind](match, segment)


def _responds(match: Match, segment: Segment) -> Verdict | None:
    start, end = segment.clause(match.start, match.end)
    changed = any(
        hit.start < match.start or segment.tokens.width(match.end, hit.start) <= NEAR
        for cue in (cues.TRIED, cues.ACTION)
        for hit in segment.within(cue, start, end)
    )
    limit = segment.sentence_end if changed else end
    for hit in _in_order(segment, (cues.NO_EFFECT, cues.FIXED, cues.RESOLVED), start, limit):
        if hit.name == cues.NO_EFFECT or _denied(hit, segment, start):
            return "absent"
        return "present"
    if changed and segment.has(cues.NORMAL, match.end, segment.end):
        hit = next(segment.within(cues.NORMAL, match.end, segment.end))
        return None if _denied(hit, segment, match.end) else "present"
    if changed and any(
        segment.has(cues.BAD, hit.end, min(hit.end + 6, limit)) for hit in segment.within(cues.STILL, match.end, limit)
    ):
        return "absent"
    return None


def _contrast(match: Match, segment: Segment, others: list[tuple[Match, Segment]]) -> Verdict | None:
    start, end = segment.clause(match.start, match.end)
    if _just_before(cues.ONLY, match, segment, start) or _just_before(cues.THAN, match, segment, start):
        return "present"
    side = side_of(match.start, match.end, segment)
    if side == "bad":
        return "absent" if segment.has(cues.ALSO, start, end) else None
    if side != "good":
        return None
    rivals = (m for m, other in others if m.target == match.target and side_of(m.start, m.end, other) == "bad")
    return "present" if _specific(match) or next(rivals, None) is not None else None


def _unchanged(match: Match, segment: Segment) -> Verdict | None:
    start, end = segment.clause(match.start, match.end)
    for hit in segment.within(cues.SAME, start, end):
        gap = segment.tokens.width(min(hit.end, match.end), max(hit.start, match.start))
        if gap > NEAR:
            continue
        return "absent" if _denied(hit, segment, start) else "present"
    return None


def _normal(match: Match, segment: Segment) -> Verdict | None:
    start, end = segment.clause(match.start, match.end)
    if segment.has(cues.PAST, start, end):
        return None
    return "present" if verdict_on(match, segment) else None


def side_of(start: int, end: int, segment: Segment) -> Literal["good", "bad", ""]:
    """Whether the clause around the tokens says that it works, or that it fails; "" if it says neither."""
    first, last = segment.clause(start, end)
    good = [not _denied(hit, segment, first) for hit in segment.within(cues.NORMAL, first, last)]
    if good:
        return "good" if all(good) else "bad"
    bad = [not _denied(hit, segment, first) for hit in segment.within(cues.BAD, first, last)]
    if bad:
        return "bad" if any(bad) else "good"
    return ""


def _specific(match: Match) -> bool:
    """Two words or more, or one that holds a digit (fp32): said on purpose, not in passing."""
    return match.end - match.start > 1 or any(part.isdigit() for hit in match.hits for part in hit.name)


def _just_before(cue: str, match: Match, segment: Segment, start: int) -> bool:
    return any(
        segment.tokens.width(hit.end, match.start) <= NEAR
        for hit in segment.within(cue, start, match.end)
        if hit.start < match.start
    )


def _in_order(segment: Segment, names: tuple[str, ...], start: int, end: int) -> Iterator[Hit]:
    hits = [hit for name in names for hit in segment.within(name, start, end)]
    return iter(sorted(hits, key=lambda hit: (hit.start, -hit.end)))


def _denied(hit: Hit, segment: Segment, start: int) -> bool:
    """An odd number of negators shortly before the word, in its clause."""
    first = max(start, segment.clause(hit.start, hit.end)[0])
    near = [segment.tokens.width(other.end, hit.start) <= NEAR for other in segment.within(cues.NOT, first, hit.start)]
    next_to = [
        segment.tokens.width(other.end, hit.start) <= 1.0 for other in segment.within(cues.NOT_NEXT, first, hit.start)
    ]
    return (sum(near) + sum(next_to)) % 2 == 1
