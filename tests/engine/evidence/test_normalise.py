"""Observations, stated facts and configuration files."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evidence.configuration import read_config
from engine.evidence.normalise import Readings, read_facts, read_observations
from engine.evidence.text import TextReader
from engine.evidence.vocabulary import Vocabulary
from engine.model.case import Observation


@pytest.fixture(scope="session")
def observe(small_vocabulary: Vocabulary, reader: TextReader) -> Any:
    def one(name: str, value: Any, unit: str | None = None) -> Readings:
        return read_observations([Observation(name=name, value=value, unit=unit)], small_vocabulary, reader)

    return one


def facts(readings: Readings) -> dict[str, object]:
    return {reading.fact: reading.value for reading in readings.facts}


def findings(readings: Readings) -> dict[str, str]:
    return {reading.finding: reading.state for reading in readings.findings}


@pytest.mark.parametrize(
    ("name", "value", "fact", "read"),
    [
        ("loss", 2.5, "loss.last", 2.5),
        ("train/loss", "2.5", "loss.last", 2.5),
        ("training_args.learning_rate", "2e-5", "lr.last", 2e-5),
        ("--micro-batch-size", 4, "batch.micro", 4.0),
        ("perDeviceTrainBatchSize", 8, "batch.micro", 8.0),
        ("Micro Batch", "1,024", "batch.micro", 1024.0),
        ("学习率", "1e-4", "lr.last", 1e-4),
        ("gpus", "8x H100", "parallel.world_size", 8.0),
        ("params", "104B", "model.parameters", 104e9),
        ("free_memory", "500 MB", "memory.free", 0.5),
        ("gpu_util", "65 %", "gpu.utilisation", 0.65),
        ("step_time", "1 min", "step_time.mean", 60.0),
        ("run_name", 17, "run.name", "17"),
        ("packing", "yes", "run.packing", True),
        ("packing", 1, "run.packing", True),
        ("packing", 0.0, "run.packing", False),
        ("precision", "fp16 (O1)", "run.precision", "fp16"),
        ("precision", "Float16", "run.precision", "fp16"),
        ("precision", "bf16 with fp32 grad accumulation", "run.precision", "bf16"),
        ("zero_stage", 3, "parallel.sharding", "zero3"),
        ("zero_stage", "none", "parallel.sharding", "none"),
        ("run.precision", "bf16", "run.precision", "bf16"),
    ],
)
def test_a_name_becomes_a_fact(observe: Any, name: str, value: Any, fact: str, read: object) -> None:
    readings = observe(name, value)
    assert facts(readings) == {fact: read}
    assert type(facts(readings)[fact]) is type(read)
    assert not readings.not_understood
    source = readings.facts[0].source
    assert source.kind == "observation"
    assert source.where == f"observation {name}"


@pytest.mark.parametrize(
    ("name", "value", "unit", "why"),
    [
        ("loss", True, None, "takes a number"),
        ("packing", 2, None, "takes true or false"),
        ("packing", "2", None, "takes true or false, yes or no, 1 or 0"),
        ("run_name", True, None, "takes a text"),
        ("lr", -1, None, "out of bounds"),
        ("gpu_util", 65, None, "out of bounds"),
        ("lr", [1e-4, 1e-5], None, "several"),
        ("lr", "1e-4, 1e-5", None, "several"),
        ("step_time", 3, "GB", "cannot be turned into"),
        ("step_time", 3, "furlongs", "not known"),
        ("zero_stage", "zero-2, later zero-3", None, "several values"),
        ("precision", "quarter", None, "is one of"),
        ("params", 10**30, None, "1e15"),
        ("batch_size", 32, None, "batch.micro or batch.global"),
        ("colour", "red", None, "not known"),
        ("lr", None, None, "no value"),
    ],
)
def test_what_is_not_understood_is_kept_with_the_reason(
    observe: Any, name: str, value: Any, unit: str | None, why: str
) -> None:
    readings = observe(name, value, unit)
    assert not readings.facts
    assert len(readings.not_understood) == 1
    assert why in readings.not_understood[0].why


@pytest.mark.parametrize(
    ("name", "value", "companion"),
    [
        ("loss", math.nan, "loss.nan"),
        ("loss", "nan", "loss.nan"),
        ("loss", "Infinity", "loss.nan"),
        ("grad_norm", -math.inf, "grad_norm.nonfinite"),
    ],
)
def test_a_non_finite_number_sets_the_fact_that_says_so(observe: Any, name: str, value: Any, companion: str) -> None:
    assert facts(observe(name, value)) == {companion: True}


def test_a_non_finite_number_without_such_a_fact_is_read_as_a_clause(observe: Any) -> None:
    assert findings(observe("hidden_size", math.nan)) == {"loss.nan": "present"}
    assert observe("hidden_size", math.inf).not_understood[0].why == "not a finite number"


@pytest.mark.parametrize(
    ("name", "value", "finding", "state"),
    [
        ("critic_loss", "increasing, grows", "critic.rises", "present"),
        ("loss_trend", "grows after epoch 2", "loss.rises", "present"),
        ("loss_spikes", True, "loss.spikes", "present"),
        ("loss_spikes", "yes", "loss.spikes", "present"),
        ("loss_spikes", False, "loss.spikes", "absent"),
        ("loss_spikes", "none", "loss.spikes", "absent"),
        ("nan_count", 0, "loss.nan", "absent"),
        ("nan_in_loss", "无", "loss.nan", "absent"),
        ("single_gpu", "ok", "normal.single-gpu", "present"),
        ("single_gpu", "ok", "contrast(ranks)", "present"),
        ("fp32_run", "fine", "contrast(precision)", "present"),
        ("effect_of_NCCL_P2P_DISABLE", "fixed", "responds(p2p)", "present"),
        ("last_event", "crashed with OOM", "oom", "present"),
    ],
)
def test_a_name_in_disguise_is_read_as_a_clause(observe: Any, name: str, value: Any, finding: str, state: str) -> None:
    assert findings(observe(name, value)).get(finding) == state


@pytest.mark.parametrize(
    ("name", "value"), [("loss_spike_threshold", 1.5), ("spike_window", "200 steps"), ("oom_handler", "default")]
)
def test_a_bare_name_asserts_nothing(observe: Any, name: str, value: Any) -> None:
    assert not findings(observe(name, value))


def test_a_finding_may_allow_its_mention(observe: Any) -> None:
    readings = observe("quantisation", "int4, group size 64")
    assert findings(readings) == {"context.quantised": "present"}
    assert readings.findings[0].source.kind == "mention"


def test_repeats_count_once(small_vocabulary: Vocabulary, reader: TextReader) -> None:
    twice = [Observation(name="loss_spikes", value=True)] * 2 + [Observation(name="loss", value=2.0)] * 2
    readings = read_observations(twice, small_vocabulary, reader)
    assert len(readings.findings) == 1
    assert len(readings.facts) == 1


def test_stated_facts_and_findings(small_vocabulary: Vocabulary) -> None:
    stated = {
        "loss.nan": True, "run.precision": "fp16", "loss.spikes": True, "loss.rises": "absent",
        "loss.stuck": None, "oom": "unknown", "loss.last": "nan", "lr.last": 1e-4,
    }  # fmt: skip
    readings = read_facts(stated, small_vocabulary)
    assert facts(readings) == {"loss.nan": True, "run.precision": "fp16", "lr.last": 1e-4}
    assert findings(readings) == {"loss.spikes": "present", "loss.rises": "absent"}
    assert not readings.not_understood
    assert {reading.source.kind for reading in readings.facts} == {"stated"}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("loss.nans", True, "did you mean loss.nan"),
        ("loss.spike", True, "loss.spikes"),
        ("zzz", 1, "no fact or finding"),
        ("loss.nan", "perhaps", "takes true or false"),
        ("lr.last", True, "takes a number"),
        ("loss.spikes", 3, "true or 'present'"),
    ],
)
def test_stated_by_a_wrong_id_or_type(small_vocabulary: Vocabulary, name: str, value: Any, why: str) -> None:
    readings = read_facts({name: value}, small_vocabulary)
    assert not readings.facts
    assert not readings.findings
    assert why in readings.not_understood[0].why


def test_an_id_that_is_a_fact_and_a_finding_is_suggested_once(small_vocabulary: Vocabulary) -> None:
    assert "loss.nan" in small_vocabulary.facts.keys() & small_vocabulary.findings.keys()
    assert small_vocabulary.nearest("loss.nans").count("loss.nan") == 1


def test_a_configuration_is_measured(small_vocabulary: Vocabulary) -> None:
    content = {
        "model": {"hidden_size": 4096, "text_config": {"hidden_size": 128}},
        "optim": {"lr": "3e-4", "betas": [0.9, 0.95]},
        "zero": {"stage": 3},
        "list": [{"lr": 1}],
        "packing": 7,
        "dtype": None,
        "unheard_of": {"deep": 1},
    }
    readings = read_config("config.json", content, small_vocabulary)
    assert facts(readings) == {"model.hidden_size": 4096.0, "lr.last": 3e-4, "parallel.sharding": "zero3"}
    assert {fact.source.kind for fact in readings.facts} == {"measured"}
    wheres = {"config.json: model.hidden_size", "config.json: optim.lr", "config.json: zero.stage"}
    assert {fact.source.where for fact in readings.facts} == wheres
    assert [note.where for note in readings.not_understood] == ["config.json: packing"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
NAMES = st.sampled_from(
    ["loss", "lr", "precision", "packing", "run_name", "single_gpu", "nan", "batch_size"]
) | st.text(min_size=1, max_size=40)


@given(name=NAMES, value=JSON, unit=st.none() | st.sampled_from(["s", "GB", "%", "x y"]))
def test_any_observation_is_read_or_kept(
    small_vocabulary: Vocabulary, reader: TextReader, name: str, value: Any, unit: str | None
) -> None:
    readings = read_observations([Observation(name=name, value=value, unit=unit)], small_vocabulary, reader)
    assert readings.facts or readings.findings or readings.not_understood
    for fact in readings.facts:
        expected = {"number": float, "bool": bool}.get(small_vocabulary.facts[fact.fact].type, str)
        assert type(fact.value) is expected
        assert not isinstance(fact.value, float) or math.isfinite(fact.value)


@given(content=JSON)
def test_any_configuration_is_read(small_vocabulary: Vocabulary, content: Any) -> None:
    stated = content if isinstance(content, dict) else {}
    readings = read_facts(stated, small_vocabulary)
    kept = len(readings.facts) + len(readings.findings) + len(readings.not_understood)
    assert kept <= len(stated)
    for fact in read_config("x", content, small_vocabulary).facts:
        assert fact.source.where.startswith("x: ")


def test_false_denies_a_context_only_if_the_name_is_about_it(observe: Any) -> None:
    assert findings(observe("fp16", False)) == {"context.fp16": "absent"}
    assert findings(observe("keep_norms_in_fp16_blocks", False)) == {}


def test_worse_than_without_is_no_denial(observe: Any) -> None:
    assert findings(observe("triplets", "worse than without loss spikes")) == {"loss.spikes": "present"}


@pytest.mark.parametrize("raw", [True, "yes", 1, "1", "true"])
def test_a_truth_is_the_same_in_all_its_spellings(small_vocabulary: Vocabulary, raw: object) -> None:
    readings = read_facts({"run.packing": raw}, small_vocabulary)
    assert facts(readings) == {"run.packing": True}, readings.not_understood
