"""Reports in English and Chinese, read as clauses with a status: what is asserted, denied, guessed, asked or tried."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.evidence import cues, phrases
from engine.evidence.comparisons import is_comparison, is_topic, read_topic, side_of, topic_of
from engine.evidence.lexicon import Layer, Lexicon
from engine.evidence.phrases import Match, Phrase, PhraseBook, Target, parts_of
from engine.evidence.prose_facts import ProseFacts
from engine.evidence.segments import Cut, cut
from engine.evidence.status import Segment, Status, condition_of, is_past, is_trial, status_of
from engine.evidence.subjects import speaks_of_nearest, without_denied
from engine.evidence.tokens import tidy, tokenise, words_in
from engine.evidence.vocabulary import Vocabulary
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Reading, Source, SourceKind
from engine.model.kb import Phrases

_STATE_OF = {"asserted": True, "denied": False, "normal": False}


_CONTRASTS = frozenset(["although", "though", "but", "while", "yet", "despite", "however", "但", "却", "尽管", "虽然"])
"""Words of a phrase that speaks of both sides of a contrast."""


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

    def __init__(self, vocabulary: Vocabulary, index: dict[str, Any] | None = None) -> None:
        """``index`` is the ``index_of`` this vocabulary, if it was kept; otherwise it is worked out."""
        index = index or index_of(vocabulary)
        self._lexicon = Lexicon.restored(index["lexicon"])
        # A concept is hidden by concepts and blocks alone; without the other layers they are found sooner.
        self._concepts = Lexicon.restored(index["lexicon"], frozenset({Layer.CONCEPT, Layer.BLOCK}))
        self._facts = ProseFacts(vocabulary, self._lexicon)
        self._book = PhraseBook(index["phrases"])
        self._contrasts = PhraseBook(index["contrasts"])
        self._mentionable = frozenset(finding.id for finding in vocabulary.findings.values() if finding.mention_ok)

    def read(
        self, text: str, where: str = "report", kind: SourceKind = "prose"
    ) -> tuple[list[Reading], list[NotUnderstood]]:
        """Facts and findings that the text states, each once; and what was read and cannot be used, with the reason.

        A finding both asserted and denied counts as present: a denial often speaks of another run ("none in fp32").
        """
        sentences = self._sentences(text)
        said = [one for sentence in sentences for one in self._said(sentence)]
        readings: list[Reading] = []
        for one in _decided(said):
            source = Source(kind, where, one.quote)
            if one.target.is_fact:
                readings.append(FactReading(one.target.id, bool(one.state), source))
            else:
                readings.append(FindingReading(one.target.id, "present" if one.state else "absent", source))
        facts, unclear = self._facts.read([part for sentence in sentences for part in sentence.parts], where, kind)
        return readings + facts, unclear

    def may_be_mentioned(self, target: Target) -> bool:
        """Whether the bare name of an observation may report the finding."""
        return target.id in self._mentionable

    def concepts(self, text: str) -> list[str]:
        """The concepts of the lexicon that the text names, as often as it does."""
        hits = self._concepts.find(words_in(tidy(text)))
        return [hit.name for hit in hits if hit.layer is Layer.CONCEPT]

    def said(self, text: str) -> list[Said]:
        """Every phrase found, also those from which nothing follows; spans are characters of ``tidy(text)``."""
        return [one for sentence in self._sentences(text) for one in self._said(sentence)]

    def _sentences(self, text: str) -> list[Cut]:
        """Every sentence as its segments, each with the words of the lexicon in it."""
        tokens = tokenise(tidy(text))
        hits = self._lexicon.find(tokens.words)
        sentences, begin = [], 0
        for sentence in tokens.sentences:
            end = bisect_left(hits, sentence.end, begin, key=lambda hit: hit.start)
            own = [hit for hit in hits[begin:end] if hit.end <= sentence.end]
            begin = end
            sentences.append(cut(sentence, tokens, own))
        return sentences

    def _said(self, sentence: Cut) -> list[Said]:
        matches = [
            (match, segment)
            for segment, hits in sentence.parts
            for match in self._book.match([hit for hit in hits if hit.layer < Layer.CUE], segment.tokens)
            if match.end > segment.start and speaks_of_nearest(match, hits, segment)
        ]
        if sentence.whole is not None:
            segment, hits = sentence.whole
            spanning = self._contrasts.match([hit for hit in hits if hit.layer < Layer.CUE], segment.tokens)
            matches += [(match, segment) for match in spanning]
        matches = without_denied(matches)
        topics = [(match, segment) for match, segment in matches if match.phrase.is_topic]
        supposed = _supposed_troubles(matches)
        said = []
        for match, segment in matches:
            status = status_of(match, segment)
            if match.phrase.is_topic:
                verdict = read_topic(match, segment, topics)
                status = status if verdict is None else "compared"
                state = None if verdict is None else verdict == "present"
            else:
                if status == "asserted" and _follows(match, supposed.get(id(segment))):
                    status = "suspected"
                status, state = _concluded(match, segment, status)
            said.append(_told(match, segment, status, state))
        return sorted(said, key=lambda one: (one.start, one.end, one.target.id))


def index_of(vocabulary: Vocabulary) -> dict[str, Any]:
    """The lexicon and the phrases as plain data: the same for the same knowledge base, and worth keeping."""
    lexicon = Lexicon()
    for name, concept in vocabulary.lexicon.items():
        for form in (*concept.en, *concept.zh):
            lexicon.add(Layer.CONCEPT, name, form)
            if form.startswith(cues.NEGATORS):
                lexicon.add(Layer.DENIAL, "", form)
    found = list(_phrases(vocabulary, lexicon))
    cues.add_cues(lexicon, vocabulary.lexicon)
    ProseFacts(vocabulary, lexicon)
    return {
        "lexicon": lexicon.index(),
        "phrases": phrases.index_of(found),
        "contrasts": phrases.index_of(phrase for phrase in found if _CONTRASTS & set(phrase.parts)),
    }


def _phrases(vocabulary: Vocabulary, lexicon: Lexicon) -> Iterable[Phrase]:
    for target, texts in _sources(vocabulary):
        for text in texts.all():
            parts = parts_of(text, vocabulary.lexicon, lexicon)
            topic = None if target.denies else topic_of(target.id, parts)
            if parts:
                yield Phrase(target, parts, is_topic(target.id, parts) and not target.denies)
            if topic is not None:
                yield Phrase(target, (topic,), is_topic=True)


def _sources(vocabulary: Vocabulary) -> Iterable[tuple[Target, Phrases]]:
    for finding in vocabulary.findings.values():
        yield Target(finding.id, finding.role), finding.phrases
        yield Target(finding.id, finding.role, denies=True), finding.denied_by
    for fact in vocabulary.facts.values():
        if fact.phrases is not None:
            yield Target(fact.id, "fact"), fact.phrases


def _concluded(match: Match, segment: Segment, status: Status) -> tuple[Status, bool | None]:
    """What follows from an ordinary phrase said with that status: present, absent, or nothing."""
    target = match.target
    if status == "asserted" and (target.role == "normal" or target.denies) and _is_past(match, segment):
        return "past", None
    state = _STATE_OF.get(status)
    if target.denies:
        return status, False if state else None
    if state is False and is_comparison(target.id):
        return status, None  # "no restart, loss normal" is no failed restart
    clauses = segment.tokens.clauses
    if status == "normal" and clauses[match.start] != clauses[match.end - 1]:
        return status, None  # "it hangs, nvidia-smi is fine": the verdict is about the second half only
    if (
        target.role == "context"
        and not target.id.startswith("unchanged(")
        and (status == "normal" or side_of(match.start, match.end, segment) == "good")
        and not any(match.covers(hit) for hit in segment.within(cues.NORMAL, match.start, match.end))
    ):
        return status, None  # "fp32 is fine" does not say which precision fails
    return status, state


def _is_trouble(match: Match) -> bool:
    target = match.target
    return target.role in ("symptom", "mechanism") and not target.denies and not is_comparison(target.id)


def _supposed_troubles(matches: list[tuple[Match, Segment]]) -> dict[int, tuple[int, int]]:
    """From the condition to the end of the first trouble that is only supposed, by the identity of its segment."""
    found: dict[int, tuple[int, int]] = {}
    for match, segment in matches:
        if (cues.IF in segment.cues or cues.REACTION in segment.cues) and _is_trouble(match):
            begin = condition_of(match, segment)
            if begin is not None and not any(is_trial(at, segment) for at in (begin + 1, begin + 2)):
                found[id(segment)] = min((begin, match.end), found.get(id(segment), (begin, match.end)))
    return found


def _follows(match: Match, supposed: tuple[int, int] | None) -> bool:
    """Whether it would only be so if the supposed trouble were; what is normal or a setting only if it reaches into it.

    "If the loss diverges, the job hangs" reports no hang, and "..., we lower the rate" no loss that gets lower.
    """
    if supposed is None or is_comparison(match.target.id) or match.start < supposed[0]:
        return False
    return _is_trouble(match) or match.start < supposed[1]


def _is_past(match: Match, segment: Segment) -> bool:
    """ "The loss was fine until step 300" and "was fine, then it jumped" do not say that it is fine."""
    return is_past(match, segment) or segment.has(cues.THEN, match.end, segment.sentence_end)


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
