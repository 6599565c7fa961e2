"""Trials, comparisons and invariances."""

from __future__ import annotations

import pytest

from engine.evidence.comparisons import differing
from engine.evidence.text import TextReader
from engine.model.evidence import FindingReading


def read(reader: TextReader, text: str) -> dict[str, str]:
    readings, _ = reader.read(text)
    return {reading.finding: reading.state for reading in readings if isinstance(reading, FindingReading)}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Changing the learning rate fixed it.", "responds(lr)"),
        ("Lowering the learning rate helped.", "responds(lr)"),
        ("The problem goes away with another seed", "responds(seed)"),
        ("Switching the template solves it", "responds(template)"),
        ("When I set num_workers=0 everything is fine.", "responds(workers)"),
        ("设置 NCCL_P2P_DISABLE=1 之后可以跑。", "responds(p2p)"),
        ("换成default模板反而正常很多。", "responds(template)"),
        ("换了模板就好了", "responds(template)"),
    ],
)
def test_what_cured_it(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "present"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Learning rates were already varied.", "responds(lr)"),
        ("Tried a lower learning rate, no effect.", "responds(lr)"),
        ("Tried another template but it did not help.", "responds(template)"),
        ("Setting num_workers to 1 did not help, raising the file limit did not either.", "responds(workers)"),
        ("raising num_workers from 1 to 16 has no effect on it", "responds(workers)"),
        ("We tried three seeds and two learning rates without success.", "responds(lr)"),
        ("Reshuffling with a new seed and restarting made it fail even sooner.", "responds(seed)"),
        ("Even with a smaller learning rate the loss is still NaN.", "responds(lr)"),
        ("Changing the template did not fix it", "responds(template)"),
        ("换了学习率没用", "responds(lr)"),
        ("换了三个学习率都不行", "responds(lr)"),
        ("调低学习率之后loss还是NaN", "responds(lr)"),
        ("试过换模板，没有效果", "responds(template)"),
    ],
)
def test_what_did_nothing(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "absent"


@pytest.mark.parametrize(
    "text",
    [
        "The learning rate is 1e-4.",
        "Should we lower the learning rate?",
        "Maybe another seed would have fixed it",
        "We set the seed to 4",
        "no restart, the template is normal",
        "Is it fixed by another template?",
    ],
)
def test_no_trial(reader: TextReader, text: str) -> None:
    assert not {finding for finding in read(reader, text) if finding.startswith("responds")}


def test_a_failed_trial_leaves_the_symptom(reader: TextReader) -> None:
    found = read(reader, "Even with a smaller learning rate the loss is still NaN.")
    assert found == {"responds(lr)": "absent", "loss.nan": "present"}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Single GPU is fine, 8 GPUs hang.", "contrast(ranks)"),
        ("Single GPU is fine but 8 GPUs are worse.", "contrast(ranks)"),
        ("It works on one GPU", "contrast(ranks)"),
        ("It gets worse than single GPU", "contrast(ranks)"),
        ("On one GPU the results are reasonable, on several GPUs it goes down much slower", "contrast(ranks)"),
        ("In fp32 the same data runs through.", "contrast(precision)"),
        ("We use fp16; fp32 is fine.", "contrast(precision)"),
        ("It happens only in fp16.", "contrast(precision)"),
        ("The older version works.", "contrast(version)"),
        ("ZeRO-2 正常，ZeRO-3 卡住", "contrast(sharding)"),
        ("单卡正常，多卡卡住", "contrast(ranks)"),
        ("只在fp16出现", "contrast(precision)"),
    ],
)
def test_works_one_way_and_fails_another(reader: TextReader, text: str, finding: str) -> None:
    assert read(reader, text).get(finding) == "present"


@pytest.mark.parametrize("text", ["Both single GPU and 8 GPUs hang.", "单卡也卡住", "A single GPU hangs too"])
def test_fails_both_ways(reader: TextReader, text: str) -> None:
    assert read(reader, text).get("contrast(ranks)") == "absent"


@pytest.mark.parametrize(
    "text", ["We train on 8 GPUs in fp16.", "Is fp32 fine?", "I think one gpu works", "8 GPUs hang", "多卡训练都会卡住"]
)
def test_no_comparison(reader: TextReader, text: str) -> None:
    assert not {finding for finding in read(reader, text) if finding.startswith("contrast")}


def test_the_good_side_is_no_context_of_the_failing_run(reader: TextReader) -> None:
    found = read(reader, "We use fp16; fp32 is fine.")
    assert found["context.fp16"] == "present"
    assert "context.fp32" not in found
    assert read(reader, "Single GPU is fine, 8 GPUs hang.")["normal.single-gpu"] == "present"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("the code is unchanged", "present"),
        ("with the same code", "present"),
        ("We did not change anything; code not changed", "present"),
        ("代码没有改，只是卡少", "present"),
        ("not the same code", "absent"),
        ("the code crashes", None),
    ],
)
def test_what_stayed_the_same(reader: TextReader, text: str, state: str | None) -> None:
    assert read(reader, text).get("unchanged(code)") == state


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("weights equal on all ranks", "weights differ on all ranks"),
        ("same vectors", "differ vectors"),
        ("outputs match", "outputs differ"),
        ("各卡权重一致", "各卡权重不一致"),
        ("loss is nan", None),
        ("matching rules", None),
    ],
)
def test_a_denied_sameness_is_a_difference(name: str, other: str | None) -> None:
    assert differing(name) == other
