"""What may be known, under every name people give it, and the typed reading of a value for it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from engine.evidence.numbers import MAX_NUMBER, Parsed, in_unit, parse, plain, truth_of
from engine.evidence.tokens import words_of
from engine.evidence.units import UnitError
from engine.model.evidence import Value
from engine.model.kb import Concept, Fact, Finding

MAX_TEXT_VALUE = 500

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s_\-./:]+")
_PREFIXES = frozenset(
    [
        "args",
        "trainingargs",
        "trainingarguments",
        "scriptargs",
        "modelargs",
        "dataargs",
        "config",
        "cfg",
        "conf",
        "model",
        "modelconfig",
        "trainer",
        "training",
        "train",
        "hparams",
        "hyperparameters",
        "optimizer",
        "optim",
        "deepspeed",
        "dsconfig",
        "run",
        "params",
        "settings",
    ]
)

_BATCH_SIZE = ("batch_size", "batchsize", "batch", "bs", "批大小", "批量大小", "批次大小")
_BATCH_MEANINGS = ("micro_batch_size", "global_batch_size")
"""What a bare batch size may mean: taking one for the other is wrong by accumulation times data parallelism."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A value as the fact's type, or why it is none; ``nonfinite`` for NaN ("nan") and infinities ("inf")."""

    value: Value | None = None
    why: str = ""
    nonfinite: str = ""


@dataclass(slots=True)
class Vocabulary:
    """Facts and findings by id, the lexicon, and the facts by every alias."""

    facts: Mapping[str, Fact]
    findings: Mapping[str, Finding]
    lexicon: Mapping[str, Concept]
    aliases: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        """Index the aliases."""
        self.aliases = {}
        for fact in self.facts.values():
            for name in (fact.id, *fact.aliases):
                ids = self.aliases.setdefault(key_of(name), [])
                if fact.id not in ids:
                    ids.append(fact.id)
        meanings = [id_ for name in _BATCH_MEANINGS for id_ in self.aliases.get(key_of(name), [])]
        if len(set(meanings)) > 1:
            self.aliases.update({key_of(name): list(dict.fromkeys(meanings)) for name in _BATCH_SIZE})

    def facts_named(self, name: str, *, any_prefix: bool = False) -> list[Fact]:
        """The facts of that name; several where the name is ambiguous.

        Known prefixes ("training_args.", "--") are cut off one by one; with ``any_prefix`` whatever they are called,
        as suits the dotted path of a configuration file.
        """
        parts = re.split(r"[./:]", name.strip().lstrip("-"))
        for start in range(len(parts)):
            ids = self.aliases.get(key_of(".".join(parts[start:])))
            if ids:
                return [self.facts[id_] for id_ in ids]
            if not any_prefix and key_of(parts[start]) not in _PREFIXES:
                break
        return []

    def nonfinite_fact(self, fact: Fact, kind: str) -> Fact | None:
        """The bool fact that says the number was NaN or infinite: for ``loss.last`` the fact ``loss.nan``."""
        stem, _, last = fact.id.rpartition(".")
        words = ("nan", "nonfinite", "not_finite") if kind == "nan" else ("inf", "nonfinite", "not_finite", "nan")
        for word in words:
            for id_ in (f"{fact.id}_{word}", f"{fact.id}.{word}", f"{stem}.{last}_{word}", f"{stem}.{word}"):
                found = self.facts.get(id_)
                if found is not None and found.type == "bool":
                    return found
        return None

    def nearest(self, name: str) -> list[str]:
        """Up to three ids that look like ``name``."""
        ids = list(dict.fromkeys((*self.facts, *self.findings)))  # some ids are those of a fact and of a finding
        return difflib.get_close_matches(name[:100].lower(), ids, n=3, cutoff=0.6)


def key_of(name: str) -> str:
    """A name without case, camel humps and separators: ``perDeviceBatch`` and ``per_device-batch`` are one."""
    return _SEPARATORS.sub("", plain(name)).casefold()


def spaced(name: str) -> str:
    """A name as words: ``lossAfter_resume`` becomes "loss After resume"."""
    return re.sub(r"[_\s]+", " ", _CAMEL.sub(" ", name)).strip()


def ambiguity(facts: list[Fact]) -> str:
    """Why a name that may mean several facts is not read, with the questions that would settle it."""
    asks = " / ".join(fact.ask.en if fact.ask else f"What is {fact.id}?" for fact in facts)
    return f"ambiguous, it may mean {' or '.join(fact.id for fact in facts)}: {asks}"


