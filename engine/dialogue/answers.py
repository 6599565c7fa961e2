"""What a person's words answer of the question that was asked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from engine.dialogue.model import Option, Question
from engine.dialogue.phrasing import Word, head, is_bare_no, is_negative
from engine.dialogue.values import bare, read_value
from engine.dialogue.wording import say
from engine.evidence.numbers import plain
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.evidence import State, Value

MAX_KEYS = 60
"""A list of options is short."""

_LISTED = re.compile(
    r"(?:options?|answers?|numbers?|choices?|#|选项?|答案)?\s*(?P<keys>[a-z\d]{1,2}(?:\s*(?:[,，、;/+&]|\band\b|和|与|及|\s)\s*[a-z\d]{1,2})*)"
    r"\s*[).。、]?",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(r"\s*(?:options?|answers?|choices?|#|选项?|答案)", re.IGNORECASE)
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5,
    "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
}  # fmt: skip
_ORDINAL = re.compile(
    r"(?:the )?(?P<en>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|1st|2nd|3rd|4th|5th)(?: one| option)?"
    r"|第(?P<zh>[一二三四五六七八九])(?:个|项|条)?",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"none(?: of (?:these|those|them|the above))?|nothing(?: of (?:these|the kind))?|not any(?: of (?:these|them))?"
    r"|neither(?: of (?:these|them))?|(?:以上)?(?:一个|全|都)?都?(?:没有|不是|没看到)|(?:以上)?皆非",
    re.IGNORECASE,
)
_ALL = re.compile(r"all(?: of (?:these|those|them|the above))?|every one|全部|都有|全都(?:是|有)", re.IGNORECASE)


_ASKED_BACK: dict[Word, str] = {"guess": "seen-or-guess", "wrong": "no-or-undo", "heard": "is-it-yes"}


@dataclass(slots=True)
class Answered:
    """What was answered, what of the words is left, and a question back where the words may mean two things."""

    findings: dict[str, State] = field(default_factory=dict)
    facts: dict[str, Value] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    rest: str = ""
    unclear: str = ""
    not_understood: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        return bool(self.findings or self.facts or self.passed)


def read_answer(words: str, pending: Question, knowledge: Knowledge, lang: Lang) -> Answered:
    """The answer that the words begin with: a value, an option, or yes, no and don't know. The rest is kept."""
    return (
        _value(words, pending, knowledge, lang)
        or _options(words, pending, lang)
        or _yes_or_no(words, pending, knowledge, lang)
        or Answered(rest=words)
    )


def _value(words: str, pending: Question, knowledge: Knowledge, lang: Lang) -> Answered | None:
    fact = knowledge.facts.get(pending.value) if pending.value else None
    if fact is None or _EXPLICIT.match(words):
        return None
    value, why, rest = read_value(words, fact, pending.text)
    if value is not None:
        return Answered(facts={fact.id: value}, rest=rest)
    if why:
        return Answered(unclear=say("bad-value", lang, label=fact.title.get(lang), why=why))
    return None


def _options(words: str, pending: Question, lang: Lang) -> Answered | None:
    chosen = _named(words, pending)
    if chosen is None:
        keys = _keys(words)
        if not keys:
            return None
        by_key = {option.key: option for option in pending.options}
        if pending.value is None:  # letters count, too, where they are not the keys themselves
            by_key |= dict(zip("abcdefgh", pending.options, strict=False))
        if any(key not in by_key for key in keys):
            if not (_EXPLICIT.match(words) or all(key.isdigit() for key in keys)):
                return None  # a short word that is no key
            return Answered(
                unclear=say("no-such-option", lang, keys=", ".join(option.key for option in pending.options))
            )
        chosen = [by_key[key] for key in keys]
    return _of_options(chosen, pending, lang)


def _keys(words: str) -> list[str]:
    """The keys that the whole text lists: "2", "a, c", "option 1 and 3", "the second one", 第一个."""
    if len(words) > MAX_KEYS:
        return []
    text = " ".join(plain(words).casefold().split())
    ordinal = _ORDINAL.fullmatch(text.rstrip(".!。"))
    if ordinal is not None:
        return [str(_ORDINALS[ordinal["en"] or ordinal["zh"]])]
    listed = _LISTED.fullmatch(text)
    if listed is None:
        return []
    keys = [key for key in re.split(r"[\s,，、;/+&]+|\band\b|和|与|及", listed["keys"]) if key]
    return [] if keys in (["y"], ["n"]) else keys


