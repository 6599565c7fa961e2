from __future__ import annotations

import math

import pytest

from engine.evidence.readers import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step {0} | loss {1} | lr 3e-4 | grad_norm 0.8", [10, 20]),
        ("step={0} loss={1}", [10, 20]),
        ("[{0}/5000] loss: {1}", [10, 20]),
        ("2024-05-01 12:00:0{2},123 - INFO - train - step {0} loss {1} lr 1e-4", [10, 20]),
        ("INFO:root:iter: {0}, loss: {1}, time: 12.5ms", [10, 20]),
        ("[rank0]: [12:00:0{2}] Iteration {0}/100, train loss: {1}, tokens/s: 1,200", [10, 20]),
        (
            "| INFO | train_inner | epoch 001: {0} / 99 loss={1}, wps=20000, num_updates={0}, lr=1e-05, gnorm=2.1",
            [10, 20],
        ),
        ("Epoch {2}/9 - Train Loss: {1} - Val Loss: 0.6", [1, 2]),
        ("Epoch [1/9], Step [{0}/600], Loss: {1}", [10, 20]),
        ("Train Epoch: 1 [{0}/60000 (1%)]\tLoss: {1}", [10, 20]),
    ],
)
def test_home_made_lines(column, text, expected):
    lines = [text.format(10 * at, 2.25 - at, at) for at in (1, 2)]
    record = read("\n".join(lines).encode())
    assert record.read.format == "key_values"
    assert column(record, "loss") == [(expected[0], 1.25), (expected[1], 0.25)]


@pytest.mark.parametrize(
    "text",
    [
        "loss 2.3 at step 100 is odd",
        "we saw loss 2.3, lr 1e-4 at step 100 in the run of yesterday",
        "Best val loss: 2.3",
        "Rank 3: loss is nan",
        "12:00:05 worker 3 finished step 12 in 5 s",
        "loss: 2.31",
        "step 10",
        "config: lr=1e-4 warmup=100 seed=42",
    ],
)
def test_sentences_and_values_without_a_step_are_not_read(text):
    record = read(f"{text}\n".encode() * 3)
    assert record.series == ()
    assert record.events[0].text == text


def test_values_belong_to_the_epoch_that_stands_above(column):
    text = "".join(
        f"Epoch: {epoch}/30\nTime Taken: 30.12s - LR: 9.14e-05\nTrain Loss: {epoch}.5 - Train Perplexity: 1,213.23\n"
        f"Valid Loss: {epoch}.75\n--------\n"
        for epoch in (1, 2, 3)
    )
    record = read(text.encode())
    assert column(record, "loss") == [(1, 1.5), (2, 2.5), (3, 3.5)]
    assert column(record, "eval_loss")[2] == (3, 3.75)
    assert column(record, "learning_rate")[0] == (1, 9.14e-5)
    assert record.config["num_train_epochs"] == 30


def test_nan_inf_and_restarts(column):
    steps = [*range(10, 100, 10), *range(10, 40, 10)]
    losses = ["nan" if step == 90 else "inf" if step == 80 else "2.5" for step in steps]
    text = "\n".join(f"step: {step} loss: {loss} grad_norm: 1.0" for step, loss in zip(steps, losses, strict=True))
    record = read(text.encode())
    values = dict(column(record, "loss")[:9])
    assert math.isinf(values[80])
    assert math.isnan(values[90])
    assert [part.reason for part in record.segments] == ["start", "restarted"]


def test_it_adds_nothing_to_what_a_known_tool_has_said(megatron_line, column):
    lines = [megatron_line(10), "step 10 | loss 9.0 | lr 1e-4 | accuracy 0.5", megatron_line(20)]
    record = read("\n".join(lines).encode())
    assert column(record, "loss") == [(10, 2.5), (20, 2.5)]
    assert column(record, "accuracy") == [(10, 0.5)]


def test_steps_that_start_anew_with_the_epoch_are_counted_on(column):
    text = "".join(
        f"Epoch [{epoch}/9], Step [{step}/600], Loss: {epoch}.5\n" for epoch in (1, 2) for step in (100, 600)
    )
    record = read(text.encode())
    assert [step for step, _ in column(record, "loss")] == [100, 600, 700, 1200]
    assert "max_steps" not in record.config
