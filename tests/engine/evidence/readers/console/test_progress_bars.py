from __future__ import annotations

import math

from engine.evidence.readers import read


def test_keras_keeps_the_last_drawing_of_an_epoch(column):
    text = ""
    for epoch in (1, 2, 3):
        text += f"Epoch {epoch}/5\n"
        frames = [f" {done}/100 [==>...] - ETA: 2s - loss: {9 - done / 100:.4f} - accuracy: 0.5" for done in (10, 50)]
        text += "\r".join(
            [*frames, f"100/100 [====] - 3s 30ms/step - loss: {1 / epoch:.4f} - val_loss: {2 / epoch:.4f}"]
        )
        text += "\n"
    record = read(text.encode())
    assert record.read.format == "keras"
    assert column(record, "loss") == [(100, 1), (200, 0.5), (300, 0.3333)]
    assert column(record, "eval_loss") == [(100, 2), (200, 1), (300, 0.6667)]
    assert column(record, "step_time") == [(100, 0.03), (200, 0.03), (300, 0.03)]
    assert record.config["num_train_epochs"] == 5


def test_keras_three_and_where_it_broke(column):
    def frame(done: int, loss: str) -> str:
        return f"\x1b[1m{done}/100\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━\x1b[0m \x1b[1m2s\x1b[0m 3ms/step - loss: {loss}"

    text = f"Epoch 1/2\n{frame(100, '0.5')}\nEpoch 2/2\n" + "\r".join(
        [frame(40, "0.4"), frame(41, "nan"), frame(42, "nan"), frame(100, "nan")]
    )
    loss = column(read(text.encode()), "loss")
    assert [step for step, _ in loss] == [100, 141, 200]
    assert math.isnan(loss[1][1])


def test_lightning_counts_on_over_epochs(column):
    text = "".join(
        f"\rEpoch {epoch}:  12%|█▏        | {done}/1000 [00:10<01:20, 11.00it/s, v_num=0, train_loss={epoch}.50]"
        for epoch in (0, 1)
        for done in (120, 999)
    )
    record = read(text.encode())
    assert record.read.format == "progress_bar"
    assert column(record, "loss") == [(120, 0.5), (999, 0.5), (1120, 1.5), (1999, 1.5)]
    assert "v_num" not in {one.name for one in record.series}


def test_loops_with_a_postfix_and_plain_bars(column):
    text = (
        " 10%|█         | 10/100 [00:10<01:20,  1.10it/s, loss=2.31]\n"
        " 20%|██        | 20/100 [00:20<01:10,  1.10it/s, loss=nan]\n"
        "Downloading: 100%|██████████| 5/5 [00:01<00:00,  5.00it/s]\n"
    )
    record = read(text.encode())
    assert column(record, "loss")[0] == (10, 2.31)
    assert math.isnan(column(record, "loss")[1][1])
    assert record.config["max_steps"] == 100
