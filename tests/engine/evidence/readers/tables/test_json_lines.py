from __future__ import annotations

import json
import math

import pytest

from engine.evidence.readers import read, sniff


def lines(*records: object) -> bytes:
    return "\n".join(record if isinstance(record, str) else json.dumps(record) for record in records).encode() + b"\n"


def test_rows_with_different_keys_and_bare_nan(column):
    content = lines(
        {"step": 10, "loss": 2.0, "train": {"grad_norm": 0.5, "lr": 1e-4}},
        {"step": 10, "eval_loss": 2.5, "name": "x", "flag": True},
        {"step": 20, "loss": math.nan, "train": {"grad_norm": math.inf, "lr": 1e-4}},
    )
    assert sniff(content) == "json_lines"
    record = read(content, "m.jsonl")
    assert column(record, "loss")[0] == (10, 2.0)
    assert math.isnan(column(record, "loss")[1][1])
    assert column(record, "grad_norm") == [(10, 0.5), (20, math.inf)]
    assert column(record, "eval_loss") == [(10, 2.5)]
    assert record.series[0].lines is not None
    assert {one.name for one in record.series} == {"loss", "grad_norm", "learning_rate", "eval_loss"}
    assert next(one for one in record.series if one.name == "loss").source(1).where == "m.jsonl:3"


@pytest.mark.parametrize(
    "record",
    [
        '{"step": %d, "loss": %.3f}',
        '{"loss":%.0f5,"step":%d}',
        '{"loss": %de-1, "step": %d, "x": null}',
        '{"step": %d, "loss": "%d"}',
    ],
)
def test_spellings_of_flat_records_agree_with_json(record, column):
    content = "\n".join(record % (n, n) for n in range(1, 40)).encode()
    values = [json.loads(line) for line in content.split(b"\n")]
    assert column(read(content), "loss") == [(value["step"], float(value["loss"])) for value in values]


def test_values_between_records_of_another_layout(column):
    rows = [{"step": n, "loss": 2.0, "lr": 0.1} if n % 3 else {"step": n, "val_loss": 3.0 + n} for n in range(1, 60)]
    record = read(lines(*rows))
    assert column(record, "eval_loss") == [(n, 3.0 + n) for n in range(3, 60, 3)]
    assert [step for step, _ in column(record, "loss")] == [n for n in range(1, 60) if n % 3]


def test_lines_that_are_no_records():
    good = [{"step": n, "loss": 1.0} for n in range(10)]
    cut = read(lines(*good) + b'{"step": 10, "lo')
    assert cut.not_understood == ("the last line is cut short and was left out",)
    odd = read(lines(*good[:5], "Traceback (most recent call last):", "RuntimeError: boom", "[1, 2]", *good[5:]))
    assert "3 lines are no JSON records, the first is line 6" in odd.not_understood
    assert "RuntimeError: boom" in [event.text for event in odd.events]
    assert odd.read.records == 10
    told = read(lines(*good, {"level": "error", "message": "CUDA out of memory"}))
    assert any("CUDA out of memory" in event.text for event in told.events)


def test_hostile_lines():
    deep = b'{"step": 1, "loss": 1.0}\n{"step": 2, "loss": ' + b"[" * 100_000 + b"\n"
    assert read(deep).read.records == 1
    wide = lines(*({"step": n, "loss": 1.0, **{f"k{n}_{i}": 1 for i in range(100)}} for n in range(40)))
    record = read(wide)
    assert len(record.series) <= 2_000
    assert any("columns" in why for why in record.not_understood)
    big = read(lines({"step": 1, "loss": 10**400}, {"step": 2, "loss": 1}))
    assert math.isinf(big.series[0].values[0])


@pytest.mark.parametrize(
    "content",
    [b'{"id": 1, "prompt": "a", "output": "b"}\n' * 5, b'{"loss": 1.0}', b'{"a": 1}\n{"b": 2}\n', b"text {\n{\n}\n"],
)
def test_what_is_no_history(content):
    assert sniff(content) != "json_lines"


ROW = {"current_steps": 0, "total_steps": 60, "loss": 0.5, "epoch": 0.1, "percentage": 1.0, "remaining_time": "1:00:00"}


@pytest.mark.parametrize(
    "more",
    [
        {"learning_rate": 1e-4, "eval_loss": None, "predict_loss": None, "reward": None},
        {"learning_rate": 1e-4, "throughput": "0.00", "total_tokens": 0},
        {"lr": 1e-4, "throughput": "0.00", "total_tokens": 0},
    ],
)
def test_three_generations_of_llama_factory(more, column):
    rows = [
        {**ROW, **more, "current_steps": step, "elapsed_time": f"1 day, 0:{step // 2:02d}:00"}
        for step in range(2, 60, 2)
    ]
    closing = {
        "current_steps": 60,
        "total_steps": 60,
        "epoch": 3.0,
        "percentage": 100.0,
        "elapsed_time": "1 day, 0:30:00",
    }
    record = read(lines(*rows, {**closing, "eval_loss": 0.7}, closing))
    names = {one.name for one in record.series}
    assert names == {"loss", "learning_rate", "epoch", "eval_loss", "step_time"} | ({"total_tokens"} & more.keys())
    assert column(record, "eval_loss") == [(60, 0.7)]
    assert column(record, "step_time")[0] == (4, 30.0)
    assert record.config["max_steps"] == 60
    assert record.end.kind == "finished"
    assert read(lines(*rows)).end.kind == "unknown"


def test_a_resumed_run_keeps_its_fall(column):
    rows = [{**ROW, "current_steps": step} for step in (*range(5, 55, 5), *range(35, 65, 5))]
    record = read(lines(*rows))
    assert [segment.reason for segment in record.segments] == ["start", "resumed"]
    assert len(column(record, "loss")) == 16


def test_two_writers_of_one_file(column):
    first = [{"step": step, "loss": 3.0 - step / 100} for step in range(10, 110, 10)]
    second = [{"step": step, "loss": 3.0 - step / 100} for step in range(10, 110, 10)]
    mixed = [row for pair in zip(first[2:], second, strict=False) for row in pair]
    record = read(lines(*first[:2], *mixed, *second[8:]))
    assert column(record, "loss") == [(row["step"], row["loss"]) for row in first]
    assert any("several processes" in why for why in record.not_understood)


def test_more_values_than_are_taken(monkeypatch):
    from engine.evidence.readers.tables import rows

    monkeypatch.setattr(rows, "MOST_VALUES", 1000)
    content = b"".join(b'{"step": %d, "loss": 1.5, "note": "%s"}\n' % (n, b"x" * 500) for n in range(8000))
    record = read(content)
    assert 1000 <= record.read.records < 8000
    assert any("the rest was left out" in why for why in record.not_understood)
