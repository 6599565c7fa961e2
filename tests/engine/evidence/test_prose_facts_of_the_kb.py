"""Settings named in prose, read with the facts of the real knowledge base."""

from __future__ import annotations

import pytest

from engine.evidence.text import TextReader
from engine.model.evidence import FactReading


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("the loss starts at 87", "loss.first", 87.0),
        ("it starts at loss 87", "loss.first", 87.0),
        ("第一步 loss 就是 87", "loss.first", 87.0),
        ("loss 初始为 10.8", "loss.first", 10.8),
        ("loss 87", "loss.last", 87.0),
        ("we clip at 1.0", "clip.max_norm", 1.0),
        ("gradients are clipped at 0.5", "clip.max_norm", 0.5),
        ("梯度裁剪 1.0", "clip.max_norm", 1.0),
        ("梯度裁剪阈值设为 0.5", "clip.max_norm", 0.5),
        ("2000 warm-up steps", "lr.warmup_steps", 2000.0),
        ("with a warm-up of 2000 steps", "lr.warmup_steps", 2000.0),
        ("warmup ratio 3 %", "lr.warmup_share", 0.03),
        ("预热 500 步", "lr.warmup_steps", 500.0),
        ("用了 500 步预热", "lr.warmup_steps", 500.0),
        ("data wait is 40 %", "dataloader.share", 0.4),
        ("GPU utilization sits around 25 percent", "gpu.util_mean", 0.25),
    ],
)
def test_a_setting_is_read(real_reader: TextReader, text: str, fact: str, value: float) -> None:
    readings, _ = real_reader.read(text)
    assert {one.fact: one.value for one in readings if isinstance(one, FactReading)} == {fact: value}


@pytest.mark.parametrize(
    "text", ["the warmup should be 2000 steps", "we tried to clip at 1.0", "maybe warmup of 300 steps"]
)
def test_what_is_only_wished_is_no_setting(real_reader: TextReader, text: str) -> None:
    readings, _ = real_reader.read(text)
    assert [one for one in readings if isinstance(one, FactReading)] == []
