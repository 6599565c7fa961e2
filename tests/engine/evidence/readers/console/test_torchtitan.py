from __future__ import annotations

import math

from engine.evidence.readers import read


def line(step: int, loss: object, norm: object = "0.5000", tps: str = "8,754", rank: int = 0) -> str:
    return (
        f"[rank{rank}]:[titan] 2026-05-19 22:05:24,364 - root - INFO - \x1b[31mstep: {step:2d}  "
        f"\x1b[32mloss: {loss:>8}  \x1b[38;2;180;60;0mgrad_norm: {norm:>7}  "
        f"\x1b[38;2;54;234;195mmemory: 75.22GiB(42.18%)  \x1b[34mtps: {tps}  \x1b[36mtflops: 737.59  "
        f"\x1b[35mmfu: 32.78%\x1b[39m"
    )


def test_values_without_the_compilation_of_the_first_step(column):
    lines = [line(1, 12.39917, tps="914"), "[rank0]:[titan] hello", *(line(step, 6.5) for step in (10, 20))]
    record = read("\n".join(lines).encode(), "titan.log")
    assert record.read.format == "torchtitan"
    assert column(record, "loss") == [(1, 12.39917), (10, 6.5), (20, 6.5)]
    assert column(record, "tokens_per_second") == [(10, 8754), (20, 8754)]
    assert column(record, "gpu_memory_used")[0][1] == 75.22 * 2**30
    assert [event.text for event in record.events] == ["[titan] hello"]
    loss = next(one for one in record.series if one.name == "loss")
    assert loss.source(1).where == "titan.log:3"


def test_a_restart_compiles_again(column):
    record = read("\n".join(line(step, 6.5) for step in (1, 10, 20, 30, 1, 10)).encode())
    assert [step for step, _ in column(record, "tflops")] == [10, 20, 30, 10]
    assert [part.reason for part in record.segments] == ["start", "restarted"]


def test_nan_validation_and_old_lines(column):
    lines = [
        "step:  1  loss: 10.9  memory: 9.90GiB(20.0%)  wps: 4,000  mfu: 9.00%",
        "step:  2  loss:     nan  memory: 9.90GiB(20.0%)  wps: 4,100  mfu: 9.00%",
        "validate step:  2  loss:  5.1000  memory:  9.90GiB(20.00%)  tps: 900",
    ]
    record = read("\n".join(lines).encode())
    assert math.isnan(column(record, "loss")[1][1])
    assert column(record, "eval_loss") == [(2, 5.1)]
    assert column(record, "tokens_per_second") == [(2, 4100)]


def test_of_several_ranks_one_is_read(column):
    lines = [line(step, 6.0 + rank / 10, rank=rank) for step in (1, 10, 20) for rank in (2, 0, 1)]
    record = read("\n".join(lines).encode())
    assert column(record, "loss") == [(1, 6.2), (10, 6.2), (20, 6.2)]
    assert any("6 records of other ranks" in why for why in record.not_understood)
    assert len(record.segments) == 1


def test_another_rank_may_write_after_a_restart(column):
    lines = [line(step, 6.0, rank=0) for step in (1, 10, 20, 30)] + [line(step, 5.0, rank=3) for step in (21, 30, 40)]
    assert [step for step, _ in column(read("\n".join(lines).encode()), "loss")] == [1, 10, 20, 30, 21, 30, 40]
