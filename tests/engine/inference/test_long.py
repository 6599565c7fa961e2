"""What only shows after many cases: memory that grows, answers that go wrong, rule sets that are large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.inference.rules import RuleBook, RuleEngine, reference_holds

STATM = Path("/proc/self/statm")
needs_statm = pytest.mark.skipif(not STATM.exists(), reason="reads resident memory from /proc/self/statm")


def resident_mb() -> float:
    """Resident memory of this process in MB of 10^6 bytes."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def rule_set(count: int) -> dict[str, dict]:
    """Rules over 40 numbers, 10 texts and, in the second half, the findings of the first."""
    rules: dict[str, dict] = {}
    for i in range(count):
        number = {"fact": f"a.n{i % 40}", "more_than": i % 17 + i / 1000}
        other = {"fact": f"a.n{(i * 7 + 1) % 40}", "at_most": i % 13}
        text = {"fact": f"a.t{i % 10}", "one_of": ["x", f"词{i % 5}"]}
        parts = [number, {"any": [other, text]}] if i % 3 else [number, {"not": other}]
        if i >= count // 2:
            parts.append({"finding": f"r{i - count // 2}", "is": ("present", "absent")[i % 2]})
        rules[f"r{i}"] = {"all": parts}
    return rules


def case(number: int) -> dict[str, float | str]:
    """50 facts less those that this case does not know."""
    facts: dict[str, float | str] = {
        f"a.n{i}": float((number * 31 + i * i) % 19) for i in range(40) if (number + i) % 4
    }
    return facts | {f"a.t{i}": ("x", "词1", "other")[(number + i) % 3] for i in range(10) if (number + i) % 5}


def test_two_thousand_rules_compile_and_agree(make_engine) -> None:
    engine = make_engine(rule_set(2_000), check=False)
    for number in range(20):
        decisions, answered_by = engine.decide(case(number), {})
        assert answered_by == "durable-rules"
        assert {name: d.holds for name, d in decisions.items()} == reference_holds(engine.book, case(number), {})


@pytest.mark.long
@needs_statm
def test_a_hundred_thousand_cases_neither_grow_nor_differ(make_engine) -> None:
    engine = make_engine(rule_set(200), check=True)
    cases = [case(number) for number in range(1_000)]
    for facts in cases:
        engine.decide(facts, {})
    before = resident_mb()
    for _ in range(100):
        for facts in cases:
            engine.decide(facts, {})
    growth = resident_mb() - before
    print(f"resident memory grew by {growth:.2f} MB over 100,000 cases")
    assert growth < 3
    assert (engine.stats.cases, engine.stats.disagreements, engine.stats.answered_by_reference) == (101_000, 0, 0)


@pytest.mark.long
@needs_statm
def test_three_hundred_reloads_do_not_grow(make_condition) -> None:
    book = RuleBook.compile({name: make_condition(rule) for name, rule in rule_set(200).items()})

    def reload() -> None:
        engine = RuleEngine(book)
        assert engine.decide(case(1), {})[1] == "durable-rules"
        engine.close()

    for _ in range(20):
        reload()
    before = resident_mb()
    for _ in range(300):
        reload()
    growth = resident_mb() - before
    print(f"resident memory grew by {growth:.2f} MB over 300 reloads")
    assert growth < 5
