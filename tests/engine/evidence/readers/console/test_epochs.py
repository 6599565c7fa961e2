"""Home-made logs of epochs: the time of an epoch, losses named by their side, and lines that only look like them."""

from __future__ import annotations

import pytest

from engine.evidence.readers import read


def lines(text: str, count: int = 4) -> bytes:
    return "".join(text.format(at, 6 - at, 30 + at % 2) for at in range(1, count + 1)).encode()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Epoch: {0}/30\nTime Taken: {2}.5s - LR: 1e-4\nTrain Loss: {1}.9 - Valid Loss: 5.8\n-----\n", [31.5, 30.5]),
        ("Epoch {0} | train {1}.2 | val 1.4 | {2}.1 s\n", [31.1, 30.1]),
        ("Epoch: 0{0} | Epoch Time: 2m {2}s\n\tTrain Loss: {1}.651 | Train PPL: 9.1\n\t Val. Loss: 0.6\n", [151, 150]),
        ("Epoch {0}/9 - loss: {1}.3 - took 1h 0m {2}s\n", [3631, 3630]),
        ("[epoch {0}] train_loss={1}.5 val_loss=0.5 duration: {2} sec\n", [31, 30]),
    ],
)
def test_the_time_of_an_epoch_is_its_step_time(column, text, seconds):
    record = read(lines(text))
    assert column(record, "step_time")[:2] == [(1, seconds[0]), (2, seconds[1])]
    assert [int(value) for _, value in column(record, "loss")] == [5, 4, 3, 2]


def test_sides_are_losses_and_the_plan_is_kept(column):
    record = read(lines("Epoch {0}/30 | train {1}.2 | acc 0.5 | val 1.4\n"))
    assert column(record, "loss")[0] == (1, 5.2)
    assert column(record, "eval_loss")[3] == (4, 1.4)
    assert record.config["num_train_epochs"] == 30


@pytest.mark.parametrize(
    "text",
    [
        "Epoch {0}/9 - loss: {1}.3 - time: {0}30s\n",  # the time since the start
        "step {0} | loss {1}.3 | time 30.1s\n",  # the time of something, in a log that has steps
        "Epoch {0}/9 - loss: {1}.3 - time: 3010ms\n",
    ],
)
def test_other_times_are_none_of_epochs(text):
    record = read(lines(text, 6))
    assert "step_time" not in {one.name for one in record.series}
    assert "loss" in {one.name for one in record.series}


@pytest.mark.parametrize(
    "text",
    [
        "saving the checkpoint took 3 s\n",
        "epoch {0} train 2 workers, val 4 workers\n",
        "epoch {0}: train 80%, val 20%\n",
        "time {0} s\n",
    ],
)
def test_lines_that_are_no_records(text):
    assert read(lines(text)).series == ()
