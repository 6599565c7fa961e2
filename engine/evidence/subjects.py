"""Which of several matches a clause means: that of the nearest subject, and a denial before the plain phrase."""

from __future__ import annotations

from engine.evidence import cues
from engine.evidence.directions import DOWN, UP
from engine.evidence.lexicon import Hit, Layer
from engine.evidence.phrases import Match
from engine.evidence.status import Segment, status_of

MEASURED = frozenset(
    """LOSS EVAL_LOSS CRITIC_LOSS ACTOR_LOSS LOSS_SCALE GRAD_NORM GRADIENT ACCURACY LR THROUGHPUT STEP_TIME GPU_UTIL
    GPU_MEMORY HOST_MEMORY REWARD MARGIN KL KL_COEF ENTROPY EXPLAINED_VARIANCE ADVANTAGE IS_RATIO CLIP_SHARE
    REWARD_MODEL HUMAN_EVAL OUTPUT RETRIEVAL SIMILARITY""".split()  # noqa: SIM905 one word each
)
"""Concepts of what has a course of its own: what is said of one of them is not said of another."""

STATES = frozenset(["GROW", "FALL", "STUCK", "ZERO", "HIGH", "LOW", "SPIKE", "DIVERGE", "OSCILLATE", "WORSE"])
"""Concepts of what is said of such a subject."""

JOINED = 2.0
"""At most so many words between two subjects of one predicate ("the loss and the gradient norm explode")."""

_BREAKS = (cues.IS, cues.NORMAL, cues.BAD, cues.AND, cues.THEN)


def speaks_of_nearest(match: Match, hits: list[Hit], segment: Segment) -> bool:
    """Whether no other subject stands nearer to what the match says of its own.

    In "the loss is fine and the gradient norm explodes" it is not the loss that explodes, and in "the gradient norm
    rises first, then the loss" the rise that comes first is not that of the loss.
    """
    if len(match.hits) < 2:
        return True
    if any(_borrowed(part, match, hits, segment) for part in match.hits if part.name in STATES):
        return False
    for at, subject in enumerate(match.hits):
        if subject.name not in MEASURED:
            continue
        following = match.hits[at + 1] if at + 1 < len(match.hits) else None
        previous = match.hits[at - 1] if at else None
        if following is not None and _between(subject, following, match, hits, segment):
            return False
        if following is None and previous is not None and _taken(previous, subject, match, hits, segment):
            return False
    return True


def _borrowed(state: Hit, match: Match, hits: list[Hit], segment: Segment) -> bool:
    """Whether a state, alone in its clause, has a subject there. In "reward rises, length is stable" none lengthens."""
    clauses = segment.tokens.clauses
    clause = clauses[state.start]
    others = (part for part in match.hits if part is not state and part.layer is Layer.CONCEPT)
    if any(clauses[part.start] == clause and part.name not in STATES for part in others):
        return False
    return any(
        clauses[hit.start] == clause
        and hit.end <= state.start
        and hit.layer is Layer.CONCEPT
        and (hit.name in MEASURED or hit.name in ("LENGTH", "CONTRASTIVE", "PAIR_LOSS"))
        and not match.covers(hit)
        for hit in hits
    )


def _between(subject: Hit, predicate: Hit, match: Match, hits: list[Hit], segment: Segment) -> bool:
    """Whether another subject, parted from the first by a verb or a comma, stands before the predicate."""
    if predicate.name in MEASURED:
        return False
    for other in _rivals(subject, match, hits):
        if not subject.end <= other.start < other.end <= predicate.start:
            continue
        if any(hit.name in (UP, DOWN) and subject.end <= hit.start < hit.end <= other.start for hit in hits):
            return True  # "falls as the eval loss rises": it has its own
        tokens = segment.tokens
        parted = tokens.clauses[subject.end - 1] != tokens.clauses[other.start] or any(
            segment.has(cue, subject.end, other.start) for cue in _BREAKS
        )
        if parted and tokens.width(subject.end, other.start) > JOINED:
            return True
    return False


def _taken(predicate: Hit, subject: Hit, match: Match, hits: list[Hit], segment: Segment) -> bool:
    """Whether the predicate before the subject, in another clause or half of it, has a subject of its own before it."""
    clauses = segment.tokens.clauses
    together = clauses[predicate.end - 1] == clauses[subject.start]
    if together and not _parts(predicate, subject, segment):
        return False
    alone = sum(hit.name in MEASURED for hit in match.hits) == 1
    if alone and not together and predicate.name in STATES:
        return True  # "trainable parameters are zero, the loss is a flat line": not the loss is zero
    return any(
        other.end <= predicate.start and clauses[other.start] == clauses[predicate.start]
        for other in _rivals(subject, match, hits)
    )


def _parts(predicate: Hit, subject: Hit, segment: Segment) -> bool:
    """Whether a new half begins between them: "falls and the eval loss ..."; a Chinese subject begins one by itself."""
    words = segment.tokens.words
    return (
        not words[predicate.start].isascii()
        or segment.has(cues.THEN, predicate.end, subject.start)
        or segment.has(cues.AND, predicate.end, subject.start)
        or words[predicate.end : subject.start].count("as") == 1  # "as well as" joins
    )


def _rivals(subject: Hit, match: Match, hits: list[Hit]) -> list[Hit]:
    return [
        hit
        for hit in hits
        if hit.layer is Layer.CONCEPT and hit.name in MEASURED and hit.name != subject.name and not match.covers(hit)
    ]


def without_denied(matches: list[tuple[Match, Segment]]) -> list[tuple[Match, Segment]]:
    """The matches without those that a ``denied_by`` phrase of the same finding, said outright, takes in whole."""
    denials = [match for match, segment in matches if match.target.denies and status_of(match, segment) == "asserted"]
    return [
        (match, segment)
        for match, segment in matches
        if match.target.denies
        or not any(
            denial.target.id == match.target.id and all(denial.covers(hit) for hit in match.hits) for denial in denials
        )
    ]
