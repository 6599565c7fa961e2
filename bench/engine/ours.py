"""The product's rule engine, and its reference evaluator alone."""

from __future__ import annotations

from bench.engine.synthetic import Rule, Value
from bench.engine.worker import Decide
from engine.inference.rules import RuleBook, RuleEngine, reference_holds
from engine.model.conditions import AllOf, Condition, FactTest, FindingTest


def unchecked(rules: tuple[Rule, ...]) -> Decide:
    """durable-rules alone."""
    return _decider(RuleEngine(_book(rules), check=False))


def checked(rules: tuple[Rule, ...]) -> Decide:
    """durable-rules, every answer held against the reference evaluator: what the service runs."""
    return _decider(RuleEngine(_book(rules), check=True))


def plain(rules: tuple[Rule, ...]) -> Decide:
    """The reference evaluator: conditions compiled to Python closures, level by level."""
    book = _book(rules)
    return lambda case: {rule for rule, holds in reference_holds(book, case, {}).items() if holds}


def _decider(engine: RuleEngine) -> Decide:
    def decide(case: dict[str, Value]) -> set[str]:
        decisions, answered_by = engine.decide(case, {})
        assert answered_by == "durable-rules"
        return {rule for rule, decision in decisions.items() if decision.holds}

    return decide


def _book(rules: tuple[Rule, ...]) -> RuleBook:
    return RuleBook.compile({rule.name: _condition(rule) for rule in rules})


def _condition(rule: Rule) -> Condition:
    tests = [FactTest.model_validate({"fact": test.fact, test.operator: test.value}) for test in rule.tests]
    return AllOf(all=(*tests, *(FindingTest(finding=finding) for finding in rule.findings)))
