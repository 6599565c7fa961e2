from __future__ import annotations

import json
import math

import pytest

from engine.evidence.readers import read, sniff

TRAIN = [
    {"loss": 2.0 - step / 100, "grad_norm": 0.5, "learning_rate": 1e-5, "epoch": step / 50, "step": step}
    for step in (10, 20, 30)
]


def state(history: list[dict[str, object]], **head: object) -> bytes:
    return json.dumps(
        {"global_step": 30, "max_steps": 100, "train_batch_size": 4, **head, "log_history": history}, indent=1
    ).encode()


def test_train_and_evaluation_rows(column):
    history = [
        {"eval_loss": 2.5, "eval_runtime": 1.0, "step": 5},
        *TRAIN,
        {"eval_loss": 1.9, "eval_accuracy": 0.7, "step": 30},
    ]
    record = read(state(history), "trainer_state.json")
    assert record.read.format == "trainer_state"
    assert column(record, "loss") == [(10, 1.9), (20, 1.8), (30, 1.7)]
    assert column(record, "eval_loss") == [(5, 2.5), (30, 1.9)]
    assert column(record, "eval_accuracy") == [(30, 0.7)]
    assert record.config["train_batch_size"] == 4
    assert record.end.kind == "unknown"
    loss = next(one for one in record.series if one.name == "loss")
    assert loss.source(0).where == "trainer_state.json, step 10"


def test_bare_nan_and_infinity(column):
    record = read(state([{"loss": float("nan"), "grad_norm": float("inf"), "step": 1}]))
    assert math.isnan(column(record, "loss")[0][1])
    assert math.isinf(column(record, "grad_norm")[0][1])


def test_summary_and_prediction_records():
    history = [*TRAIN, {"predict_loss": 1.0}, {"train_loss": 1.8, "train_runtime": 60.0, "step": 30}]
    record = read(state(history))
    assert record.end.kind == "finished"
    assert record.config["train_runtime"] == 60.0
    assert "predict_loss" not in {one.name for one in record.series}
    assert read(state(TRAIN, max_steps=30)).end.kind == "finished"


@pytest.mark.parametrize("key", ["training_history", "log_history"])
def test_exports_of_the_history(key, column):
    text = json.dumps({"training_loss": 0.0, key: TRAIN}).encode()
    assert sniff(text) == "trainer_state"
    assert len(column(read(text), "loss")) == 3
    assert len(column(read(json.dumps(TRAIN).encode()), "loss")) == 3


def test_file_that_was_cut_gives_the_records_before_the_cut(column):
    text = state(TRAIN)
    record = read(text[: text.rindex(b'"learning_rate"')])
    assert column(record, "loss") == [(10, 1.9), (20, 1.8)]
    assert any("cut short" in why for why in record.not_understood)


def test_hostile_json():
    deep = read(b'{"log_history": ' + b"[" * 200_000)
    assert deep.series == ()
    assert deep.not_understood
    wide = read(b'{"log_history": [{"loss": ' + b"9" * 5000 + b', "step": 1}]}')
    assert wide.not_understood or wide.series
    odd = read(b'{"log_history": [1, null, {"loss": {"a": 1}, "step": "x"}, {"loss": true, "step": 1}]}')
    assert odd.series == ()
    assert "no log history" in read(b'{"log_history": 5}').not_understood[0]


def test_history_over_many_pieces_of_the_stream(column):
    rows = [{"loss": 1.0 / step, "grad_norm": 0.5, "epoch": step / 100, "step": step} for step in range(1, 30_000)]
    text = state(
        [*rows, {"predict_loss": 1.0}, {"train_loss": 7.0, "train_runtime": 60.0, "step": 30_000}], max_steps=5
    )
    assert len(text) > 2 << 20
    record = read(text)
    assert column(record, "loss") == [(row["step"], row["loss"]) for row in rows]
    assert record.config["max_steps"] == 5
    assert record.config["train_runtime"] == 60.0
    assert "train_loss" not in record.config
    assert record.not_understood == ()
    middle = text.index(b'"step": 15000')
    damaged = read(text[:middle] + b"}" + text[middle:])
    assert 0 < len(column(damaged, "loss")) < 15_000
    assert any("damaged" in why for why in damaged.not_understood)


def test_no_array_is_read_for_ever():
    record = read(b'{"log_history": [{"loss": 1.0, "step": 1}, {"a": "' + b"x" * (3 << 20))
    assert len(record.series) == 1
    assert any("damaged" in why for why in record.not_understood)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("other", [math.nan, "1.5", None, "a text, with {marks}: all of them"])
def test_records_of_nothing_but_numbers_agree_with_others(indent, other):
    rows = [{"epoch": 0.1 * step, "loss": 1 / step, "step": step} for step in range(1, 50)]
    rows[30:30] = [{"eval_loss": 0.125, "step": 30}, {"epoch": 0.5, "step_of_no_name": 1}]
    rows.append({"epoch": 5.0, "train_runtime": 12.5, "train_loss": 0.25, "step": 49})
    plain, mixed = ([*rows[:40], {**rows[40], "more": more}, *rows[41:]] for more in (1.5, other))
    records = [read(json.dumps({"log_history": some}, indent=indent).encode()) for some in (rows, plain, mixed)]
    expected = {one.name: (one.steps.tolist(), one.values.tolist()) for one in records[0].series}
    assert len(expected["loss"][0]) == 49
    assert expected["eval_loss"] == ([30], [0.125])
    for record in records[1:]:
        assert record.end == records[0].end
        assert record.config == records[0].config
        found = {one.name: (one.steps.tolist(), one.values.tolist()) for one in record.series if one.name != "more"}
        assert found == expected
