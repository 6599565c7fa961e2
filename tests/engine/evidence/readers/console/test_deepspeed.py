from __future__ import annotations

import math

import pytest

from engine.evidence.readers import read

STAMP = "[2023-04-18 08:48:36,035] [INFO]"


def step_line(step: int, skipped: int, rate: str = "5e-05") -> str:
    return (
        f"{STAMP} [logging.py:96:log_dist] [Rank 0] step={step}, skipped={skipped}, lr=[{rate}, {rate}], "
        f"mom=[(0.9, 0.95), (0.9, 0.95)]"
    )


def test_the_counter_of_skipped_steps_is_cumulative(column):
    lines = [step_line(10, 4), step_line(20, 5), step_line(30, 5), step_line(40, 8), step_line(10, 1)]
    record = read("\n".join(lines).encode())
    assert record.read.format == "deepspeed"
    assert column(record, "skipped_steps") == [(10, 4), (20, 1), (30, 0), (40, 3), (10, 1)]
    assert column(record, "learning_rate")[0] == (10, 5e-5)


def test_of_two_engines_the_first_is_read(column):
    lines = [line for step in (10, 20, 30) for line in (step_line(step, 4, "1e-5"), step_line(step, 0, "9e-6"))]
    record = read("\n".join(lines).encode())
    assert column(record, "skipped_steps") == [(10, 4), (20, 0), (30, 0)]
    assert {rate for _, rate in column(record, "learning_rate")} == {1e-5}


def test_current_throughput_not_the_running_average(column):
    old = f"{STAMP} [timer.py:189:stop] 0/40, RunningAvgSamplesPerSec=80.1, CurrSamplesPerSec=83.5"
    new = (
        f"{STAMP} [timer.py:258:stop] epoch=0/micro_step=50/global_step=50, RunningAvgSamplesPerSec=80.2, "
        "CurrSamplesPerSec=16.8, MemAllocated=0.02GB, MaxMemAllocated=0.97GB"
    )
    record = read(f"{old}\n{new}\n".encode())
    assert column(record, "samples_per_second") == [(40, 83.5), (50, 16.8)]
    assert column(record, "gpu_memory_used") == [(50, pytest.approx(0.97 * 2**30))]


def test_overflow_lines_give_the_scale_and_stay_events(column):
    overflow, attempted = f"{STAMP} [stage3.py:1889:clean_up]", "Rank 0 Skipping step. Attempted loss scale: 65536"
    lines = [
        step_line(10, 0),
        f"{overflow} [deepspeed] OVERFLOW! {attempted}, but hysteresis is 2. Reducing hysteresis to 1",
        f"{overflow} [deepscale] OVERFLOW! {attempted}, reducing to 32768",
        step_line(20, 2),
        "Increasing dynamic loss scale from 32768 to 65536.0",
        "Did not save the model because stage3_gather_16bit_weights_on_model_save is false",
    ]
    record = read("\n".join(lines).encode())
    assert column(record, "loss_scale") == [(10, 65536), (10, 32768), (20, 65536)]
    kept = [event.line for event in record.events]
    assert {2, 3, 6} <= set(kept)
    assert not {1, 4} & set(kept)


def test_pipeline_lines(column):
    record = read(b"steps: 10 loss: 7.0312 iter time (s): 1.204 samples/sec: 3.322\n")
    assert column(record, "loss") == [(10, 7.0312)]
    assert column(record, "step_time") == [(10, 1.204)]


def test_chat_actor_critic_and_reward(column):
    blocks = [
        f"epoch: 0|step: {step}|ppo_ep: 1|act_loss: {'nan' if step == 2 else 0.25}|cri_loss: 0.125|unsuper_loss: 0.0\n"
        f"average reward score: {step / 4}\n"
        f"|E2E latency={9 if step == 0 else 3.75}s |Gather latency=0.00s (0.00%) |CurSamplesPerSec=8.01\n"
        for step in range(4)
    ]
    record = read("".join(blocks).encode())
    assert record.read.format == "deepspeed_chat"
    assert math.isnan(column(record, "policy_loss")[2][1])
    assert column(record, "value_loss")[0] == (0, 0.125)
    assert column(record, "reward") == [(0, 0), (1, 0.25), (2, 0.5), (3, 0.75)]
    assert column(record, "step_time") == [(1, 3.75), (2, 3.75), (3, 3.75)]
