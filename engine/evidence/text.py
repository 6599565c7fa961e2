"""Reports in English and Chinese, read as clauses with a status: what is asserted, denied, guessed, asked or tried."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from engine.evidence import cues
from engine.evidence.comparisons import is_topic, read_topic
from engine.evidence.lexicon import Hit, Layer, Lexicon
from engine.evidence.phrases import Match, Phrase, PhraseBook, Target, parts_of
from engine.evidence.prose_facts import ProseFacts
from engine.evidence.status import Segment, Status, status_of
from engine.evidence.tokens import Sentence, Tokens, tidy, tokenise
from engine.evidence.vocabulary import Vocabulary
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Source, SourceKind
from engine.model.kb import Phrases

_STATE_OF = {"asserted": True, "denied": False, "normal": False}


@dataclass(frozen=True, slots=True)
class Said:
    """A phrase found in a text: ``state`` is None where nothing follows from it (a guess, a question, a trial)."""

    target: Target
    status: Status
    state: bool | None
    start: int
    end: int
    quote: str


class TextReader:
    """Reads texts against one vocabulary. Build it once; reading is linear in the text and changes nothing."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Compile the lexicon, the phrases and the names of facts."""
        lexicon = Lexicon()
        for name, concept in vocabulary.lexicon.items():
            for form in concept.en + concept.zh:
                lexicon.add(Layer.CONCEPT, name, form)
        phrases = [
            Phrase(target, parts)
            for target, texts in _sources(vocabulary)
            for text in texts.all()
            if (parts := parts_of(text, vocabulary.lexicon, lexicon))
        ]
        cues.add_cues(lexicon, vocabulary.lexicon)
        self._facts = ProseFacts(vocabulary, lexicon)
        self._lexicon = lexicon
        self._book = PhraseBook(phrases)
        self._mentionable = frozenset(finding.id for finding in vocabulary.findings.values() if finding.mention_ok)

    def read(
        self, text: str, where: str = "report", kind: SourceKind = "prose"
    ) -> tuple[list[FactReading | FindingReading], list[NotUnderstood]]:
        """Facts and findings that the text states, each once; and what was read and cannot be used, with the reason.

        A finding both asserted and denied counts as present: a denial often speaks of another run ("none in fp32").
        """
        tokens = tokenise(tidy(text))
        sentences = list(self._sentences(tokens, self._lexicon.find(tokens.words)))
        said = [one for sentence in sentences for one in self._said(tokens, *sentence)]
        readings: list[FactReading | FindingReading] = []
        for one in _decided(said):
            source = Source(kind, where, one.quote)
            if one.target.is_fact:
                readings.append(FactReading(one.target.id, bool(one.state), source))
            else:
                readings.append(FindingReading(one.target.id, "present" if one.state else "absent", source))
        facts, unclear = self._facts.read(
            [pair for _, segments, hits in sentences for pair in zip(segments, hits, strict=True)], where, kind
        )
        return readings + facts, unclear

    def may_be_mentioned(self, target: Target) -> bool:
        """Whether the bare name of an observation may report the finding."""
        return target.id in self._mentionable

    def said(self, text: str) -> list[Said]:
        """Every phrase found, also those from which nothing follows; spans are characters of ``tidy(text)``."""
        tokens = tokenise(tidy(text))
        hits = self._lexicon.find(tokens.words)
        return [one for sentence in self._sentences(tokens, hits) for one in self._said(tokens, *sentence)]

    def _sentences(self, tokens: Tokens, hits: list[Hit]) -> Iterable[tuple[Sentence, list[Segment], list[list[Hit]]]]:
        begin = 0
        for sentence in tokens.sentences:
            end = bisect_left(hits, sentence.end, begin, key=lambda hit: hit.start)
            own = [hit for hit in hits[begin:end] if hit.end <= sentence.end]
            begin = end
            if own:
                segments = _segments(sentence, tokens, own)
                yield sentence, segments, [_inside(own, segment) for segment in segments]

    def _said(self, tokens: Tokens, sentence: Sentence, segments: list[Segment], hits: list[list[Hit]]) -> list[Said]:
        matches = [
            (match, segment)
            for segment, own in zip(segments, hits, strict=True)
            for match in self._book.match([hit for hit in own if hit.layer < Layer.CUE], tokens)
        ]
        topics = [(match, segment) for match, segment in matches if self._is_topic(match)]
        said = []
        for match, segment in matches:
            status = status_of(match, segment, question=sentence.question)
            if self._is_topic(match):
                verdict = read_topic(match, segment, topics, question=sentence.question)
                state = None if verdict is None else verdict == "present"
            else:
                if status == "asserted" and match.target.is_normal and _is_past(match, segment):
                    status = "past"
                state = _STATE_OF.get(status)
                if match.target.denies:
                    state = False if state else None
            said.append(_told(match, segment, status, state))
        return sorted(said, key=lambda one: (one.start, one.end, one.target.id))

    def _is_topic(self, match: Match) -> bool:
        return is_topic(match.target.id, tuple(hit.name for hit in match.hits)) and not match.target.denies


