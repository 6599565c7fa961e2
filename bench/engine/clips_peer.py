"""CLIPS by clipspy: one template a metric and one a finding, so that its alpha network can tell them apart."""

from __future__ import annotations

import clips

from bench.engine.synthetic import Rule, Test, Value
from bench.engine.worker import Decide

COMPARE = {"is": "eq", "at_least": ">=", "at_most": "<=", "more_than": ">", "less_than": "<"}


def prepare(rules: tuple[Rule, ...]) -> Decide:
    """Rules as ``defrule``; a case is asserted through the templates, and the network is reset after it."""
    environment = clips.Environment()
    metrics = sorted({test.fact for rule in rules for test in rule.tests})
    for metric in metrics:
        environment.build(f"(deftemplate {name(metric)} (slot v))")
    for rule in rules:
        environment.build(f"(deftemplate {rule.name} (slot v))")
    for rule in rules:
        environment.build(definition(rule))
    templates = {metric: environment.find_template(name(metric)) for metric in metrics}
    findings = {rule.name for rule in rules}

    def decide(case: dict[str, Value]) -> set[str]:
        for metric, value in case.items():
            if metric in templates:
                templates[metric].assert_fact(v=value)
        environment.run()
        found = {fact.template.name for fact in environment.facts()} & findings
        environment.reset()
        return found

    return decide


def name(metric: str) -> str:
    """Of a template: CLIPS' symbols may hold dots, but a leading keyword is best avoided."""
    return metric.replace(".", "-")


def definition(rule: Rule) -> str:
    """``(defrule r-f7 (run-m3 (v ?v0&:(>= ?v0 50.0))) (f2) => (assert (f7)))``."""
    patterns = [pattern(number, test) for number, test in enumerate(rule.tests)]
    patterns += [f"({finding})" for finding in rule.findings]
    return f"(defrule r-{rule.name} {' '.join(patterns)} => (assert ({rule.name})))"


def pattern(number: int, test: Test) -> str:
    """A literal where equality is asked for, a predicate constraint otherwise."""
    if isinstance(test.value, bool):
        return f"({name(test.fact)} (v {'TRUE' if test.value else 'FALSE'}))"
    if isinstance(test.value, str):
        return f'({name(test.fact)} (v "{test.value}"))'
    return f"({name(test.fact)} (v ?v{number}&:({COMPARE[test.operator]} ?v{number} {test.value})))"
