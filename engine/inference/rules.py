"""Rules, level by level: durable-rules concludes, the reference evaluator checks, and says so when it has to answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from engine.inference.durable import DurableError, Shard, check_build, sharded
from engine.inference.normal_form import Alternative, alternatives
from engine.inference.properties import PropertyTable
from engine.inference.reference import Evaluator, evaluator
from engine.model.conditions import Condition, findings_read
from engine.model.evidence import Value

log = logging.getLogger(__name__)
MAX_LEVELS = 5
AnsweredBy = OneOf["durable-rules", "reference"]


class RuleError(ValueError):
    """A set of rules that cannot be compiled; the message names the rule and the reason."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decided rule and the conjunction that decided it. A rule that is not decided has no decision."""

    holds: bool
    because: Alternative

    @property
    def facts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(fact for literal in self.because for fact in literal.facts))

    @property
    def findings(self) -> tuple[str, ...]:
        return tuple(literal.subject for literal in self.because if literal.kind == "finding")


@dataclass(frozen=True)
class RuleBook:
    """Rules in levels, ready for either evaluator. Building it does all checks that need no engine."""

    levels: tuple[tuple[str, ...], ...]
    ways: Mapping[tuple[str, bool], tuple[Alternative, ...]]
    evaluators: Mapping[str, Evaluator]
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
        literals = [literal for way in ways.values() for alternative in way for literal in alternative]
        evaluators = {rule: evaluator(condition) for rule, condition in rules.items()}
        return RuleBook(levels_of(rules), ways, evaluators, PropertyTable(literals))


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
        self._names: dict[str, tuple[str, bool, int]] = {}
        for index, (rule, holds) in enumerate(sorted(book.ways)):
            for number in range(len(book.ways[rule, holds])):
                self._names[f"f{index}.{number}"] = (rule, holds, number)
        self._shards = self._build()

    def decide(
        self, facts: Mapping[str, Value], reported: Mapping[str, bool]
    ) -> tuple[dict[str, Decision], AnsweredBy]:
        """Decide every rule that the facts and the reported findings decide.

        A finding that a rule decides counts as the rule says; otherwise as it was reported.
        """
        self.stats.cases += 1
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
            for shard in shards:
                shard.close()

    def _by_durable_rules(self, facts: Mapping[str, Value], reported: Mapping[str, bool]) -> dict[str, Decision]:
        if len(self._shards) != len(self.book.levels):
            raise DurableError("there is no engine: it is closed, or could not be rebuilt")
        table = self.book.table
        values = table.fact_properties(facts) | table.finding_properties(reported)
        decisions: dict[str, Decision] = {}
        for shards in self._shards:
            best: dict[str, tuple[int, bool]] = {}
            for shard in shards:
                for name in shard.fired(values):
                    rule, holds, number = self._names[name]
                    if best.get(rule, (number, holds))[1] is not holds:
                        raise DurableError(f"{rule} was found both to hold and not to hold")
                    best[rule] = min(best.get(rule, (number, holds)), (number, holds))
            for rule, (number, holds) in best.items():
                decisions[rule] = Decision(holds, self.book.ways[rule, holds][number])
            values |= table.finding_properties({rule: holds for rule, (_, holds) in best.items()})
        return decisions

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

    def _build(self) -> list[list[Shard]]:
        levels = []
        for height, rules in enumerate(self.book.levels):
            members = set(rules)
            entries = [
                (name, *self._encoded(self.book.ways[rule, holds][number]))
                for name, (rule, holds, number) in self._names.items()
                if rule in members
            ]
            levels.append(sharded(entries, f"level{height}."))
        return levels

    def _encoded(self, way: Alternative) -> tuple[Sequence[str], frozenset[str]]:
        table = self.book.table
        read = frozenset(table.names[literal.kind, literal.subject] for literal in way)
        return [table.literal_json(literal) for literal in way], read

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
    for rules in book.levels:
        found = {rule: book.evaluators[rule](facts, states) for rule in rules}
        fresh = {rule: value for rule, value in found.items() if value is not None}
        decided |= fresh
        states |= fresh
    return decided