def _sources(vocabulary: Vocabulary) -> Iterable[tuple[Target, Phrases]]:
    for finding in vocabulary.findings.values():
        yield Target(finding.id, is_normal=finding.role == "normal"), finding.phrases
        yield Target(finding.id, denies=True), finding.denied_by
    for fact in vocabulary.facts.values():
        if fact.phrases is not None:
            yield Target(fact.id, is_fact=True), fact.phrases


def _segments(sentence: Sentence, tokens: Tokens, hits: list[Hit]) -> list[Segment]:
    """The sentence cut at its contrasts; "not only A but B" is none."""
    by_cue: dict[str, list[Hit]] = {}
    for hit in hits:
        if hit.layer is Layer.CUE:
            by_cue.setdefault(hit.name, []).append(hit)
    cuts = [sentence.start]
    for hit in by_cue.get(cues.BUT, []):
        if not _not_only_before(hit, by_cue, tokens):
            cuts += [hit.start, hit.end]
    cuts.append(sentence.end)
    edges = zip(cuts[::2], cuts[1::2], strict=True)
    return [Segment(tokens, start, end, sentence.end, by_cue) for start, end in edges if start < end]


def _not_only_before(but: Hit, by_cue: dict[str, list[Hit]], tokens: Tokens) -> bool:
    neutral = by_cue.get(cues.NEUTRAL, [])
    index = bisect_left(neutral, but.start, key=lambda hit: hit.start)
    words = [tokens.words[hit.start : hit.end] for hit in neutral[max(0, index - 1) : index]]
    return any(form[-1] in ("only", "just", "merely", "仅", "但", "光", "只", "止") for form in words)


def _inside(hits: list[Hit], segment: Segment) -> list[Hit]:
    first = bisect_left(hits, segment.start, key=lambda hit: hit.start)
    last = bisect_left(hits, segment.end, key=lambda hit: hit.start)
    return [hit for hit in hits[first:last] if hit.end <= segment.end]


def _is_past(match: Match, segment: Segment) -> bool:
    """ "The loss was fine until step 300" does not say that it is fine."""
    return segment.has(cues.PAST, *segment.clause(match.start, match.end))


def _told(match: Match, segment: Segment, status: Status, state: bool | None) -> Said:
    starts, ends = segment.tokens.starts, segment.tokens.ends
    quote = segment.quote(match.start, match.end)
    return Said(match.target, status, state, starts[match.start], ends[match.end - 1], quote)


def _decided(said: list[Said]) -> list[Said]:
    """One reading a target, in the order of first mention; asserted beats denied."""
    best: dict[tuple[str, bool], Said] = {}
    for one in said:
        key = (one.target.id, one.target.is_fact)
        if one.state is not None and (key not in best or (one.state and not best[key].state)):
            best[key] = one
    return list(best.values())
