"""A made-up knowledge base and cases, the same for every engine and every run.

240 metrics, 70 % numbers, 20 % truth values and 10 % texts, some far more popular than others (Zipf). Half the rules
read one to three metrics; 30 % read one or two findings of the first level, 20 % of the first two levels, and up to two
metrics.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Value = bool | float | str
Operator = Literal["is", "at_least", "at_most", "more_than", "less_than"]
METRICS = 240
LEVEL_SHARES = (0.5, 0.3, 0.2)
WORDS = ("bf16", "fp16", "fp32", "fp8")


@dataclass(frozen=True)
class Test:
    """``fact operator value``; a metric that a case does not have fails every test."""

    fact: str
    operator: Operator
    value: Value


@dataclass(frozen=True)
class Rule:
    """Concludes the finding of its own name if all tests hold and all findings it reads are present."""

    name: str
    level: int
    tests: tuple[Test, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Bench:
    """One cell of the table: a rule set and the cases to decide."""

    rules: tuple[Rule, ...]
    cases: tuple[dict[str, Value], ...]


def make(rules: int, facts: int, cases: int) -> Bench:
    """The rule set with ``rules`` rules, and ``cases`` cases of ``facts`` known metrics each."""
    chance = random.Random(f"rules {rules}")
    kinds = _kinds(chance)
    made = _rules(chance, kinds, rules)
    chance = random.Random(f"cases {rules} {facts}")
    return Bench(made, tuple(_case(chance, kinds, facts) for _ in range(cases)))


def _kinds(chance: random.Random) -> dict[str, str]:
    return {f"run.m{i}": chance.choices(("number", "truth", "text"), (70, 20, 10))[0] for i in range(METRICS)}


def _rules(chance: random.Random, kinds: dict[str, str], count: int) -> tuple[Rule, ...]:
    edges = [round(share * count) for share in accumulate(LEVEL_SHARES)]
    rules: list[Rule] = []
    for number in range(count):
        level = next(i for i, edge in enumerate(edges) if number < edge)
        below = [rule.name for rule in rules if rule.level < level]
        findings = tuple(chance.sample(below, chance.randint(1, 2))) if level else ()
        metrics = _metrics(chance, kinds, chance.randint(0, 2) if level else chance.randint(1, 3))
        rules.append(Rule(f"f{number}", level, tuple(_test(chance, m, kinds[m]) for m in metrics), findings))
    return tuple(rules)


def _metrics(chance: random.Random, kinds: dict[str, str], count: int) -> list[str]:
    """``count`` different metrics, the popular ones more often: the n-th with weight 1/n."""
    names = list(kinds)
    chosen: dict[str, None] = {}
    weights = [1 / (rank + 1) for rank in range(len(names))]
    while len(chosen) < count:
        chosen[chance.choices(names, weights)[0]] = None
    return list(chosen)


def _test(chance: random.Random, metric: str, kind: str) -> Test:
    if kind == "truth":
        return Test(metric, "is", chance.random() < 0.5)
    if kind == "text":
        return Test(metric, "is", chance.choice(WORDS))
    operator: Operator = chance.choice(("at_least", "at_most", "more_than", "less_than"))
    return Test(metric, operator, round(chance.uniform(0, 100), 3))


def _case(chance: random.Random, kinds: dict[str, str], count: int) -> dict[str, Value]:
    return {metric: _value(chance, kinds[metric]) for metric in _metrics(chance, kinds, count)}


def _value(chance: random.Random, kind: str) -> Value:
    if kind == "truth":
        return chance.random() < 0.5
    return chance.choice(WORDS) if kind == "text" else chance.uniform(0, 100)
