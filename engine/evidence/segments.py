"""Sentences cut at their contrasts, after words that can be read in two ways have been settled.

What stands on one side of a contrast is not said of the other: no denial and no verdict reaches across. A clause that
"although" or "while" opens is an aside, and what stands around it belongs together; 却 stands behind its subject and
cuts before it; a second half without a subject of its own ("but never comes back") has that of the first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

from engine.evidence import cues
from engine.evidence.directions import directions
from engine.evidence.lexicon import Hit, Layer
from engine.evidence.status import Segment
from engine.evidence.tokens import Sentence, Tokens
from engine.evidence.turns import with_turns

Part = tuple[Segment, list[Hit]]
"""A segment and the words of the lexicon in it (and, before them, a subject it shares with the segment before)."""

UNUSED = "MISSING"
"""The concept that "did not use" (没用混合精度) stands for."""

_GOES_ON = frozenset(["了", "的", "啊", "呢", "过", "吧", "也", "还", "所", "任", "什", "太", "to", "at"])
"""What may follow "no use" (没用) in its clause; before anything else it says "did not use"."""

_NO_SUBJECT = frozenset(
    """never not does doesn't did didn't do don't is isn't are aren't was wasn't were has hasn't had keeps kept still
    then cannot can't won't stays stayed soon quickly slowly suddenly eventually 没 不 又 还 一 仍 再 会 很 始 从 迟 就
    立 突""".split()  # noqa: SIM905 a list of seventy one-word strings reads worse
)
"""First words of a half sentence that has no subject of its own."""


class Cut(NamedTuple):
    """A sentence's segments with the words in each, asides last; and the sentence as one, if there are several."""

    parts: list[Part]
    whole: Part | None


def cut(sentence: Sentence, tokens: Tokens, hits: list[Hit]) -> Cut:
    """Cut a sentence at its contrasts. ``whole`` is for phrases that name one ("out of memory although ... free")."""
    settled = _settled(hits, sentence, tokens)
    by_cue: dict[str, list[Hit]] = {}
    for hit in settled:
        if hit.layer is Layer.CUE:
            by_cue.setdefault(hit.name, []).append(hit)
    asides = _asides(sentence, tokens, by_cue.get(cues.ASIDE, []))
    main = [hit for hit in settled if not any(start <= hit.start < end for start, end in asides)]
    parts: list[Part] = []
    for start, end in _between_cuts(sentence, tokens, by_cue, asides):
        segment = Segment(tokens, start, end, sentence.end, sentence.question, by_cue)
        shared = _shared_subject(segment, parts[-1]) if parts else []
        parts.append((segment, shared + _inside(main, start, end)))
    for start, end in asides:
        segment = Segment(tokens, start, end, sentence.end, sentence.question, by_cue)
        parts.append((segment, _inside(settled, start, end)))
    entire = Segment(tokens, sentence.start, sentence.end, sentence.end, sentence.question, by_cue)
    return Cut(parts, (entire, settled) if len(parts) > 1 else None)


def _settled(hits: list[Hit], sentence: Sentence, tokens: Tokens) -> list[Hit]:
    """The hits with ambiguous negations read one way, and with the rises and falls that only numbers tell."""
    settled = []
    for hit in hits:
        if _is_norm(hit, hits):
            continue
        if not _reads_otherwise(hit, hits, tokens):
            settled.append(hit)
        elif hit.layer is Layer.CUE:
            settled.append(Hit(Layer.CUE, cues.NOT, hit.start, hit.end))
            if tokens.words[hit.end - 1] == "用":
                settled.append(Hit(Layer.CONCEPT, UNUSED, hit.start, hit.end))
    for hit in directions(sentence, tokens):
        insort(settled, hit, key=lambda one: one.start)
    return with_turns(settled, tokens)