def names_option(words: str, pending: Question) -> bool:
    """Whether the words are the very label of an option, which goes before every other meaning they have."""
    return any(_folded(words) == _folded(option.label) for option in pending.options)


def _named(words: str, pending: Question) -> list[Option] | None:
    """The option whose label was typed (or sent by a button), and none or all of several."""
    text = _folded(words)
    for option in pending.options:
        if text == _folded(option.label):
            return [option]
    if pending.several and _NONE.fullmatch(text):
        none = [option for option in pending.options if set(option.answers.values()) == {"absent"}]
        return none or [pending.options[-1]]
    if pending.kind == "check" and pending.several and _ALL.fullmatch(text):
        return [option for option in pending.options if set(option.answers.values()) == {"present"}]
    return None


def _folded(text: str) -> str:
    return plain(text).strip().strip(".!?。！？").casefold()


def _of_options(chosen: list[Option], pending: Question, lang: Lang) -> Answered:
    """What the chosen options say together; of a check, what is left out was not seen."""
    kinds = {("pass" if option.passes else next(iter(option.answers.values()), "other")) for option in chosen}
    if len(chosen) > 1 and (not pending.several or kinds != {"present"}):
        return Answered(unclear=say("which-one", lang, keys=", ".join(option.key for option in chosen)))
    if kinds == {"pass"}:
        return _passed(pending)
    if kinds == {"other"}:
        return Answered(unclear=say("say-in-words", lang))
    findings: dict[str, State] = {}
    if pending.kind == "check" and kinds == {"present"}:
        findings = dict.fromkeys(pending.asks, "absent")
    for option in chosen:
        findings |= option.answers
    return Answered(findings=findings)


def _passed(pending: Question) -> Answered:
    """Not to be asked again; a question's finding counts as unknown, while a check may be beyond a person's means."""
    findings: dict[str, State] = {pending.id: "unknown"} if pending.kind == "question" else {}
    return Answered(findings=findings, passed=(pending.id,))


def _yes_or_no(words: str, pending: Question, knowledge: Knowledge, lang: Lang) -> Answered | None:
    found = _head(words)
    if found is None:
        return None
    word, rest = found
    if _contradicts(word, rest):
        return Answered(unclear=say("yes-or-no", lang))
    if word in ("unknown", "skip"):
        return _with_rest(_passed(pending), rest)
    if word == "heard" and rest:  # "thanks, the loss is NaN now"
        return Answered(rest=rest)
    if word == "heard" and pending.kind == "check":
        return Answered(unclear=say("stays-open", lang))
    if word in _ASKED_BACK:
        return Answered(unclear=say(_ASKED_BACK[word], lang), rest=rest)
    if pending.kind == "opening":
        return Answered(rest=rest, unclear="" if rest else say("say-in-words", lang))
    if len(pending.asks) > 1:
        which = say("which-of-these" if word == "yes" else "none-or-skip", lang)
        return _options(rest, pending, lang) or Answered(unclear=which, rest=rest)
    if word == "no" and not rest and is_bare_no(words) and is_negative(pending.text):
        title = knowledge.findings[pending.asks[0]].title.get(lang)
        yes, no = pending.options[0].key, pending.options[1].key
        return Answered(unclear=say("double-no", lang, title=title, yes=yes, no=no))
    answer = Answered(findings={pending.asks[0]: "present" if word == "yes" else "absent"})
    more = _value(rest, pending, knowledge, lang) if rest and bare(rest)[:1].isdigit() else None
    if more is not None and more.facts:
        answer.facts, rest = more.facts, more.rest
    return _with_rest(answer, rest)


def _head(words: str) -> tuple[Word, str] | None:
    """An answer at the beginning, or as a last sentence of its own ("I printed them all. No.")."""
    found = head(words)
    if found is not None:
        return found
    sentences = re.split(r"(?<=[.!。！])\s*", words.strip())
    if len(sentences) < 2:
        return None
    last = next((s for s in reversed(sentences) if s.strip()), "")
    found = head(last)
    if found is None or found[1] or found[0] in _ASKED_BACK or "?" in words or "？" in words:
        return None
    return found[0], words.strip()[: -len(last)].strip()


def _contradicts(word: Word, rest: str) -> bool:
    """Whether another answer follows at once ("yes, no")."""
    other = head(rest) if rest else None
    return other is not None and not other[1] and other[0] != word and {word, other[0]} <= {"yes", "no"}


def _with_rest(answer: Answered, rest: str) -> Answered:
    answer.rest = rest
    return answer
