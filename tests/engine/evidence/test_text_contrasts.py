"""Contrasts, subjects, and rises and falls that only the numbers tell."""

from __future__ import annotations

import pytest

from engine.evidence.text import TextReader
from engine.model.evidence import FindingReading


def read(reader: TextReader, text: str) -> dict[str, str]:
    readings, _ = reader.read(text)
    return {reading.finding: reading.state for reading in readings if isinstance(reading, FindingReading)}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("损失却不下降", "loss.stuck"),
        ("损失却一直上升", "loss.rises"),
        ("单卡正常，损失却一直上升", "loss.rises"),
        ("The loss, although still small, rises.", "loss.rises"),
        ("Although there is no NaN, the loss rises.", "loss.rises"),
        ("虽然没有 NaN，损失一直上升", "loss.rises"),
        ("The loss falls at first but never rests and rises.", "loss.rises"),
        ("损失先下降，但又上升", "loss.rises"),
    ],
)
def test_a_contrast_keeps_subject_and_predicate_together(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "present"


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("While the loss is fine, the critic loss rises.", "loss.rises"),
        ("The loss is fine and the critic loss rises.", "loss.rises"),
        ("The critic loss rises first, then the loss is read.", "loss.rises"),
        ("虽然损失正常，价值损失上升", "loss.rises"),
    ],
)
def test_what_is_said_of_one_subject_is_not_said_of_another(reader: TextReader, text: str, absent: str) -> None:
    found = read(reader, text)
    assert found.get("critic.rises") == "present"
    assert found.get(absent) != "present"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("the loss went from 2.3 to 8.1", "loss.rises"),
        ("the loss went from about 8.1 to 2.3", "loss.falls"),
        ("loss 2.3 -> 8.1", "loss.rises"),
        ("损失从 2.3 到 8.1", "loss.rises"),
        ("损失由 8.1 变成 2.3", "loss.falls"),
        ("the loss went from 90 % to 0.3", "loss.falls"),
    ],
)
def test_the_numbers_tell_the_direction(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text) == {finding: "present"}


@pytest.mark.parametrize(
    "text",
    [
        "the loss was read from 100 to 200 steps",
        "the loss stayed from 3 to 3",
        "the loss was seen from 9 am to 11 am",
        "the loss from 2 GB to 3 s",
        "损失从 100 步到 200 步",
        "from",
        "loss from 2 to",
    ],
)
def test_places_and_unlike_things_have_no_direction(reader: TextReader, text: str) -> None:
    assert read(reader, text) == {}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("the losses stay finite", "absent"),
        ("losses stay finite, and the loss is NaN", "present"),
    ],
)
def test_a_denial_of_its_own_takes_only_its_own_words(reader: TextReader, text: str, state: str) -> None:
    assert read(reader, text).get("loss.nan") == state
