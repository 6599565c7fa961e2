"""Rules in levels, the two evaluators, and what happens when they fail or differ."""

from __future__ import annotations

import os
import subprocess
import sys
from math import inf, nan, nextafter
from typing import Any

import durable_rules_engine
import pytest

from engine.inference.durable import DurableError, Shard
from engine.inference.rules import RuleBook, RuleEngine, RuleError, levels_of

HOT = {"fact": "gpu.temperature", "more_than": 90}
SLOW = {"fact": "step.time", "more_than": 2}
FACTS = {"gpu.temperature": 95.0, "step.time": 1.0}


def finding(name: str, is_: str = "present") -> dict[str, str]:
    return {"finding": name, "is": is_}


def chain(length: int) -> dict[str, dict[str, Any]]:
    return {"f0": HOT} | {f"f{i}": finding(f"f{i - 1}") for i in range(1, length)}


def holds(engine: RuleEngine, facts: dict[str, Any], reported: dict[str, bool] | None = None) -> dict[str, bool]:
    decisions, _ = engine.decide(facts, reported or {})
    return {name: decision.holds for name, decision in decisions.items()}


class TestLevels:
    def test_a_rule_stands_above_the_findings_it_reads(self, make_condition) -> None:
        rules = {"b": finding("a"), "a": HOT, "c": {"all": [finding("b"), finding("said")]}, "d": SLOW}
        book = RuleBook.compile({name: make_condition(rule) for name, rule in rules.items()})
        assert book.levels == (("a", "d"), ("b",), ("c",))

    def test_a_circle_is_named(self, make_condition) -> None:
        rules = {"a": finding("b"), "b": finding("c"), "c": {"not": finding("a")}, "z": HOT}
        with pytest.raises(RuleError, match="circle: a -> b -> c -> a"):
            levels_of({name: make_condition(rule) for name, rule in rules.items()})

    def test_a_rule_that_reads_its_own_finding_is_a_circle(self, make_condition) -> None:
        with pytest.raises(RuleError, match="circle: a -> a"):
            levels_of({"a": make_condition(finding("a"))})

    def test_five_levels_and_no_more(self, make_condition, make_engine) -> None:
        assert holds(make_engine(chain(5)), FACTS) == {f"f{i}": True for i in range(5)}
        with pytest.raises(RuleError, match="f5: stands on more than 5 levels"):
            RuleBook.compile({name: make_condition(rule) for name, rule in chain(6).items()})

    def test_no_rules_at_all(self, make_engine) -> None:
        assert make_engine({}).decide(FACTS, {"said": True}) == ({}, "durable-rules")

    def test_too_many_alternatives_name_the_rule(self, make_condition) -> None:
        wide = {"all": [{"fact": f"x.{name}", "one_of": [1, 2, 3, 4, 5, 6]} for name in "ab"]}
        with pytest.raises(RuleError, match="wide: expands to 36 alternatives"):
            RuleBook.compile({"wide": make_condition(wide)})


class TestThreeValues:
    def test_present_absent_unknown(self, make_engine) -> None:
        engine = make_engine({"hot": HOT})
        assert holds(engine, {"gpu.temperature": 91.0}) == {"hot": True}
        assert holds(engine, {"gpu.temperature": 90.0}) == {"hot": False}
        assert holds(engine, {}) == {}

    @pytest.mark.parametrize("value", [nan, inf, -inf])
    def test_a_number_that_is_not_finite_is_unknown(self, make_engine, value) -> None:
        engine = make_engine({"hot": HOT, "cool": {"not": HOT}, "told": {"fact": "gpu.temperature", "known": True}})
        decisions, answered_by = engine.decide({"gpu.temperature": value}, {})
        assert ({name: d.holds for name, d in decisions.items()}, answered_by) == ({"told": False}, "durable-rules")

    def test_what_is_known_may_decide_alone(self, make_engine) -> None:
        engine = make_engine({"both": {"all": [HOT, SLOW]}, "either": {"any": [HOT, SLOW]}})
        assert holds(engine, {"gpu.temperature": 95.0}) == {"either": True}
        assert holds(engine, {"gpu.temperature": 20.0}) == {"both": False}

    def test_a_rule_counts_before_a_report_and_a_report_where_no_rule_decides(self, make_engine) -> None:
        engine = make_engine({"hot": HOT, "throttled": finding("hot")})
        assert holds(engine, {"gpu.temperature": 20.0}, {"hot": True}) == {"hot": False, "throttled": False}
        assert holds(engine, {}, {"hot": True}) == {"throttled": True}

    def test_absence_passes_up_the_levels(self, make_engine) -> None:
        engine = make_engine({"hot": HOT, "cool": finding("hot", "absent"), "idle": {"not": finding("cool")}})
        assert holds(engine, {"gpu.temperature": 20.0}) == {"hot": False, "cool": True, "idle": False}


