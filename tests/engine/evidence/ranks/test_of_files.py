"""Losses of several ranks, from one file each or from a column of a table."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from engine.evidence import readers
from engine.evidence.detectors import compare_ranks, detect
from engine.evidence.ranks.of_files import side_by_side

STEP = "step: {:2d}  loss: {:8.4f}  grad_norm:  1.0  memory:  1.0GiB(1.0%)  tps: 100  tflops: 1.0  mfu: 1.0%\n"
Losses = Callable[[int, int], float]


def alone(rank: int, step: int) -> float:
    return float("nan") if step > 30 or (rank == 2 and step == 30) else 8 - step / 20 + rank / 100


def together(rank: int, step: int) -> float:
    return float("nan") if step >= 30 else alone(rank, step)


@pytest.mark.parametrize(("loss", "value"), [(alone, True), (together, False)])
def test_one_file_a_rank(loss: Losses, value: bool) -> None:
    texts = {f"rank{rank}.log": "".join(STEP.format(at, loss(rank, at)) for at in range(1, 41)) for rank in range(4)}
    series = side_by_side([readers.read(text.encode(), name) for name, text in texts.items()])
    assert compare_ranks(series).value("ranks.nonfinite_alone") is value


def test_files_of_no_rank_are_not_compared() -> None:
    text = "".join(STEP.format(at, alone(2, at)) for at in range(1, 41)).encode()
    assert side_by_side([readers.read(text, "a.log"), readers.read(text, "b.log")]) == ()


@pytest.mark.parametrize(("loss", "value"), [(alone, True), (together, None)])
def test_a_column_of_ranks(loss: Losses, value: bool | None) -> None:
    rows = [{"rank": rank, "step": at, "loss": loss(rank, at)} for at in range(1, 41) for rank in range(4)]
    record = readers.read("\n".join(map(json.dumps, rows)).encode(), "log.jsonl")
    assert detect(record.series).value("ranks.nonfinite_alone") is value


@pytest.mark.parametrize(("loss", "value"), [(alone, True), (together, False)])
def test_one_log_of_all_ranks(loss: Losses, value: bool) -> None:
    lines = (f"[rank{rank}]: {STEP.format(at, loss(rank, at))}" for at in range(1, 41) for rank in range(4))
    series = readers.read("".join(lines).encode(), "job.log").series
    assert detect(series).value("ranks.nonfinite_alone") is value
