"""Losses that fell and then rise: "falls first, then rises", 先下降后上升. What counts is where they go in the end."""

from __future__ import annotations

from bisect import insort

from engine.evidence import cues
from engine.evidence.directions import DOWN, UP
from engine.evidence.lexicon import Hit, Layer
from engine.evidence.subjects import MEASURED
from engine.evidence.tokens import Tokens

TURN = "FALL_THEN_RISE"
"""The concept of the lexicon that such a course stands for."""

_FALLS_WELL = frozenset(["LOSS", "EVAL_LOSS"])
"""Of these a fall is good news, and over when a rise follows; a throughput that falls has fallen."""

_AFTERWARDS = frozenset(
    """then later afterwards subsequently but again since eventually started starts begins began 后 又 再 随 接 但 却
    开""".split()  # noqa: SIM905 one word each
)
"""First tokens of what says that the rise came after the fall, however far from it it stands."""

_AT_ONCE = frozenset(["and", "before", "until"])
"""These say so only right before the rise: in "falls until the batch grows" it is not the loss that grows."""

_TIMES = frozenset(["STEP", "EPOCH", "AFTER_A_WHILE", "GRADUAL", "SLOW", "STILL", UP, DOWN])
"""Concepts that may stand between the word for "then" and the rise."""

NEAR = 1.5
"""Words between "and" and the rise ("and slowly rises")."""

FAR = 24.0
"""Words between the fall and the rise: a longer stretch tells two stories."""


def with_turns(hits: list[Hit], tokens: Tokens) -> list[Hit]:
    """The hits of one sentence, each fall that a rise of the same loss follows made one turn, at which nothing cuts."""
    concepts = [hit for hit in hits if hit.layer is Layer.CONCEPT]
    subject: Hit | None = None
    fall: Hit | None = None
    turns: list[tuple[int, int]] = []
    for hit in concepts:
        if hit.name in MEASURED:
            if subject is None or hit.name != subject.name:
                fall = None
            subject = hit
        elif hit.name == DOWN and subject is not None and subject.name in _FALLS_WELL:
            fall = fall or hit
        elif hit.name == UP and fall is not None and subject is not None:
            if _is_turn(subject, fall, hit, hits, tokens):
                turns.append((fall.start, hit.end))
            fall = None
    if not turns:
        return hits
    kept = [hit for hit in hits if not any(_is_over(hit, start, end) for start, end in turns)]
    for start, end in turns:
        insort(kept, Hit(Layer.CONCEPT, TURN, start, end), key=lambda hit: hit.start)
    return kept


def _is_over(hit: Hit, start: int, end: int) -> bool:
    """Whether a hit inside a turn says nothing any more: the fall, and the "but" before the rise."""
    return hit.name in (DOWN, cues.BUT, cues.BUT_VERB) and start <= hit.start and hit.end <= end


def _is_turn(subject: Hit, fall: Hit, rise: Hit, hits: list[Hit], tokens: Tokens) -> bool:
    if tokens.width(fall.end, rise.start) > FAR or any(
        hit.name in (cues.NOT, cues.NOT_NEXT, cues.CANNOT) and min(subject.end, fall.start) <= hit.start < rise.start
        for hit in hits
    ):
        return False
    words = tokens.words
    for at in range(fall.end, rise.start):
        if words[at] in _AT_ONCE and tokens.width(at + 1, rise.start) <= NEAR:
            return True
        if words[at] in _AFTERWARDS and not any(
            hit.layer is Layer.CONCEPT and hit.name not in _TIMES and at < hit.start < rise.start for hit in hits
        ):
            return True
    return False
