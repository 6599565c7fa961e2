"""The reader with the real knowledge base: words that must be understood in both languages."""

from __future__ import annotations

import pytest

from engine.evidence.configuration import read_config
from engine.evidence.normalise import read_observations
from engine.evidence.text import TextReader
from engine.evidence.vocabulary import Vocabulary
from engine.model.case import Observation
from engine.model.evidence import FindingReading


@pytest.fixture(scope="module")
def vocabulary(real_vocabulary: Vocabulary) -> Vocabulary:
    return real_vocabulary


@pytest.fixture(scope="module")
def reader(real_reader: TextReader) -> TextReader:
    return real_reader


@pytest.mark.parametrize(
    ("en", "zh", "finding", "state"),
    [
        ("The loss becomes NaN.", "损失变成NaN。", "loss.nan", "present"),
        ("No NaN in the loss.", "损失没有出现NaN。", "loss.nan", "absent"),
        ("The model never stops generating.", "模型停不下来。", "output.never-stops", "present"),
        ("The training loss looks normal.", "训练损失正常。", "normal.loss", "present"),
        ("Single GPU is fine, 8 GPUs hang.", "单卡正常，8卡卡住。", "contrast(ranks)", "present"),
        ("Single GPU is fine, 8 GPUs hang.", "单卡正常，8卡卡住。", "normal.single-gpu", "present"),
        ("Changed the learning rate, no effect.", "换了学习率，没用。", "responds(lr)", "absent"),
        ("Lowering the learning rate fixed it.", "调低学习率就好了。", "responds(lr)", "present"),
        ("The loss spikes.", "损失出现尖峰。", "loss.spike", "present"),
    ],
)
def test_both_languages_reach_the_finding(reader: TextReader, en: str, zh: str, finding: str, state: str) -> None:
    for text in (en, zh):
        readings, _ = reader.read(text)
        states = {reading.finding: reading.state for reading in readings if isinstance(reading, FindingReading)}
        assert states.get(finding) == state, text


@pytest.mark.parametrize(
    ("name", "value", "fact", "read"),
    [
        ("per_device_train_batch_size", 4, "batch.micro", 4.0),
        ("precision", "fp16 (O1)", "run.precision", "fp16"),
        ("zero_stage", 3, "parallel.sharding", "zero3"),
        ("lm_loss", 2.46, "loss.last", 2.46),
        ("lm_loss", "nan", "loss.nan", True),
    ],
)
def test_names_of_the_field(
    vocabulary: Vocabulary, reader: TextReader, name: str, value: object, fact: str, read: object
) -> None:
    readings = read_observations([Observation(name=name, value=value)], vocabulary, reader)
    assert [(reading.fact, reading.value) for reading in readings.facts] == [(fact, read)]


def test_a_bare_batch_size_is_never_guessed(vocabulary: Vocabulary, reader: TextReader) -> None:
    readings = read_observations([Observation(name="batch_size", value=32)], vocabulary, reader)
    assert not readings.facts
    assert "ambiguous" in readings.not_understood[0].why


def test_a_model_configuration(vocabulary: Vocabulary) -> None:
    content = {"hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 32000, "torch_dtype": "bfloat16"}
    readings = read_config("config.json", content, vocabulary)
    found = {reading.fact: reading.value for reading in readings.facts}
    assert found["model.hidden_size"] == 4096.0
    assert found["run.precision"] == "bf16"
