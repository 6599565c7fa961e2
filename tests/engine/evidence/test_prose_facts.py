"""Settings named in prose."""

from __future__ import annotations

import pytest

from engine.evidence.text import TextReader
from engine.model.evidence import FactReading


def read(reader: TextReader, text: str) -> dict[str, object]:
    readings, _ = reader.read(text)
    return {reading.fact: reading.value for reading in readings if isinstance(reading, FactReading)}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("lr 3e-4", {"lr.last": 3e-4}),
        ("a learning rate of 2e-5", {"lr.last": 2e-5}),
        ("learning_rate = 1e-4", {"lr.last": 1e-4}),
        ("lr: 1e-4", {"lr.last": 1e-4}),
        ("lr was set to 1e-4", {"lr.last": 1e-4}),
        ("micro batch 4", {"batch.micro": 4.0}),
        ("training on 8 GPUs", {"parallel.world_size": 8.0}),
        ("the 384-GPU run", {"parallel.world_size": 384.0}),
        ("on 64 nodes", {"parallel.nodes": 64.0}),
        ("用了 8 张卡", {"parallel.world_size": 8.0}),
        ("用了八张卡", {"parallel.world_size": 8.0}),
        ("4 个节点", {"parallel.nodes": 4.0}),
        ("学习率为 1e-4", {"lr.last": 1e-4}),
        ("a 7B model", {"model.parameters": 7e9}),
        ("Qwen2.5-7B", {"model.parameters": 7e9}),
        ("sequence length 8192", {"batch.sequence_length": 8192.0}),
        ("step time is 2 min", {"step_time.mean": 120.0}),
        ("GPU util 35%", {"gpu.utilisation": 0.35}),
        ("GPU util is 35 %", {"gpu.utilisation": 0.35}),
        ("we train in fp16", {"run.precision": "fp16"}),
        ("半精度训练", {"run.precision": "fp16"}),
        ("with ZeRO-3", {"parallel.sharding": "zero3"}),
        ("using AdamW", {"optimizer.name": "adamw"}),
        ("loss_reduction is mean", {"loss.reduction": "mean"}),
        ("param dtype bf16", {"optimizer.param_dtype": "bf16"}),
        ("fp32 is fine, fp16 gives NaN", {"run.precision": "fp16"}),
        ("ZeRO-2 正常，ZeRO-3 卡住", {"parallel.sharding": "zero3"}),
    ],
)
def test_a_setting_is_read(reader: TextReader, text: str, facts: dict[str, object]) -> None:
    assert read(reader, text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "the loss after 300 steps",
        "the mean of the loss",
        "trained on 300B tokens",
        "8 GPUs per node",
        "每节点 8 卡",
        "8，卡住",
        "有一张卡",
        "no fp16",
        "we tried lr 1e-5",
        "maybe lr 1e-5",
        "with lr 1e-5 it works",
        "fp16 helped",
        "is it the lr 1e-5?",
        "lr -3",
    ],
)
def test_no_setting_of_the_failing_run(reader: TextReader, text: str) -> None:
    assert read(reader, text) == {}


def test_a_bare_batch_size_is_asked_about(reader: TextReader) -> None:
    for text in ("batch size 32", "batch_size=32", "批大小 32"):
        readings, unclear = reader.read(text)
        assert not readings
        assert "batch.micro or batch.global" in unclear[0].why
        assert unclear[0].text


def test_several_values_are_none(reader: TextReader) -> None:
    readings, unclear = reader.read("It ran with lr 3e-4. Later lr 1e-4.")
    assert not readings
    assert "several values" in unclear[0].why


def test_a_setting_repeated_counts_once(reader: TextReader) -> None:
    readings, unclear = reader.read("lr 3e-4, as said: lr 3e-4")
    assert len(readings) == 1
    assert not unclear
    assert readings[0].source.quote == "lr 3e-4"
