"""Whom a collective waits for."""

from __future__ import annotations

import pytest

from engine.evidence import readers
from engine.evidence.ranks import incident
from engine.evidence.series import RunRecord
from engine.model.evidence import FactReading


def watchdog(rank: int, sequence: int, operation: str = "ALLREDUCE") -> str:
    return (
        f"[rank{rank}]:[E520 06:31:05.05 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: WorkNCCL(SeqNum={sequence}, OpType={operation}, NumelIn=16, NumelOut=16, "
        "Timeout(ms)=600000) ran for 600112 milliseconds before timing out.\n"
    )


def status(rank: int, enqueued: int, completed: int) -> str:
    return (
        f"[rank{rank}]:[E520 06:31:05.05 ProcessGroupNCCL.cpp:2396] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  "
        f"failure detected by watchdog at work sequence id: {completed + 1} PG status: "
        f"last enqueued work: {enqueued}, last started work: -1 (), last completed work: {completed}\n"
    )


def lagging(*texts: tuple[str, str]) -> dict[str, object]:
    records: list[RunRecord] = [readers.read(text.encode(), name) for name, text in texts]
    return {one.fact: one.value for one in incident(records, []) if isinstance(one, FactReading)}


def test_the_lowest_sequence_number_is_the_culprit() -> None:
    text = "".join(watchdog(rank, 41 if rank == 5 else 42, "ALLGATHER") for rank in range(8))
    found = lagging(("log", text))
    assert found["collective.lagging_rank"] == 5.0
    assert found["collective.ranks_behind"] == 1.0
    assert found["collective.op"] == "ALLGATHER"


def test_the_rank_that_does_not_report() -> None:
    text = "world_size: 8\n" + "".join(watchdog(rank, 42) for rank in range(8) if rank != 6)
    assert lagging(("log", text))["collective.lagging_rank"] == 6.0


def test_one_reporting_rank_tells_nothing_of_the_others() -> None:
    assert "collective.lagging_rank" not in lagging(("log", "world_size: 8\n" + watchdog(0, 3) + status(0, 3, 2)))


def test_all_at_the_same_number_blame_nobody() -> None:
    text = "".join(watchdog(rank, 42) for rank in range(4))
    assert "collective.lagging_rank" not in lagging(("log", text))


def test_work_that_was_not_launched() -> None:
    files = [(f"rank{rank}.log", status(rank, 9 if rank == 2 else 10, 9)) for rank in range(4)]
    assert lagging(*files)["collective.lagging_rank"] == 2.0


def test_a_desync_report_names_the_rank_itself() -> None:
    text = " - [0] Timeout at collective: ALLREDUCE, #3\n[1] finished collective #2, but didn't join collective #3\n"
    assert lagging(("log", text))["collective.lagging_rank"] == 1.0


@pytest.mark.parametrize("odd", range(3))
def test_the_order_of_the_files_does_not_matter(odd: int) -> None:
    files = [(f"rank{rank}.log", watchdog(rank, 7 if rank == 1 else 8)) for rank in range(3)]
    assert lagging(*files[odd:], *files[:odd])["collective.lagging_rank"] == 1.0
