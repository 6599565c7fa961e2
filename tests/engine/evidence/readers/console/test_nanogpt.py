from __future__ import annotations

import math

import pytest

from engine.evidence.readers import read


def test_times_that_hold_an_evaluation_or_the_start_are_left_out(column):
    lines = ["step 0: train loss 10.98, val loss 10.99"]
    lines += [f"iter {step}: loss {10 - step / 100:.4f}, time 9000.00ms, mfu -100.00%" for step in (0,)]
    lines += [f"iter {step}: loss {10 - step / 100:.4f}, time 3000.50ms, mfu 22.50%" for step in (10, 20)]
    lines += ["step 30: train loss nan, val loss 5.5", "saving checkpoint to out", "iter 30: loss nan, time 2e4ms"]
    record = read("\n".join(lines).encode())
    assert record.read.format == "nanogpt"
    assert column(record, "step_time") == [(10, pytest.approx(3.0005)), (20, pytest.approx(3.0005))]
    assert column(record, "mfu") == [(10, 22.5), (20, 22.5)]
    assert column(record, "eval_loss") == [(0, 10.99), (30, 5.5)]
    assert math.isnan(column(record, "eval_train_loss")[1][1])
    assert column(record, "loss")[:3] == [(0, 10), (10, 9.9), (20, 9.8)]


def test_evaluations_alone_are_a_loss(column):
    record = read(b"step 0: train loss 4.2, val loss 4.3\nstep 250: train loss 2.1, val loss 2.2\n")
    assert column(record, "loss") == [(0, 4.2), (250, 2.1)]


def test_llm_c_console_and_log(column):
    text = (
        "step    1/18865 | loss 11.008 (+nanz)| norm 15.3 (+nanz)| lr 8.57e-07 | 3056.36 ms | 42% bf16 MFU | 9 tok/s\n"
        "step    2/18865 | loss 10.908 (+1.20z)| norm nan (+nanz)| lr 9.57e-07 | 3050.00 ms | 42% bf16 MFU | 9 tok/s\n"
        "val loss 10.5\n"
    )
    record = read(text.encode())
    assert column(record, "loss") == [(1, 11.008), (2, 10.908)]
    assert math.isnan(column(record, "grad_norm")[1][1])
    assert column(record, "step_time")[0] == (1, pytest.approx(3.05636))
    assert column(record, "eval_loss") == [(2, 10.5)]
    assert record.config["max_steps"] == 18865
    short = read(b"s:0 tel:10.95\ns:1 trl:10.9 lr:1e-5 norm:2.3\ns:2 trl:nan lr:1e-5 norm:2.3\n")
    assert column(short, "eval_loss") == [(0, 10.95)]
    assert column(short, "learning_rate") == [(1, 1e-5), (2, 1e-5)]


def test_modded_step_times_are_differences(column):
    times = [(0, 0), (1, 900), (2, 1000), (10, 1800), (11, 50), (12, 200)]  # the clock is set back after step 10
    text = "".join(f"step:{step}/100 train_time:{time}ms step_avg:90.00ms\n" for step, time in times)
    record = read(("step:0/100 val_loss:10.8258 train_time:0ms step_avg:nanms\n" + text).encode())
    assert record.read.format == "modded_nanogpt"
    assert column(record, "eval_loss") == [(0, 10.8258)]
    assert column(record, "step_time") == [(1, 0.9), (2, 0.1), (10, 0.1), (12, 0.15)]
