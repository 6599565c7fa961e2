"""Numbers and settings as people type them in answer to a question: "about 3.1e-4", "2^16", "8 GB", "bf16"."""

from __future__ import annotations

import re

from engine.evidence.numbers import parse, plain
from engine.evidence.units import find_unit
from engine.evidence.vocabulary import key_of, typed
from engine.model.evidence import Value
from engine.model.kb import Fact

MAX_VALUE = 200
MAX_EXPONENT = 60

_LEAD = re.compile(
    r"(?:(?:it|that|this|they|we|i) ?(?:is|was|are|were|'s|'re|use|uses|used|get|see|set it to|have)\b|is|was|value|="
    r"|equals?|exactly|currently|set to|now|just|only|at|about|around|roughly|approx(?:\.|imately)?|circa|~|≈|:"
    r"|它?是|为|等于|设为|设成|设置为|大约|大概|约|差不多|目前|现在|当前|用的是)\s*",
    re.IGNORECASE,
)
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile(r"(?<=\d)([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_POWER = re.compile(
    r"(?:([-+]?\d{1,15}(?:\.\d{1,15})?)\s*[x×*·]\s*)?(\d{1,6}(?:\.\d{1,6})?)\s*(?:\^|\*\*)\s*\(?([-+]?\d{1,3})\)?(.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(
    r"\s*(?P<name>[^\d=:：\s][^=:：]{0,60}?)\s*(?:[=:：]|\bis\b|是|为)\s*(?P<value>.+)", re.IGNORECASE | re.DOTALL
)
_LEFT_END = re.compile(
    r"[,，;；。]\s*(?!\d)|\.\s+|\s+(?:and|but|because|with|after|since|in|at|on)\s+|但|而且|并且|不过"
)


def bare(text: str) -> str:
    """A value without the words around it ("it is about 0.05" is "0.05"), powers written out."""
    text = plain(_RAISED.sub(lambda found: "^" + found[1].translate(_SUPERSCRIPT), text)).strip()
    for _ in range(3):
        text = _LEAD.sub("", text, count=1) if _LEAD.match(text) else text
    power = _POWER.fullmatch(text)
    if power is not None and abs(int(power[3])) <= MAX_EXPONENT:
        try:
            text = f"{float(power[1] or 1) * float(power[2]) ** int(power[3]):.12g}{power[4]}"
        except (OverflowError, ZeroDivisionError):
            return text
    return text.strip(" \t.!。！")


def read_value(text: str, fact: Fact, ask: str) -> tuple[Value | None, str, str]:
    """The value of the fact at the beginning of ``text``, why there is none, and what stands after it.

    The reason is given only where a number was meant; otherwise the text is about something else. A name before the
    value must be the fact's, or a word of the question ``ask``: "lr = 3e-4" is no answer about the KL weight.
    """
    named = _NAMED.fullmatch(text)
    if named is not None and _is_name(named["name"], fact, ask):
        text = named["value"]
    whole = _typed(text, fact)
    if whole[0] is not None:
        return (*whole, "")
    cut = _LEFT_END.search(text)
    if cut is not None and cut.start() > 0:
        value, why = _typed(text[: cut.start()], fact)
        if value is not None or why:
            return value, why, text[cut.end() :].strip()
    return (*whole, "")


def _is_name(name: str, fact: Fact, ask: str) -> bool:
    names = {key_of(known) for known in (fact.id, *fact.aliases, fact.title.en, fact.title.zh)}
    return key_of(name) in names or name.strip().casefold() in ask.casefold()


def _typed(text: str, fact: Fact) -> tuple[Value | None, str]:
    words = bare(text)
    if not words or len(words) > MAX_VALUE:
        return None, ""
    found = typed(fact, words)
    if found.value is not None and (unit := _foreign_unit(words, fact)):
        return None, f"{fact.id} has no unit, and here is {unit}"
    meant = fact.type == "number" and re.match(r"[-+.]?\d|(?:nan|[-+]?inf(?:inity)?)$", words, re.IGNORECASE)
    return found.value, found.why if meant else ""


def _foreign_unit(words: str, fact: Fact) -> str:
    """A unit of size or time behind a number that has none: "8 GB" is no weight."""
    quantities = parse(words).quantities if fact.type == "number" and fact.unit is None else ()
    unit = find_unit(quantities[0].suffix) if quantities else None
    return quantities[0].suffix if unit is not None and unit.dimension not in ("ratio", "count") else ""