class TestTypes:
    def test_text_number_and_truth_never_match_each_other(self, make_engine) -> None:
        engine = make_engine(
            {
                "text": {"fact": "a.text", "one_of": ["1", "True", "0"]},
                "number": {"fact": "a.number", "one_of": [1, 0]},
                "truth": {"fact": "a.truth", "is": True},
                "text is text": {"fact": "a.text", "is": {"fact": "b.text"}},
                "text is truth": {"fact": "a.text", "is": {"fact": "a.truth"}},
                "number is truth": {"fact": "a.number", "is": {"fact": "a.truth"}},
                "number is not truth": {"fact": "a.number", "is_not": {"fact": "a.truth"}},
            }
        )
        decided = holds(engine, {"a.text": "1", "a.number": 1.0, "a.truth": True, "b.text": "1.0"})
        assert decided == {
            "text": True, "number": True, "truth": True,
            "text is text": False, "text is truth": False, "number is truth": False, "number is not truth": True,
        }  # fmt: skip
        assert holds(engine, {"a.text": "1.0"}) == {"text": False}
        assert holds(engine, {"a.number": 2.0, "a.text": "2"}) == {"number": False, "text": False}

    @pytest.mark.parametrize("length", [65_535, 65_536, 65_537, 70_000])
    def test_very_long_texts_are_compared_whole(self, make_engine, length) -> None:
        engine = make_engine({"empty": {"fact": "a.b", "is": ""}, "long": {"fact": "a.b", "is": "字" * length}})
        assert holds(engine, {"a.b": "字" * length}) == {"empty": False, "long": True}
        assert holds(engine, {"a.b": "字" * (length + 1)}) == {"empty": False, "long": False}

    @pytest.mark.parametrize("threshold", [1e-05, 5e-324, 1e-300, -1e-06, 0.0, 1e15, 0.1 + 0.2])
    def test_thresholds_are_exact_to_the_last_bit(self, make_engine, threshold) -> None:
        engine = make_engine({"over": {"fact": "a.b", "more_than": threshold}, "at": {"fact": "a.b", "is": threshold}})
        assert holds(engine, {"a.b": threshold}) == {"over": False, "at": True}
        assert holds(engine, {"a.b": nextafter(threshold, inf)}) == {"over": True, "at": False}
        assert holds(engine, {"a.b": nextafter(threshold, -inf)}) == {"over": False, "at": False}


class TestProof:
    def test_a_decision_cites_what_decided_it_and_nothing_else(self, make_engine) -> None:
        engine = make_engine({"either": {"any": [HOT, SLOW]}, "above": {"all": [finding("either"), SLOW]}})
        decisions, _ = engine.decide({"gpu.temperature": 95.0, "step.time": 3.0}, {})
        assert decisions["either"].facts == ("gpu.temperature",)
        assert (decisions["above"].findings, decisions["above"].facts) == (("either",), ("step.time",))

    def test_the_first_way_is_cited_by_both_evaluators(self, make_engine, monkeypatch) -> None:
        engine = make_engine({"either": {"any": [SLOW, HOT]}, "both": {"all": [SLOW, HOT]}})
        cases = [{"gpu.temperature": t, "step.time": s} for t in (20.0, 95.0) for s in (1.0, 3.0)]
        by_durable_rules = [engine.decide(case, {})[0] for case in cases]
        monkeypatch.setattr(RuleEngine, "_by_durable_rules", lambda *_: (_ for _ in ()).throw(DurableError("broken")))
        assert [engine.decide(case, {})[0] for case in cases] == by_durable_rules


class Failing:
    """Stands in for a function of the extension and fails a number of times, as it fails: with a bare Exception."""

    def __init__(self, function: Any, times: int) -> None:
        self.__name__ = function.__name__
        self.function, self.times = function, times

    def __call__(self, *arguments: Any) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise Exception("Could not complete operation, error code: 303")
        return self.function(*arguments)