def typed(fact: Fact, raw: object, unit: str | None = None) -> Typed:
    """The value for the fact. Numbers, bools and texts never stand for one another except as said in each branch."""
    if fact.type == "bool" and isinstance(raw, bool):
        return Typed(value=raw)
    if fact.type == "number" and _is_plain(raw) and not unit:
        return _within_bounds(fact, float(raw))
    parsed = parse(raw)
    if fact.type == "choice" and raw is not None:  # "none" may be one of its values
        return _choice(fact, raw, parsed)
    if parsed.shape == "none":
        return Typed(why="no value")
    if fact.type == "number":
        return _number(fact, raw, parsed, unit)
    if fact.type == "bool":
        truth = truth_of(raw)
        why = "" if truth is not None else f"{fact.id} takes true or false, yes or no, 1 or 0"
        return Typed(value=truth, why=why)
    if isinstance(raw, str | int | float) and not isinstance(raw, bool):
        return Typed(value=parsed.text[:MAX_TEXT_VALUE])
    return Typed(why=f"{fact.id} takes a text")


def _is_plain(raw: object) -> TypeGuard[int | float]:
    """Whether it is a number as it stands: most are, and need no parsing."""
    return isinstance(raw, int | float) and not isinstance(raw, bool) and abs(raw) <= MAX_NUMBER  # NaN is not


def _number(fact: Fact, raw: object, parsed: Parsed, unit: str | None) -> Typed:
    if parsed.shape == "nonfinite":
        return Typed(why="not a finite number", nonfinite="nan" if parsed.nonfinite != parsed.nonfinite else "inf")
    if parsed.shape in ("range", "list"):
        return Typed(why=f"{fact.id} takes one number, and here are several")
    if parsed.shape != "number":
        return Typed(
            why=parsed.why or f"{fact.id} takes a number{f' ({fact.unit})' if fact.unit else ''}, not {_what(raw)}"
        )
    quantity = parsed.quantities[0]
    if unit and not quantity.suffix:
        quantity = type(quantity)(quantity.number, unit.strip().casefold())
    try:
        value = in_unit(quantity, fact.unit)
    except UnitError as error:
        return Typed(why=str(error))
    return _within_bounds(fact, value)


def _within_bounds(fact: Fact, value: float) -> Typed:
    low, high = fact.at_least, fact.at_most
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low:g}" if high is None else f"at most {high:g}" if low is None else f"{low:g} to {high:g}"
        return Typed(why=f"{value:g} is out of bounds: {fact.id} is {bounds}{f' {fact.unit}' if fact.unit else ''}")
    return Typed(value=value)


def _what(raw: object) -> str:
    if isinstance(raw, bool):
        return "true or false"
    return "a text" if isinstance(raw, str) else "a list" if isinstance(raw, list | tuple) else "this"


def _choice(fact: Fact, raw: object, parsed: Parsed) -> Typed:
    expected = Typed(why=f"{fact.id} is one of: {', '.join(fact.values or {})}")
    text = f"{raw:g}" if isinstance(raw, float) else parsed.text
    keys = {key_of(text), *(key_of(f"{alias} {text}") for alias in fact.aliases)}  # {zero_stage: 3} is "zero stage 3"
    whole = [value for value, forms in _forms(fact) if any(key_of(form) in keys for form in forms)]
    if whole:
        return Typed(value=whole[0])
    bare = words_of(re.sub(r"[(（][^()（）]*[)）]", " ", text))
    named = _named(fact, bare)
    if len(named) == 1 or (named and _leads(bare, text)):
        position, value = named[0]
        if position == 0 or bare[position - 1] not in ("no", "not", "非", "不"):
            return Typed(value=value)
    return Typed(why=f"{fact.id}: several values in one") if len(named) > 1 else expected


def _forms(fact: Fact) -> list[tuple[str, tuple[str, ...]]]:
    return [(value, (value, *forms)) for value, forms in (fact.values or {}).items()]


def _named(fact: Fact, words: list[str]) -> list[tuple[int, str]]:
    """The values named among the words, by position, the longest form first, each value once."""
    found: dict[int, tuple[int, str]] = {}
    for value, forms in _forms(fact):
        for form in forms:
            parts = words_of(form)
            for at in range(len(words) - len(parts) + 1):
                if parts and words[at : at + len(parts)] == parts and len(parts) > found.get(at, (0, ""))[0]:
                    found[at] = (len(parts), value)
    ordered: dict[str, int] = {}
    covered = 0
    for at in sorted(found):
        if at >= covered:
            ordered.setdefault(found[at][1], at)
            covered = at + found[at][0]
    return [(at, value) for value, at in ordered.items()]


def _leads(words: list[str], text: str) -> bool:
    """Whether the first value named is the main one: "bf16 with fp32 accumulation", but not "fp16/bf16"."""
    return len(words) > 1 and words[1] in ("with", "in", "plus", "for", "on") and "/" not in text
