from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.readers import read, sniff
from engine.evidence.readers.trackers.tfrecord import masked


def test_check_sum_of_the_published_vector():
    crc = 0xE3069283  # CRC-32C of "123456789", RFC 3720
    assert masked([b"123456789"]).tolist() == [((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF]


def test_tags_of_the_trainer_become_metrics(tb_event, tb_file, column):
    content = tb_file(
        tb_event(step, {"train/loss": 3.0 / step, "train/grad_norm": math.nan, "eval/loss": 1.0}, 1.7e9 + 0.55 * step)
        for step in range(10, 200, 10)
    )
    assert sniff(content) == "tensorboard"
    record = read(content, "runs/a/events.out.tfevents.1.host")
    assert record.run == "tensorboard:runs/a"
    assert column(record, "loss")[0] == (10, pytest.approx(0.3))
    assert math.isnan(column(record, "grad_norm")[-1][1])
    assert column(record, "eval_loss")[-1] == (190, 1.0)
    assert column(record, "step_time") == [(step, pytest.approx(0.55)) for step in range(20, 200, 10)]
    assert record.not_understood == ()
    assert "2023-11-14" in record.end.source.quote


def tensor(dtype: int, content: bytes) -> bytes:
    inner = b"\x08" + bytes([dtype]) + content
    return b"\x42" + bytes([len(inner)]) + inner


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        (tensor(1, b"\x22\x04" + struct.pack("<f", 2.5)), 2.5),
        (tensor(2, b"\x22\x08" + struct.pack("<d", 2.5)), 2.5),
        (tensor(14, b"\x22\x02" + np.float32(2.5).tobytes()[2:]), 2.5),
        (tensor(1, b"\x2a\x04" + struct.pack("<f", 2.5)), 2.5),
        (tensor(1, b"\x2d" + struct.pack("<f", 2.5)), 2.5),
        (tensor(9, b"\x52\x01\x07"), 7.0),
        (tensor(3, b"\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -1.0),
        (tensor(19, b"\x68" + b"\x80\x82\x01"), 2.5),
    ],
)
def test_tensors_of_one_number(encoded, value, tb_event, tb_file, column):
    assert column(read(tb_file([tb_event(3, {"epoch_loss": encoded})])), "loss") == [(3, pytest.approx(value))]


def test_texts_and_vectors_are_no_scalars(tb_event, tb_file):
    text = tensor(7, b"\x42\x02hi")
    vector = tensor(1, b"\x22\x08" + struct.pack("<ff", 1.0, 2.0))
    record = read(tb_file([tb_event(0, {"args/text_summary": text, "histogram": vector})]))
    assert record.series == ()
    assert "holds no scalars" in record.not_understood[0]


def test_a_folder_of_evaluations_beside_the_training(tb_event, tb_file):
    content = tb_file([tb_event(step, {"epoch_loss": 1.0}) for step in range(3)])
    train, validation = (read(content, f"logs/{phase}/x.v2") for phase in ("train", "validation"))
    assert [one.name for one in (*train.series, *validation.series)] == ["loss", "eval_loss"]
    assert train.run == validation.run == "tensorboard:logs"


def test_the_summary_of_the_trainer_is_no_metric(tb_event, tb_file):
    end = tb_event(30, {"train/train_runtime": 60.0, "train/train_loss": 9.0, "train/total_flos": 1e15})
    record = read(tb_file([tb_event(10, {"train/loss": 2.0}), end]))
    assert [one.name for one in record.series] == ["loss"]
    assert record.end.kind == "finished"
    assert record.config["train_runtime"] == 60.0
    assert "train_loss" not in record.config


def test_cut_and_damaged_records(tb_event, tb_file, column):
    events = [tb_event(step, {"loss": 2.0}) for step in range(5)]
    whole = tb_file(events)
    cut = read(whole[:-5])
    assert len(column(cut, "loss")) == 4
    assert cut.not_understood == ()
    flipped = bytearray(whole)
    flipped[-20] ^= 1
    record = read(bytes(flipped))
    assert len(column(record, "loss")) == 4
    assert record.not_understood == ("1 damaged records were left out",)
    lost = read(whole[: -2 * len(events[0])] + b"\xff" * 40)
    assert len(column(lost, "loss")) == 3
    assert "damaged after record 4" in lost.not_understood[0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(40, 400), st.integers(0, 255)), max_size=6), st.integers(60, 500))
def test_any_damage_is_survived(damages, length):
    from engine.evidence.readers.trackers.tensorboard import TENSORBOARD

    head = b"\x18" + bytes(7) + b"0000" + b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"
    content = bytearray((head * 20)[:length])
    for place, value in damages:
        if place < len(content):
            content[place] = value
    assert TENSORBOARD.recognises(bytes(content))
    assert read(bytes(content)).read.format == "tensorboard"