class TestErrors:
    @pytest.mark.parametrize(
        "name", ["assert_fact", "start_action_for_state", "complete_and_start_action", "retract_fact"]
    )
    def test_an_engine_error_is_answered_by_the_reference(self, make_engine, monkeypatch, name) -> None:
        engine = make_engine({"hot": HOT, "slow": SLOW})
        expected, _ = engine.decide(FACTS, {})
        monkeypatch.setattr(durable_rules_engine, name, Failing(getattr(durable_rules_engine, name), times=1))
        assert engine.decide(FACTS, {}) == (expected, "reference")
        assert (engine.stats.rebuilds, engine.stats.answered_by_reference, engine.stats.disagreements) == (1, 1, 0)
        assert engine.decide(FACTS, {}) == (expected, "durable-rules")
        assert (engine.stats.cases, engine.stats.rebuilds) == (3, 1)

    def test_an_engine_that_cannot_be_rebuilt_is_tried_again(self, make_engine, monkeypatch) -> None:
        engine = make_engine({"hot": HOT})
        with monkeypatch.context() as broken:
            broken.setattr(durable_rules_engine, "assert_fact", Failing(durable_rules_engine.assert_fact, times=2))
            assert engine.decide(FACTS, {})[1] == "reference"
            decisions, answered_by = engine.decide(FACTS, {})
        assert (decisions["hot"].holds, answered_by, engine.stats.rebuilds) == (True, "reference", 2)
        assert engine.decide(FACTS, {})[1] == "durable-rules"

    @pytest.mark.parametrize("check", [True, False])
    def test_a_wrong_answer_is_caught_and_counted(self, make_engine, monkeypatch, check) -> None:
        engine = make_engine({"hot": HOT, "slow": SLOW}, check=check)
        monkeypatch.setattr(Shard, "fired", lambda *_: [])
        decisions, answered_by = engine.decide(FACTS, {})
        assert decisions["slow"].holds is False
        if check:
            assert (decisions["hot"].holds, answered_by, engine.stats.disagreements) == (True, "reference", 1)
        else:
            assert ("hot" in decisions, answered_by, engine.stats.disagreements) == (False, "durable-rules", 0)

    def test_a_contradiction_counts_as_an_error(self, make_engine, monkeypatch) -> None:
        engine = make_engine({"slow": SLOW}, check=False)
        with monkeypatch.context() as broken:
            broken.setattr(Shard, "fired", lambda *_: ["0"])
            decisions, answered_by = engine.decide(FACTS, {})
        assert (decisions["slow"].holds, answered_by, engine.stats.rebuilds) == (False, "reference", 1)

    def test_another_build_is_refused_with_a_sentence(self, make_engine, monkeypatch) -> None:
        monkeypatch.delattr(durable_rules_engine, "retract_fact")
        with pytest.raises(DurableError, match=r"lacks retract_fact; install durable-rules 2\.0\.28"):
            make_engine({"hot": HOT})

    def test_closing_twice_is_harmless(self, make_engine) -> None:
        engine = make_engine({"hot": HOT})
        engine.close()
        engine.close()


def test_without_the_check_every_answer_is_the_same(make_engine) -> None:
    rules = {"either": {"any": [HOT, SLOW]}, "above": {"all": [finding("either"), {"not": SLOW}]}}
    checked, unchecked = make_engine(rules, check=True), make_engine(rules, check=False)
    for case in ({}, FACTS, {"gpu.temperature": 20.0}, {"step.time": 9.0}):
        assert checked.decide(case, {}) == unchecked.decide(case, {})


def test_the_order_of_facts_and_rules_changes_nothing(make_engine) -> None:
    rules = {
        f"r{i}": {"any": [{"fact": f"a.f{i}", "at_least": 1}, {"fact": f"a.f{i + 1}", "at_most": 0}]} for i in range(9)
    }
    facts = {f"a.f{i}": float(i % 3) for i in range(10)}
    one, other = make_engine(rules), make_engine(dict(reversed(rules.items())))
    assert one.decide(facts, {}) == other.decide(dict(reversed(facts.items())), {})


SCRIPT = """
from pydantic import TypeAdapter
from engine.inference.rules import RuleBook, RuleEngine
from engine.model.conditions import Condition
read = TypeAdapter(Condition).validate_python
def either(i):
    return {"any": [{"fact": f"a.f{i}", "one_of": [1, 2]}, {"fact": f"a.t{i}", "matches": "x|y"}]}
rules = {f"r{i}": either(i) for i in range(30)}
rules |= {f"s{i}": {"all": [{"finding": f"r{i}"}, {"not": {"finding": f"r{i + 1}"}}]} for i in range(29)}
engine = RuleEngine(RuleBook.compile({name: read(rule) for name, rule in rules.items()}))
facts = {f"a.f{i}": float(i % 4) for i in range(30)} | {f"a.t{i}": "xyz"[i % 3] for i in range(30)}
decisions, answered_by = engine.decide(facts, {})
print(answered_by, list(decisions.items()))
"""


def test_the_hash_seed_changes_nothing(checkout) -> None:
    def output(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=checkout, env=environment, check=True, capture_output=True, text=True
        ).stdout

    first = output("0")
    assert first.startswith("durable-rules [(")
    assert output("1") == first
    assert output("12345") == first


def test_no_thread_is_started(checkout) -> None:
    code = f"import threading\n{SCRIPT}\nprint(threading.enumerate())"
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].count("<") == 1, "only the main thread"
