"""A hang before the first step, by the first collectives; and a job that runs without a record, by its watchdog."""

from __future__ import annotations

import pytest

from engine.evidence import readers
from engine.evidence.ranks.silence import running_without_records
from engine.evidence.ranks.start import timed_out_at_start

TIMEOUT = (
    "[rank{0}]:[E520 06:31:05.05 ProcessGroupNCCL.cpp:757] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={1}, OpType=BROADCAST, NumelIn=9, NumelOut=9, Timeout(ms)=300000) ran for 300051 milliseconds\n"
)
STEP = "step: {:2d}  loss:  9.1  grad_norm:  1.0  memory:  1.0GiB(1.0%)  tps: 100  tflops: 1.0  mfu: 1.0%\n"
RECORD = (
    " iteration {:8d}/     100 | consumed samples: 8 | elapsed time per iteration (ms): 60000.0 | "
    "learning rate: 6.0E-05 | global batch size:     8 | lm loss: 2.5E+00 | loss scale: 1.0 | grad norm: 0.3 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
ALIVE = "[2026-05-01 {}] watchdog: run7 is running for 1-07:27:33 (1528763 on 'gpu')\n"


def at_start(text: str) -> list[str]:
    return [reading.finding for reading in timed_out_at_start([readers.read(text.encode(), "log")])]


def silent(text: str) -> list[str]:
    return [reading.finding for reading in running_without_records([readers.read(text.encode(), "log")])]


def test_the_first_collectives_before_any_step() -> None:
    assert at_start("NCCL version 2.27\n" + TIMEOUT.format(0, 3) + TIMEOUT.format(1, 2)) == ["hang.at-start"]


@pytest.mark.parametrize(
    "text",
    [
        TIMEOUT.format(0, 4711),  # late, in a log whose records nobody can read
        TIMEOUT.format(0, 3) + TIMEOUT.format(1, 4711),
        "".join(STEP.format(at) for at in range(1, 4)) + TIMEOUT.format(0, 3),  # a group made for an evaluation
        "WorkNCCL(SeqNum=3, OpType=BROADCAST) finished\n",
    ],
)
def test_other_timeouts_are_not_at_the_start(text: str) -> None:
    assert at_start(text) == []


def test_a_watchdog_that_sees_the_job_run_for_hours() -> None:
    text = RECORD.format(40) + ALIVE.format("03:56:11") + ALIVE.format("04:56:13")
    assert silent(text) == ["hang.no-progress"]


@pytest.mark.parametrize(
    "text",
    [
        RECORD.format(40) + ALIVE.format("03:56:11") + ALIVE.format("04:06:13"),  # ten steps long
        RECORD.format(40) + ALIVE.format("03:56:11"),
        ALIVE.format("03:56:11") + ALIVE.format("04:56:13") + RECORD.format(40),
        RECORD.format(40) + "[after training is done] datetime: 2026-05-01 03:50:00\n" + ALIVE.format("03:56:11")
        + ALIVE.format("04:56:13"),
        RECORD.format(40) + "[2026-05-01 03:56:11] run7 is scheduled\n[2026-05-01 08:56:11] run7 is scheduled\n",
        ALIVE.format("03:56:11") + ALIVE.format("04:56:13"),  # no record at all: another file may have them
    ],
)  # fmt: skip
def test_a_watchdog_that_says_nothing_of_a_hang(text: str) -> None:
    assert silent(text) == []
