from __future__ import annotations

import pytest

from engine.evidence.readers import read


@pytest.mark.parametrize("prefix", ["", "0: "])
def test_blocks(column, prefix):
    text = ""
    for step in (1, 10, 20):
        values = {
            "time/batch": step - 1,
            "loss/train/total": 0.0053,
            "metrics/train/LanguageCrossEntropy": f"{step}.5",
            "lr-DecoupledAdamW/group0": "0.0000",
            "memory/alloc_retries": step,
            "pictures": "<wandb.Image object at 0x71>",
        }
        text += f"{prefix}[batch={step}/20]:\n"
        text += "".join(f"{prefix}\t Train {name}: {value}\n" for name, value in values.items())
    text += f"{prefix}\t Eval metrics/eval/LanguageCrossEntropy: 3.25\n"
    record = read(text.encode())
    assert record.read.format == "composer"
    assert column(record, "loss") == [(1, 1.5), (10, 10.5), (20, 20.5)]
    assert column(record, "alloc_retries") == [(1, 1), (10, 10), (20, 20)]
    assert column(record, "eval_loss") == [(20, 3.25)]
    assert record.config["max_steps"] == 20
    names = {one.name for one in record.series}
    assert "learning_rate" not in names  # 0.0000 of four decimals says nothing
    assert not any(name.startswith("time/") for name in names)


def test_the_total_is_the_loss_where_there_is_no_other(column):
    text = "".join(f"[epoch=0][batch={step}/9]:\n         Train loss/train/total: {step}.25\n" for step in (1, 2))
    assert column(read(text.encode()), "loss") == [(1, 1.25), (2, 2.25)]
