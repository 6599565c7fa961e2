from __future__ import annotations

import json
import struct

import pytest

from engine.evidence.readers import read, sniff
from engine.evidence.series import Times
from engine.model.evidence import FactReading

LABEL = "wandb/run-1-abc/run-abc.wandb"


@pytest.fixture
def history(field, wandb_items):
    """A history record of one row."""
    return lambda row, nested=False: field(2, wandb_items(row, nested))


def rows(count: int):
    return [
        {"train/loss": 3.0 / n, "train/global_step": 10 * n, "_step": 2 * n, "_timestamp": 1.7e9 + 5.25 * n}
        for n in range(1, count + 1)
    ]


def exit_(field, code: int) -> bytes:
    return field(18, b"\x08" + bytes([code]) if code < 128 else b"\x08" + bytes([code & 127 | 128, code >> 7]))


def test_history_configuration_and_exit(field, wandb, wandb_items, history, column):
    run = field(17, field(1, "abc") + field(4, wandb_items({"learning_rate": 3e-4, "_wandb": {"v": 1}})))
    records = [run, *map(history, rows(30)), field(6, wandb_items({"seed": 7})), exit_(field, 0)]
    content = wandb(records)
    assert sniff(content) == "wandb"
    record = read(content, LABEL)
    assert record.run == "wandb:wandb/run-1-abc"
    assert column(record, "loss")[:2] == [(10, 3.0), (20, 1.5)]
    assert column(record, "step_time")[0] == (20, pytest.approx(0.525))
    assert record.config == {"learning_rate": 3e-4, "seed": 7}
    assert record.end.kind == "finished"
    assert [(one.fact, one.value) for one in record.readings if isinstance(one, FactReading)] == [("run.exit_code", 0)]
    assert record.not_understood == ()


@pytest.mark.parametrize(("code", "kind"), [(1, "crashed"), (255, "stopped"), (None, "unknown")])
def test_how_the_run_ended(code, kind, field, wandb, history):
    records = [*map(history, rows(3)), *([exit_(field, code)] if code is not None else [])]
    record = read(wandb(records), LABEL)
    assert record.end.kind == kind
    assert bool(record.readings) == (code is not None)


def test_nested_keys_numbers_of_their_own_and_media(field, wandb, history, column):
    table = {"_type": "table-file", "size": 30}
    typed = field(1, field(1, "lr") + b"\x31" + struct.pack("<d", 0.25)) + field(1, field(1, "step") + b"\x28\x07")
    records = [
        history({"train/loss": 2.0, "step": 6}, nested=True), field(2, typed), history({"table": table, "step": 8}),
        history({"train/loss": float("nan"), "step": 9}),
    ]  # fmt: skip
    record = read(wandb(records), LABEL)
    assert column(record, "loss")[0] == (6, 2.0)
    assert str(column(record, "loss")[1]) == "(9.0, nan)"
    assert column(record, "learning_rate") == [(7, 0.25)]
    assert {one.name for one in record.series} == {"loss", "learning_rate"}


def test_console_lines_are_events(field, wandb):
    lines = ["step 1\n", "RuntimeError: CUDA error: device-side assert triggered\n"]
    record = read(wandb([field(13, field(3, line)) for line in lines]), LABEL)
    assert "RuntimeError: CUDA error: device-side assert triggered" in [event.text for event in record.events]
    assert record.end.kind == "crashed"
    assert any("no history" in why for why in record.not_understood)


