"""Settings named in prose: "lr 3e-4", "on 8 GPUs", "8 张卡", "a 7B model", "in fp16", "ZeRO-3"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.evidence import cues
from engine.evidence.comparisons import side_of
from engine.evidence.lexicon import Hit, Layer, Lexicon
from engine.evidence.numbers import chinese_number, parse
from engine.evidence.status import Segment, opens_question
from engine.evidence.tokens import Tokens, words_of
from engine.evidence.vocabulary import Typed, Vocabulary, ambiguity, typed
from engine.model.evidence import FactReading, NotUnderstood, Source, SourceKind, Value
from engine.model.kb import Fact

MAX_LINKS = 3
MAX_NUMERALS = 12
NEIGHBOURS = 8
"""Names looked at on both sides of a word of choice."""

_NO_NOUNS = ("卡住", "卡死", "卡在", "卡顿", "卡到", "卡着", "卡了", "卡一", "卡少", "卡多")
"""卡 is a card only outside of these."""

_LINKS = frozenset(
    [
        "of",
        "=",
        "is",
        "was",
        "at",
        "about",
        "around",
        "to",
        "size",
        "stage",
        "set",
        "starts",
        "started",
        "begins",
        "began",
        "stays",
        "sits",
        "equals",
        "only",
        "over",
        "with",
        "就",
        "起",
        "初",
        "始",
        "为",
        "是",
        "设",
        "用",
        "了",
        "到",
        "约",
        "大",
        "小",
    ]
)
_MEASURES = frozenset(["个", "张", "块", "台", "条", "路", "x"])
_NOUNS = {
    "num_gpus": ("gpu", "gpus", "gpu卡", "卡", "显卡", "cards", "ranks", "accelerators"),
    "nodes": ("nodes", "node", "节点", "机器", "machines"),
}
"""What people count; each stands for the fact of that name."""

_PARAMETERS = "num_parameters"
_BILLIONS = re.compile(r"\d{1,4}(?:\.\d+)?b")
_NO_WORD = frozenset(
    ["none", "auto", "off", "on", "false", "true", "no", "yes", "default", "unknown", "0", "1", "2", "3"]
)
_COUNTED = frozenset(["count", "steps"])
"""Units of facts whose number may stand before the name ("2000 warm-up steps")."""

AT_START = 4.0
"""Words between "starts at", "first" or 一开始 and the name they speak of."""

_PER = frozenset(["每", "per", "each"])


@dataclass(frozen=True, slots=True)
class _Found:
    fact: Fact
    value: Value
    quote: str


class ProseFacts:
    """Reads the number and choice facts of a vocabulary out of segments."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Lexicon) -> None:
        """Add the facts' names, what is counted and the words of choices to the lexicon."""
        self._vocabulary = vocabulary
        self._names: dict[str, list[Fact]] = {}
        self._choices: dict[str, list[tuple[Fact, str, bool]]] = {}
        for key, ids in vocabulary.aliases.items():
            facts = [vocabulary.facts[id_] for id_ in ids]
            if all(fact.type == "number" for fact in facts):
                self._names[key] = facts
        for fact in vocabulary.facts.values():
            if fact.type in ("number", "choice"):
                self._add_names(fact, lexicon)
        for name in ("batch size", "batch_size", "bs", "批大小", "批量大小", "batch"):
            self._add(name, lexicon)
        for name, nouns in _NOUNS.items():
            counted = vocabulary.facts_named(name)
            for noun in nouns if len(counted) == 1 else ():
                self._names[f"#{noun}"] = counted
                lexicon.add(Layer.ALIAS, f"#{noun}", noun)
        for word in _NO_NOUNS:
            lexicon.add(Layer.ALIAS, "#", word)
        sized = vocabulary.facts_named(_PARAMETERS)
        self._parameters = sized[0] if len(sized) == 1 else None

    def _add(self, name: str, lexicon: Lexicon) -> None:
        facts = self._vocabulary.facts_named(name)
        if facts and all(fact.type == "number" for fact in facts):
            lexicon.add(Layer.ALIAS, f"?{name}", name)
            self._names[f"?{name}"] = facts

    def _add_names(self, fact: Fact, lexicon: Lexicon) -> None:
        for alias in fact.aliases:
            if fact.type == "number":
                self._add(alias, lexicon)
        for value, forms in (fact.values or {}).items():
            for form in (value, *forms):
                words = words_of(form)
                if words and form.lower() not in _NO_WORD:
                    self._add_choice(fact, value, form, words, lexicon)
        if fact.type == "choice":
            for alias in fact.aliases:
                lexicon.add(Layer.ALIAS, f"@{fact.id}", alias)

    def _add_choice(self, fact: Fact, value: str, form: str, words: list[str], lexicon: Lexicon) -> None:
        name = f"={' '.join(words)}"
        meanings = self._choices.setdefault(name, [])
        alone = _speaks_for_itself(form, words)
        known = next((index for index, (other, _, _) in enumerate(meanings) if other is fact), None)
        if known is None:
            meanings.append((fact, value, alone))
        elif alone:
            meanings[known] = (fact, value, alone)
        lexicon.add(Layer.VALUE, name, form)

    def read(
        self, parts: list[tuple[Segment, list[Hit]]], where: str, kind: SourceKind
    ) -> tuple[list[FactReading], list[NotUnderstood]]:
        """Facts that the segments state. One that is given several values is given none, and said so."""
        found: dict[str, dict[Value, _Found]] = {}
        unclear: dict[str, NotUnderstood] = {}
        for segment, hits in parts:
            for one in self._found(segment, [hit for hit in hits if hit.layer in (Layer.ALIAS, Layer.VALUE)]):
                if isinstance(one, NotUnderstood):
                    unclear.setdefault(one.why, NotUnderstood(where, one.text, one.why))
                else:
                    found.setdefault(one.fact.id, {}).setdefault(one.value, one)
        readings = []
        for id_, values in found.items():
            one = next(iter(values.values()))
            if len(values) == 1:
                readings.append(FactReading(id_, one.value, Source(kind, where, one.quote)))
            else:
                several = ", ".join(str(value) for value in list(values)[:4])
                unclear.setdefault(
                    id_, NotUnderstood(where, one.quote, f"{id_} has several values in the text: {several}")
                )
        return readings, list(unclear.values())

    def _found(self, segment: Segment, hits: list[Hit]) -> Iterator[_Found | NotUnderstood]:
        for index, hit in enumerate(hits):
            if hit.name in self._choices:
                around = hits[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
                meaning = _meant(self._choices[hit.name], hit, around, segment.tokens)
                if meaning is not None and _usable(hit, segment):
                    yield _Found(*meaning, segment.quote(hit.start, hit.end))
            elif hit.name in self._names:
                yield from self._number(hit, segment)
        if self._parameters is not None:
            yield from self._sizes(self._parameters, segment)

    def _number(self, hit: Hit, segment: Segment) -> Iterator[_Found | NotUnderstood]:
        facts = self._names[hit.name]
        is_noun = hit.name[0] == "#"
        text = _before(hit, segment) if is_noun or facts[0].unit in _COUNTED else ""
        if not text and not is_noun:
            text = _after(hit, segment)
        if not text:
            return
        first = self._first_of(facts[0]) if len(facts) == 1 and _at_start(hit, segment) else None
        if not _usable(hit, segment, at_start=first is not None):
            return
        if len(facts) > 1:
            yield NotUnderstood("", segment.quote(hit.start, hit.end), ambiguity(facts))
            return
        fact = first or facts[0]
        value = typed(fact, text)
        if value.value is not None:
            yield _Found(fact, value.value, segment.quote(hit.start, hit.end))

    def _first_of(self, fact: Fact) -> Fact | None:
        """The fact for the first value of what ``fact`` is the last of (``loss.first`` for ``loss.last``), if any."""
        stem, _, last = fact.id.rpartition(".")
        return self._vocabulary.facts.get(f"{stem}.first") if last == "last" else None

    def _sizes(self, fact: Fact, segment: Segment) -> Iterator[_Found]:
        """ "7B" is a number of parameters unless tokens or samples are counted."""
        words = segment.tokens.words
        for at in range(segment.start, segment.end):
            if words[at][-1] == "b" and _BILLIONS.fullmatch(words[at]):
                after = words[at + 1] if at + 1 < segment.end else ""
                hit = Hit(Layer.ALIAS, "", at, at + 1)
                value: Typed = typed(fact, words[at])
                if after not in ("tokens", "token", "samples", "词") and _usable(hit, segment) and value.value:
                    yield _Found(fact, value.value, segment.quote(at, at + 1))


def _speaks_for_itself(form: str, words: list[str]) -> bool:
    """A word of its own (fp16, AdamW, ZeRO-3, 半精度), not one of daily use (mean, full, stage)."""
    if len(words) == 1:
        return any(char.isdigit() for char in form) or form != form.lower()
    return not form.isascii() or any(char.isdigit() for char in form)


def _usable(hit: Hit, segment: Segment, at_start: bool = False) -> bool:
    """A setting of the failing run: neither denied, asked, guessed or tried, nor of the run that works.

    ``at_start``: the value of the beginning is wanted, and so "at first" takes nothing away from it.
    """
    start, end = segment.clause(hit.start, hit.end)
    if opens_question(segment, hit.start):
        return False
    for cue in (cues.TRIED, cues.GUESS, cues.ASKS, cues.THAN, cues.PAST, cues.NO_EFFECT, cues.FIXED):
        if segment.has(cue, start, end) and not (at_start and cue == cues.PAST):
            return False
    width = segment.tokens.width
    if any(width(other.end, hit.start) <= MAX_LINKS for other in segment.within(cues.UNREAL, start, hit.start)):
        return False
    if any(width(other.end, hit.start) <= MAX_LINKS for other in segment.within(cues.NOT, start, hit.start)):
        return False
    return side_of(hit.start, hit.end, segment) != "good"


def _at_start(hit: Hit, segment: Segment) -> bool:
    """Whether the value is said to be that of the beginning ("starts at loss 87", 第一步 loss 87)."""
    width = segment.tokens.width
    return any(
        min(abs(width(cue.end, hit.start)), abs(width(hit.end, cue.start))) <= AT_START
        for cue in segment.within(cues.START, *segment.clause(hit.start, hit.end))
    )


def _meant(
    meanings: list[tuple[Fact, str, bool]], hit: Hit, hits: list[Hit], tokens: Tokens
) -> tuple[Fact, str] | None:
    """The fact a word of choice is for: one named beside it, else the only one, else that of the run as a whole."""
    named = [(fact, value) for fact, value, _ in meanings if _near(f"@{fact.id}", hit, hits, tokens)]
    if named:
        return named[0] if len(named) == 1 else None
    alone = [(fact, value) for fact, value, by_itself in meanings if by_itself]
    if len(alone) > 1:
        alone = [(fact, value) for fact, value in alone if fact.id.startswith("run.")]
    return alone[0] if len(alone) == 1 else None


def _near(name: str, hit: Hit, hits: list[Hit], tokens: Tokens) -> bool:
    return any(
        other.name == name
        and min(abs(tokens.width(other.end, hit.start)), abs(tokens.width(hit.end, other.start))) <= MAX_LINKS
        for other in hits
    )


def _is_number(word: str) -> bool:
    return word[0].isdigit() or (word[0] in "+-" and len(word) > 1)


def _after(hit: Hit, segment: Segment) -> str:
    """The number that follows the name, over at most a few linking words: "learning rate of 2e-5"."""
    words, at = segment.tokens.words, hit.end
    while at < segment.end and at - hit.end < MAX_LINKS and words[at] in _LINKS:
        at += 1
    if (
        at >= segment.end
        or not _is_number(words[at])
        or segment.tokens.clauses[at] > segment.tokens.clauses[hit.start] + 1
    ):
        return ""
    unit = words[at + 1] if at + 1 < segment.end else ""
    both = f"{words[at]} {unit}"
    if unit.isalpha() and parse(both).shape == "number":
        return both
    return words[at]


def _before(hit: Hit, segment: Segment) -> str:
    """The number just before a noun: "8 GPUs", "8 张卡"; not "8 GPUs per node", "每节点 8 卡"."""
    words, at = segment.tokens.words, hit.start - 1
    if at < segment.start or not (words[at] in _MEASURES or words[at].isdecimal() or chinese_number(words[at])):
        return ""
    begin = max(segment.start, segment.clause(hit.start, hit.end)[0])
    while at > begin and words[at] in _MEASURES:
        at -= 1
    first = at
    while first > begin and at - first < MAX_NUMERALS and chinese_number(words[first - 1] + words[first]):
        first -= 1
    if at < begin or _PER & set(words[max(begin, first - 4) : first] + words[hit.end : hit.end + 1]):
        return ""
    number = "".join(words[first : at + 1])
    return number if number.isdecimal() or (number != "一" and chinese_number(number)) else ""
