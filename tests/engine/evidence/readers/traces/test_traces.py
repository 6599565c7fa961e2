"""Flight recorder dumps and stacks, whole, cut, hostile, and of several ranks."""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

import pytest

from engine.evidence import readers
from engine.evidence.ranks import incident
from engine.model.evidence import FactReading


def dump(enqueued: int, completed: int, pending: bool = True) -> dict[str, Any]:
    entry = {
        "pg_id": 4, "process_group": ("20", "DATA_PARALLEL"), "collective_seq_id": completed + 1, "state": "scheduled",
        "profiling_name": "nccl:all_reduce", "time_created_ns": 1, "frames": [],
    }  # fmt: skip
    return {
        "version": "2.9",
        "nccl_version": "2.27.3",
        "pg_config": {
            "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
            "20": {"name": "20", "desc": "DATA_PARALLEL", "ranks": "[0, 1, 2, 3]"},
        },
        "pg_status": {
            "0": {"last_enqueued_collective": 5, "last_started_collective": -1, "last_completed_collective": 5},
            "4": {
                "last_enqueued_collective": enqueued,
                "last_started_collective": -1,
                "last_completed_collective": completed,
            },
        },
        "entries": [entry] if pending else [],
    }


def facts(*files: tuple[str, bytes]) -> dict[str, object]:
    records = [readers.read(data, name) for name, data in files]
    assert {record.read.format for record in records} == {"flight_recorder"}
    return {one.fact: one.value for one in incident(records, []) if isinstance(one, FactReading)}


@pytest.mark.parametrize("write", [pickle.dumps, lambda value: json.dumps(value).encode()])
def test_the_rank_that_launched_less(write: Any) -> None:
    files = [(f"_dump_{rank}", write(dump(9, 9, False) if rank == 2 else dump(12, 9))) for rank in range(4)]
    found = facts(*files)
    assert (found["collective.lagging_rank"], found["collective.ranks_behind"]) == (2.0, 1.0)
    assert found["collective.op"] == "all_reduce"


def test_a_dump_that_is_not_there() -> None:
    found = facts(*((f"_dump_{rank}", pickle.dumps(dump(12, 9))) for rank in (0, 1, 3)))
    assert found["collective.lagging_rank"] == 2.0


def test_a_single_idle_rank_and_a_single_waiting_one() -> None:
    assert facts(("_dump_3", pickle.dumps(dump(9, 9, False))))["collective.lagging_rank"] == 3.0
    assert facts(("_dump_3", pickle.dumps(dump(12, 9)))) == {}


class _Runs:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("exit 1",)


def test_no_code_is_run() -> None:
    record = readers.read(pickle.dumps(dump(1, 1) | {"entries": [_Runs()]}), "_dump_0")
    assert not record.events
    assert "plain values only" in record.not_understood[0]


@pytest.mark.parametrize("part", [0.3, 0.7, 0.99])
def test_a_cut_dump_says_so(part: float) -> None:
    data = pickle.dumps(dump(12, 9))
    record = readers.read(data[: int(len(data) * part)] or data[:1], "_dump_0")
    assert record.events == ()
    assert record.not_understood


def test_a_memo_index_allocates_nothing() -> None:
    data = pickle.dumps(dump(12, 9), protocol=2)
    record = readers.read(data[:-1] + b"r\xff\xff\xff\x7f.", "_dump_0")  # LONG_BINPUT 2147483647
    assert record.events


def test_wrong_kinds_of_values() -> None:
    odd = dump(12, 9) | {"pg_status": {"0": 3, "4": {"last_enqueued_collective": "x"}}, "entries": {"a": 1}}
    assert readers.read(pickle.dumps(odd), "_dump_0").not_understood


WAIT = "    broadcast (torch/distributed/distributed_c10d.py:1191)\n    train (train.py:90)\n"
LOAD = "    wait (threading.py:306)\n    _try_get_data (torch/utils/data/dataloader.py:1011)\n    train (train.py:80)\n"


def stacks(*groups: tuple[int, str]) -> str:
    heads = (count * 'Thread 0x7F01 (active): "MainThread"\n' + stack + "\n" for count, stack in groups)
    return "Process 12: python train.py\nPython v3.11.4\n\n" + "".join(heads)


def findings(*texts: str) -> set[str]:
    records = [readers.read(text.encode(), f"stack{at}.txt") for at, text in enumerate(texts)]
    assert {record.read.format for record in records} == {"py_spy"}
    return {getattr(one, "finding", "") for one in incident(records, [])}


def test_the_smallest_group_is_the_suspect() -> None:
    assert findings(stacks((7, WAIT), (1, LOAD))) == {
        "hang.no-progress", "collective.rank-still-working", "hang.in-data-loading",
    }  # fmt: skip


def test_one_file_a_rank_is_one_job() -> None:
    assert "collective.rank-still-working" in findings(*[stacks((1, WAIT))] * 5, stacks((1, LOAD)))


def test_equal_stacks_blame_nobody() -> None:
    assert findings(stacks((8, WAIT))) == set()
    assert findings(stacks((4, WAIT), (4, WAIT.replace("broadcast", "all_reduce")))) == set()
