"""experta 1.9.4, which still looks for the abstract classes where Python kept them until 3.9."""

from __future__ import annotations

import collections
import collections.abc
import operator
from typing import Any

for moved in ("Callable", "Iterable", "Mapping", "MutableMapping", "Sequence"):
    setattr(collections, moved, getattr(collections.abc, moved))

from experta import Fact, KnowledgeEngine, P, Rule  # noqa: E402

from bench.engine import synthetic  # noqa: E402
from bench.engine.worker import Decide  # noqa: E402

COMPARE = {"at_least": operator.ge, "at_most": operator.le, "more_than": operator.gt, "less_than": operator.lt}


class Metric(Fact):
    """One known metric, as ``Metric(m3=12.5)``."""


class Finding(Fact):
    """One concluded finding, as ``Finding(f7=True)``."""


def prepare(rules: tuple[synthetic.Rule, ...]) -> Decide:
    """Rules as decorated methods of one engine class; the engine is reset for each case."""
    engine = type("Bench", (KnowledgeEngine,), {f"rule_{rule.name}": method(rule) for rule in rules})()

    def decide(case: dict[str, synthetic.Value]) -> set[str]:
        engine.found = set()
        engine.reset()
        for metric, value in case.items():
            engine.declare(Metric(**{key(metric): value}))
        engine.run()
        return engine.found

    return decide


def key(metric: str) -> str:
    """``run.m3`` as a keyword."""
    return metric.replace(".", "_")


def method(rule: synthetic.Rule) -> Any:
    """The rule as experta wants it: patterns in the decorator, the conclusion in the body."""

    def conclude(self: Any) -> None:
        self.found.add(rule.name)
        self.declare(Finding(**{rule.name: True}))

    patterns = [Metric(**{key(test.fact): field(test)}) for test in rule.tests]
    patterns += [Finding(**{finding: True}) for finding in rule.findings]
    return Rule(*patterns)(conclude)


def field(test: synthetic.Test) -> Any:
    """A literal, or a predicate over the value."""
    if test.operator == "is":
        return test.value
    compare, bound = COMPARE[test.operator], test.value
    return P(lambda value: compare(value, bound))
