"""Rules, level by level: durable-rules concludes, the reference evaluator checks, and says so when it has to answer."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

import numpy as np

from engine.inference.conjunctions import Conjunctions
from engine.inference.durable import DurableError, Shards, check_build
from engine.inference.normal_form import Alternative, Literal, alternatives
from engine.inference.properties import Properties, PropertyTable
from engine.inference.reference import Evaluator, evaluator
from engine.model.conditions import Condition, facts_read, findings_read
from engine.model.evidence import Value

log = logging.getLogger(__name__)
MAX_LEVELS = 5
AnsweredBy = OneOf["durable-rules", "reference"]


class RuleError(ValueError):
    """A set of rules that cannot be compiled; the message names the rule and the reason."""


@dataclass(frozen=True)
class Decision:
    """A decided rule and the conjunction that decided it. A rule that is not decided has no decision."""

    holds: bool
    because: Alternative

    @cached_property
    def facts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(fact for literal in self.because for fact in literal.facts))

    @cached_property
    def findings(self) -> tuple[str, ...]:
        return tuple(literal.subject for literal in self.because if literal.kind == "finding")


@dataclass(frozen=True)
class RuleBook:
    """Rules in levels, ready for either evaluator. Building it does all checks that need no engine.

    ``evaluators`` are the rules of each level for the reference evaluator; ``readers`` are, by fact and finding, those
    that read it, and ``always`` those that are decided even if nothing is known. Any other is unknown until something
    it reads is known.
    """

    levels: tuple[tuple[str, ...], ...]
    ways: Mapping[tuple[str, bool], tuple[Alternative, ...]]
    evaluators: tuple[Mapping[str, Evaluator], ...]
    readers: Mapping[str, tuple[Mapping[str, Evaluator], ...]]
    always: tuple[Mapping[str, Evaluator], ...]
    table: PropertyTable

    @staticmethod
    def compile(rules: Mapping[str, Condition]) -> RuleBook:
        """Compile rules by id; a rule may read the finding that another rule of the same id concludes.

        Raises:
            RuleError: rules that read each other in a circle, too many levels, or too many alternatives.
        """
        ways: dict[tuple[str, bool], tuple[Alternative, ...]] = {}
        for rule, condition in rules.items():
            try:
                ways[rule, True] = tuple(alternatives(condition, True))
                ways[rule, False] = tuple(alternatives(condition, False))
            except ValueError as error:
                raise RuleError(f"{rule}: {error}") from None
        evaluators = {rule: evaluator(condition) for rule, condition in rules.items()}
        levels = levels_of(rules)
        by_level = tuple({rule: evaluators[rule] for rule in level} for level in levels)
        always = tuple({r: decide for r, decide in level.items() if decide({}, {}) is not None} for level in by_level)
        table = PropertyTable(_literals(ways, True), _literals(ways, False))
        return RuleBook(levels, ways, by_level, _readers(rules, by_level), always, table)


def _literals(ways: Mapping[tuple[str, bool], tuple[Alternative, ...]], holds: bool) -> list[Literal]:
    alternatives_ = (way for (_, truth), way in ways.items() if truth is holds)
    return [literal for way in alternatives_ for alternative in way for literal in alternative]


def _readers(
    rules: Mapping[str, Condition], levels: Sequence[Mapping[str, Evaluator]]
) -> dict[str, tuple[dict[str, Evaluator], ...]]:
    """By fact and finding: the rules of each level that read it."""
    readers: dict[str, tuple[dict[str, Evaluator], ...]] = {}
    for height, level in enumerate(levels):
        for rule, decide in level.items():
            for name in (*facts_read(rules[rule]), *findings_read(rules[rule])):
                readers.setdefault(name, tuple({} for _ in levels))[height][rule] = decide
    return readers


def levels_of(rules: Mapping[str, Condition]) -> tuple[tuple[str, ...], ...]:
    """Rules by level: a rule stands one level above the highest rule whose finding it reads.

    Raises:
        RuleError: on a circle, naming it, or on more than five levels.
    """
    level: dict[str, int] = {}
    open_path: list[str] = []

    def place(rule: str) -> int:
        if rule in level:
            return level[rule]
        if rule in open_path:
            raise RuleError("rules read each other in a circle: " + " -> ".join([*open_path, rule]))
        open_path.append(rule)
        read = [name for name in findings_read(rules[rule]) if name in rules]
        level[rule] = 1 + max((place(name) for name in read), default=-1)
        open_path.pop()
        return level[rule]

    for rule in sorted(rules):
        if place(rule) >= MAX_LEVELS:
            raise RuleError(f"{rule}: stands on more than {MAX_LEVELS} levels of findings")
    return tuple(
        tuple(rule for rule in sorted(rules) if level[rule] == height)
        for height in range(max(level.values(), default=-1) + 1)
    )


@dataclass
class EngineStats:
    """Counters since start: which evaluator answered, how often the two differed, how often the engine was rebuilt."""

    cases: int = 0
    answered_by_reference: int = 0
    disagreements: int = 0
    rebuilds: int = 0


class RuleEngine:
    """One a process; call it from one thread. ``close`` frees the memory that durable-rules holds."""

    def __init__(self, book: RuleBook, check: bool = True) -> None:
        check_build()
        self.book = book
        self.stats = EngineStats()
        self._check = check
        # By level: the ways in which each rule holds, for durable-rules, and those in which it does not.
        self._present = [self._ways(rules, True) for rules in book.levels]
        self._absent = [self._ways(rules, False) for rules in book.levels]
        self._places = [np.array([book.table.place(rule) for rule, _ in ways], np.intp) for ways in self._absent]
        self._denials = [Conjunctions([book.ways[rule, False] for rule in rules], book.table) for rules in book.levels]
        self._shards = self._build()

    def _ways(self, rules: Sequence[str], holds: bool) -> list[tuple[str, Decision]]:
        return [(rule, Decision(holds, way)) for rule in rules for way in self.book.ways[rule, holds]]

    def decide(
        self, facts: Mapping[str, Value], reported: Mapping[str, bool]
    ) -> tuple[dict[str, Decision], AnsweredBy]:
        """Decide every rule that the facts and the reported findings decide.

        A finding that a rule decides counts as the rule says; otherwise as it was reported. A number that is not
        finite is unknown.
        """
        self.stats.cases += 1
        facts = {fact: value for fact, value in facts.items() if not isinstance(value, float) or math.isfinite(value)}
        try:
            decisions = self._by_durable_rules(facts, reported)
        except DurableError:
            log.exception("durable-rules failed; the reference evaluator answers and the engine is rebuilt")
            self._rebuild()
            return self._by_reference(facts, reported)
        if self._check:
            holds = {rule: decision.holds for rule, decision in decisions.items()}
            expected = reference_holds(self.book, facts, reported)
            if holds != expected:
                differing = sorted(rule for rule in holds | expected if holds.get(rule) is not expected.get(rule))
                log.error("durable-rules and the reference evaluator differ on %s", ", ".join(differing[:5]))
                self.stats.disagreements += 1
                return self._by_reference(facts, reported)
        return decisions, "durable-rules"

    def close(self) -> None:
        levels, self._shards = self._shards, []
        for shards in levels:
            shards.close()

    def _by_durable_rules(self, facts: Mapping[str, Value], reported: Mapping[str, bool]) -> dict[str, Decision]:
        if len(self._shards) != len(self.book.levels):
            raise DurableError("there is no engine: it is closed, or could not be rebuilt")
        properties = self.book.table.of_case(facts, reported)
        decisions: dict[str, Decision] = {}
        for level in range(len(self._shards)):
            self._decide_level(level, properties, reported, decisions)
        return decisions

    def _decide_level(
        self, level: int, properties: Properties, reported: Mapping[str, bool], decisions: dict[str, Decision]
    ) -> None:
        """What fired is present; what did not, and cannot any more, is absent. Each by its first way that holds."""
        fired = self._shards[level].fired(properties.members)
        denied = self._denials[level].first_true(properties.numbers)
        # Backwards, so that of several ways the first is what remains.
        present = dict([self._present[level][number] for number in sorted(fired, reverse=True)])
        ways = self._absent[level]
        absent = [ways[number] for number in denied.tolist()]
        decisions.update(absent)
        if not present.keys().isdisjoint(decisions):
            raise DurableError(f"{min(present.keys() & decisions.keys())} was found both to hold and not to hold")
        decisions.update(present)
        table = self.book.table
        properties.numbers[self._places[level][denied]] = 0.0
        for rule in present:
            table.set_finding(properties, rule, True)
        for rule, _ in absent:
            if rule in table.asked_absent or rule in reported:
                table.set_finding(properties, rule, False)

    def _by_reference(
        self, facts: Mapping[str, Value], reported: Mapping[str, bool]
    ) -> tuple[dict[str, Decision], AnsweredBy]:
        self.stats.answered_by_reference += 1
        holds = reference_holds(self.book, facts, reported)
        states = {**reported, **holds}
        reasons = {rule: self._reason(rule, value, facts, states) for rule, value in holds.items()}
        return {rule: Decision(value, reasons[rule]) for rule, value in holds.items()}, "reference"

    def _reason(self, rule: str, holds: bool, facts: Mapping[str, Value], states: Mapping[str, bool]) -> Alternative:
        for way in self.book.ways[rule, holds]:
            if all(self.book.table.holds(literal, facts, states) for literal in way):
                return way
        raise RuleError(f"{rule} was decided without a reason")  # the two normal forms would contradict each other

    def _build(self) -> list[Shards]:
        return [
            Shards([self._encoded(decision.because) for _, decision in ways], f"level{level}.")
            for level, ways in enumerate(self._present)
        ]

    def _encoded(self, way: Alternative) -> list[tuple[int, str]]:
        table = self.book.table
        return [(table.index[literal.kind, literal.subject], table.literal_json(literal)) for literal in way]

    def _rebuild(self) -> None:
        self.stats.rebuilds += 1
        try:
            self.close()
        except Exception:
            log.exception("the broken engine could not be closed; its memory is lost")
        try:
            self._shards = self._build()
        except DurableError:
            log.exception("the engine could not be rebuilt; the next case tries again")


def reference_holds(book: RuleBook, facts: Mapping[str, Value], reported: Mapping[str, bool]) -> dict[str, bool]:
    """The same decisions by the reference evaluator: rule id to True or False, undecided rules left out."""
    states = dict(reported)
    decided: dict[str, bool] = {}
    for height, everything in enumerate(book.evaluators):
        reading = [book.readers[name][height] for name in (*facts, *states) if name in book.readers]
        asked = everything
        if sum(map(len, reading)) < len(everything):  # else to find out who is asked takes longer than to ask
            asked = {rule: decide for some in (book.always[height], *reading) for rule, decide in some.items()}
        found = {rule: decide(facts, states) for rule, decide in asked.items()}
        fresh = {rule: value for rule, value in found.items() if value is not None}
        decided |= fresh
        states |= fresh
    return decided
