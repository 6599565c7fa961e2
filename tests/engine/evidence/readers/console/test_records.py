from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.readers import read
from engine.evidence.readers.console.reader import _DIALECTS
from engine.evidence.readers.console.records import Table, carried, of_one_rank, positions


def table(step: list[float], epoch: list[float], total: float = np.nan) -> Table:
    columns = {}
    for name, values in (("step", step), ("epoch", epoch), ("total", [total] * len(step))):
        known = np.flatnonzero(~np.isnan(values))
        if len(known):
            columns[name] = (known, np.array(values)[known])
    return Table(np.arange(len(step)), columns)


def test_positions_of_rows_without_a_step():
    nan = np.nan
    assert positions(table([nan, 5, nan, 6], [nan] * 4)).tolist() == [0, 5, 5, 6]
    assert positions(table([nan] * 3, [1, nan, 2])).tolist() == [1, 1, 2]
    assert np.isnan(positions(table([nan] * 2, [nan] * 2))).all()


def test_positions_count_on_where_steps_start_anew_with_the_epoch():
    assert positions(table([50, 100, 50, 100], [1, 1, 2, 2], 100)).tolist() == [50, 100, 150, 200]
    assert positions(table([50, 100, 50, 100], [1, 1, 2, 2])).tolist() == [50, 100, 150, 200]
    assert positions(table([50, 100, 50], [3, 3, 4], 100)).tolist() == [250, 300, 350]  # read from the third epoch on
    assert positions(table([50, 100, 150], [1, 2, 3], 100)).tolist() == [50, 100, 150]  # a step of the whole run
    assert positions(table([50, 100, 50], [1, 1, 1], 100)).tolist() == [50, 100, 50]  # a restart


def test_ranks_in_turn_and_one_after_the_other():
    assert of_one_rank(np.array([2, 1, 2, 1, 2])).tolist() == [True, False, True, False, True]
    assert of_one_rank(np.array([1, 1, 2, 2, 0])).all()
    assert of_one_rank(np.array([1, 2, 1, 3, 3])).tolist() == [True, False, True, True, True]


def test_carried_leaves_the_start_open():
    assert np.isnan(carried(np.array([np.nan, 1, np.nan]))).tolist() == [True, False, False]
    assert carried(np.zeros(0)).tolist() == []


@pytest.mark.parametrize(
    "content",
    [
        b"Epoch 1/3\n" * 500,
        b"[batch=1/20]:\n" * 500,
        b"{'train_runtime': 1.0}\n" * 500,
        b"{'" * 100_000 + b"}",
        b"step" + b" " * 1_900 + b"loss",
        b"step: " + b"9" * 300 + b" loss: " + b"9" * 400,
        b"step: 1 loss: 1e999 lr: 1e-999\nstep: 2 loss: 1e308 lr: 1e-320\n" * 50,
        b"step: 1 loss: " + b"\xff" * 50 + b"\n",
        b"Increasing dynamic loss scale from 1 to nan\n" * 9,
        b"100/100 [====] - loss: nan\n" * 99,
        b"OVERFLOW! Rank 0 Skipping step. Attempted loss scale: inf, reducing to inf\n" * 9,
        b"step:5/2 train_time:-5ms step_avg:nanms\n" * 9,
    ],
)
def test_odd_content_gives_a_record(content):
    for text in (content, content * 2, content[: len(content) // 2], b"[rank1]: " + content):
        record = read(text)
        for one in record.series:
            assert len(one.steps) == len(one.values)
            assert np.isfinite(one.steps).all()


@pytest.mark.parametrize("dialect", _DIALECTS, ids=lambda dialect: dialect.name)
def test_no_dialect_takes_prose(dialect):
    for text in (b"", b"loss", b"the loss was 2.3 at step 10", b"Traceback (most recent call last):", b"{'loss': 2.0}"):
        assert dialect.spans(text) == []