def _reads_otherwise(hit: Hit, hits: list[Hit], tokens: Tokens) -> bool:
    """Whether "unchanged" or "no use" is none here: 没有变|差, 没用|混合精度, "not changed to NaN" only deny."""
    if hit.name not in (cues.SAME, cues.NO_EFFECT, cues.RULED_OUT, "SAME", "NO_EFFECT", "CHANGED"):
        return False
    words = tokens.words
    following = words[hit.end] if hit.end < len(words) else ""
    same_clause = bool(following) and tokens.clauses[hit.end - 1] == tokens.clauses[hit.end]
    last = words[hit.end - 1]
    if hit.name == cues.RULED_OUT:
        return last == "有" and same_clause and following not in _GOES_ON
    if not words[hit.start].startswith(cues.NEGATIVE_WORDS) and hit.name != "CHANGED":
        return False
    if last == "用":
        return same_clause and following not in _GOES_ON
    if last in ("change", "changed") and following in ("to", "into"):
        return same_clause
    first = bisect_left(hits, hit.start, key=lambda one: one.start)
    for other in hits[first:]:
        if other.start >= hit.end:
            break
        if other.layer is Layer.CONCEPT and hit.start < other.start and other.end > hit.end:
            return True
    return False


def _is_norm(hit: Hit, hits: list[Hit]) -> bool:
    """Whether a "normally" only opens what should be (正常应该有 180): that is no verdict."""
    if hit.name not in (cues.NORMAL, "NORMAL"):
        return False
    first = bisect_left(hits, hit.end, key=lambda one: one.start)
    return any(other.name == cues.UNREAL for other in hits[first:] if other.start == hit.end)


def _asides(sentence: Sentence, tokens: Tokens, openers: list[Hit]) -> list[tuple[int, int]]:
    """What "although", "while", 虽然 open: a clause up to its comma, or the rest where no comma stands before them."""
    asides: list[tuple[int, int]] = []
    for hit in openers:
        if hit.end >= sentence.end or (tokens.words[hit.end - 1] == "while" and tokens.words[hit.end].endswith("ing")):
            continue  # "it hangs while saving" says when
        opens = hit.start == sentence.start or tokens.clauses[hit.start - 1] != tokens.clauses[hit.start]
        clause_end = bisect_left(tokens.clauses, tokens.clauses[hit.end] + 1, hit.end, sentence.end)
        end = clause_end if opens else sentence.end
        if not asides or hit.start >= asides[-1][1]:
            asides.append((hit.end, end))
    return asides


def _between_cuts(
    sentence: Sentence, tokens: Tokens, by_cue: dict[str, list[Hit]], asides: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The stretches between contrasts, "not only A but B" being none."""
    cuts = [
        (hit.start, hit.end)
        for hit in by_cue.get(cues.BUT, [])
        if not any(start <= hit.start < end for start, end in asides) and not _not_only_before(hit, by_cue, tokens)
    ]
    for hit in by_cue.get(cues.BUT_VERB, []):
        at = _before_subject(hit, by_cue, sentence, tokens)
        cuts.append((at, at))
    stretches, begin = [], sentence.start
    for start, end in sorted(cuts):
        if start >= begin:
            stretches.append((begin, start))
            begin = end
    stretches.append((begin, sentence.end))
    return [(start, end) for start, end in stretches if start < end]


def _before_subject(hit: Hit, by_cue: dict[str, list[Hit]], sentence: Sentence, tokens: Tokens) -> int:
    """Where the clause of a 却 begins: at the comma before it, else after the last verdict before it."""
    start = bisect_left(tokens.clauses, tokens.clauses[hit.start], sentence.start, hit.start)
    verdicts = [v.end for name in (cues.NORMAL, cues.BAD, cues.FIXED) for v in by_cue.get(name, ())]
    return max([start, *(end for end in verdicts if start < end <= hit.start)])


def _not_only_before(but: Hit, by_cue: dict[str, list[Hit]], tokens: Tokens) -> bool:
    neutral = by_cue.get(cues.NEUTRAL, [])
    index = bisect_left(neutral, but.start, key=lambda hit: hit.start)
    words = [tokens.words[hit.start : hit.end] for hit in neutral[max(0, index - 1) : index]]
    return any(form[-1] in ("only", "just", "merely", "仅", "但", "光", "只", "止") for form in words)


def _shared_subject(segment: Segment, before: Part) -> list[Hit]:
    """What the half sentence before begins with, if this one has no subject."""
    if segment.tokens.words[segment.start] not in _NO_SUBJECT:
        return []
    named = [hit for hit in before[1] if hit.layer is Layer.CONCEPT]
    return [hit for hit in named if hit.start == named[0].start]


def _inside(hits: list[Hit], start: int, end: int) -> list[Hit]:
    first = bisect_left(hits, start, key=lambda hit: hit.start)
    last = bisect_left(hits, end, key=lambda hit: hit.start)
    return [hit for hit in hits[first:last] if hit.end <= end]
