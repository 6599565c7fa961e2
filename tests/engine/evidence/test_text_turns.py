"""Losses that fall first and then rise, and predicates that keep to the subject of their own half sentence."""

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
        "验证集损失先降后升",
        "验证损失先下降后上升",
        "验证集损失降了一阵又开始涨",
        "验证损失在前两轮下降，第三轮之后逐渐上升",
        "验证loss触底反弹",
        "val loss falls first, then rises",
        "validation loss first decreases and then increases",
        "the eval loss goes down and then up",
        "eval loss went down for 2 epochs, then started climbing",
        "eval loss was falling until step 800, and then rose",
        "eval loss falls at first but rises after epoch 2",
        "eval loss fell from 2.1 to 1.8 and then rose to 2.4",
        "The validation loss decreases for three epochs before rising again.",
        "validation loss has a U shape",
    ],
)
def test_an_evaluation_loss_that_turns_rises(real_reader: TextReader, text: str) -> None:
    found = read(real_reader, text)
    assert found["eval-loss.rises"] == "present"
    assert "normal.validation-loss" not in found
    assert "loss.rises-after-good-start" not in found


@pytest.mark.parametrize("text", ["loss先降后升", "the training loss falls first and then rises", "损失先下降后上升"])
def test_a_training_loss_that_turns_is_no_evaluation_loss(real_reader: TextReader, text: str) -> None:
    found = read(real_reader, text)
    assert found["loss.rises-after-good-start"] == "present"
    assert "eval-loss.rises" not in found
    assert "loss.falls" not in found


@pytest.mark.parametrize(
    "text",
    [
        "both train and validation loss fall first and then rise",
        "训练损失先降后升，验证损失也先降后升",
        "训练和验证损失都先降后升",
    ],
)
def test_where_both_losses_turn_the_evaluation_does_not_part_from_the_training(
    real_reader: TextReader, text: str
) -> None:
    assert read(real_reader, text).get("eval-loss.rises") != "present"


@pytest.mark.parametrize(
    "text",
    [
        "train loss falls, eval loss rises",
        "the train loss falls and the eval loss rises",
        "train loss falls as eval loss rises",
        "eval loss rises while train loss falls",
        "Training loss keeps falling while the validation loss goes up.",
        "训练损失下降，验证损失上升",
        "训练损失下降验证损失上升",
        "训练损失持续下降但验证损失上升",
    ],
)
def test_each_loss_goes_its_own_way(real_reader: TextReader, text: str) -> None:
    found = read(real_reader, text)
    assert (found["loss.falls"], found["eval-loss.rises"]) == ("present", "present")
    assert not {"normal.validation-loss", "loss.diverges"} & found.keys()


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("the loss drops and the grad norm rises", {"loss.falls", "grad.norm-explodes"}),
        ("the loss falls, then the memory grows", {"loss.falls", "memory.grows-each-step"}),
    ],
)
def test_what_another_thing_does_afterwards_turns_no_loss(
    real_reader: TextReader, text: str, findings: set[str]
) -> None:
    assert read(real_reader, text) == dict.fromkeys(findings, "present")


def test_a_throughput_that_falls_and_rises_has_fallen(real_reader: TextReader) -> None:
    assert read(real_reader, "the throughput drops and then rises again").get("step.sudden-slowdown") == "present"


@pytest.mark.parametrize("text", ["训练卡死，没报错，显卡 0%，nvidia-smi 正常", "It hangs, ping works, login is fine."])
def test_a_verdict_on_the_second_half_denies_nothing_of_the_first(real_reader: TextReader, text: str) -> None:
    found = read(real_reader, text)
    assert found.get("hang.no-progress") == "present"
    assert found.get("node.pings-but-no-login") != "absent"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("reward rises from 0.2 to 0.55, response length stable around 600 tokens", "rl.answers-lengthen"),
        ("step time is constant at 1.2 s, loss goes down", "loss.stuck"),
    ],
)
def test_a_state_belongs_to_the_subject_of_its_clause(real_reader: TextReader, text: str, wrong: str) -> None:
    assert read(real_reader, text).get(wrong) != "present"