def test_system_metrics_stand_at_the_steps_of_their_times(field, wandb, history, column):
    def stats(time: int, values: dict[str, float]) -> bytes:
        pairs = b"".join(field(3, field(1, key) + field(16, json.dumps(value))) for key, value in values.items())
        return field(7, field(2, b"\x08" + varint(time)) + pairs)

    def varint(value: int) -> bytes:
        return bytes([value >> shift & 127 | (128 if value >> shift + 7 else 0) for shift in range(0, 35, 7)
                      if value >> shift])  # fmt: skip

    used = {"gpu.0.gpu": 90, "gpu.1.gpu": 0, "gpu.0.memoryAllocatedBytes": 5e9, "proc.memory.rssMB": 100, "disk": 3}
    records = [stats(at, used) for at in (1_699_999_000, 1_700_000_010)] + [*map(history, rows(10))]
    records.append(stats(1_700_007_200, used))
    record = read(wandb(records), LABEL)
    assert record.times == Times(1.7e9 + 52.5, pytest.approx(5.25), 1_700_007_200)
    # the idle card is somebody else's, and start-up is no training
    assert column(record, "gpu_utilisation") == [(pytest.approx(20 / 1.05), 90.0)]
    assert column(record, "gpu_memory_used") == [(pytest.approx(20 / 1.05), 5e9)]
    assert column(record, "host_memory_used") == [(pytest.approx(20 / 1.05), 100 * 2.0**20)]
    assert not any(one.name == "gpu_utilisation" for one in read(wandb([stats(1_700_000_000, used)]), LABEL).series)


def test_records_over_several_blocks_and_damage(field, wandb, history, column):
    long = field(13, field(3, "x" * 90_000))
    content = wandb([history(rows(1)[0]), long, *map(history, rows(2000)[1:])])
    assert len(column(read(content, LABEL), "loss")) == 2000
    cut = read(content[:-10], LABEL)
    assert len(column(cut, "loss")) == 1999
    assert any("cut short" in why for why in cut.not_understood)
    damaged = bytearray(content)
    damaged[200] ^= 1
    record = read(bytes(damaged), LABEL)
    assert any("wrong check sum" in why for why in record.not_understood)
    assert len(column(record, "loss")) >= 1998
    assert read(content[:7], LABEL).series == ()


def test_summary_of_a_run_that_did_not_end_is_no_result():
    summary = {"train/loss": 0.02, "train/global_step": 810, "_step": 26, "_runtime": 9.0, "_wandb": {"runtime": 1}}
    record = read(json.dumps(summary).encode(), "wandb/run-1/files/wandb-summary.json")
    assert record.run == "wandb:wandb/run-1"
    assert [(one.name, one.steps.tolist(), one.values.tolist()) for one in record.series] == [("loss", [810], [0.02])]
    assert record.end.kind == "unknown"
    assert "no proof" in record.not_understood[0]
    ended = read(json.dumps(summary | {"train_runtime": 60.0, "train_loss": 0.5}).encode())
    assert ended.end.kind == "finished"
    assert ended.config == {"train_runtime": 60.0}
    assert "no metrics" in read(b'{"_wandb": {"runtime": 44635}}').not_understood[0]


def test_configuration_is_unwrapped():
    text = (
        b"_wandb:\n    value:\n        cli_version: 0.18.7\n"
        b"learning_rate:\n    value: 3e-4\nmodel:\n    value:\n        layers: 2\n"
    )
    record = read(text, "wandb/run-1/files/config.yaml")
    assert record.read.format == "wandb_config"
    assert record.config == {"learning_rate": 3e-4, "model": {"layers": 2}}
    old = read(b"wandb_version: 1\n\nlr:\n  desc: null\n  value: 0.1\n")
    assert old.config == {"lr": 0.1}
    assert sniff(b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n") != "wandb_config"


def test_history_lines_of_old_clients(column):
    lines = [{"train/loss": 2.0, "_step": 0, "_runtime": 1, "_timestamp": 1.6e9, "image": {"_type": "image-file"}}]
    lines += [{"val/loss": 3.0, "_step": 1, "_runtime": 2, "_timestamp": 1.6e9}]
    record = read("\n".join(map(json.dumps, lines)).encode(), "wandb/run-1/wandb-history.jsonl")
    assert record.run == "wandb:wandb/run-1"
    assert column(record, "loss") == [(0, 2.0)]
    assert column(record, "eval_loss") == [(1, 3.0)]
