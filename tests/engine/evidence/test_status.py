"""Wishes, conditions, inability and what is over, in English and Chinese."""

from __future__ import annotations

import pytest

from engine.evidence.text import TextReader
from engine.model.evidence import FindingReading


def read(reader: TextReader, text: str) -> dict[str, str]:
    readings, _ = reader.read(text)
    return {reading.finding: reading.state for reading in readings if isinstance(reading, FindingReading)}


@pytest.mark.parametrize(
    "text",
    [
        "if the loss is NaN we stop",
        "If the loss is NaN, the job ends",
        "如果损失变成 NaN，任务会停",
        "to avoid NaN we use bf16",
        "为了避免 NaN 我们用 bf16",
        "we are afraid that the loss is NaN",
        "担心损失变成 NaN",
        "how do I check whether the loss is NaN",
        "怎么判断损失是不是 NaN",
        "the loss should never be NaN",
        "The NaN was fixed long before this run.",
        "NaN 已经解决了",
        "It used to be NaN",
        "Last year the loss was NaN, it was repaired and fixed",
    ],
)
def test_no_event(reader: TextReader, text: str) -> None:
    assert read(reader, text).get("loss.nan") != "present"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("we cannot resume: the loss is NaN", "loss.nan"),
        ("It cannot train, OOM", "oom"),
        ("not even one step: OOM", "oom"),
        ("连一步都不能跑，爆显存", "oom"),
        ("the loss that should fall is NaN", "loss.nan"),
        ("the loss is NaN if we use fp16", "loss.nan"),
        ("Lowering the learning rate fixed the NaN", "loss.nan"),
        ("The NaN was fixed by a lower learning rate", "loss.nan"),
        ("the loss is not low but NaN", "loss.nan"),
        ("loss 没有变低，出现 NaN", "loss.nan"),
    ],
)
def test_an_event(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "present"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Neither the loss nor the critic loss rises", "loss.rises"),
        ("no hang, and no NaN", "hang"),
        ("no hang, and no NaN", "loss.nan"),
        ("没有卡住，也没有出现 NaN", "loss.nan"),
        ("I cannot see any NaN", "loss.nan"),
        ("loss 没有变成 NaN", "loss.nan"),
        ("the loss has not changed to NaN", "loss.nan"),
        ("NaN 一次都没有", "loss.nan"),
        ("没用半精度", "context.fp16"),
    ],
)
def test_each_clause_has_its_own_denial(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "absent"


@pytest.mark.parametrize(
    "text", ["Until step 300, the loss was fine.", "三百步之前，损失正常。", "Before step 300 the loss was fine"]
)
def test_what_was_fine_once_is_no_news(reader: TextReader, text: str) -> None:
    assert "normal.loss" not in read(reader, text)


@pytest.mark.parametrize("text", ["the loss cannot be called normal", "损失不能算正常", "the loss is not even normal"])
def test_what_cannot_be_is_not_normal(reader: TextReader, text: str) -> None:
    assert read(reader, text).get("normal.loss") != "present"
