"""Records that are pieces of one run, and pieces of one series."""

from __future__ import annotations

import numpy as np

from engine.evidence.series import ReadNote, RunEnd, RunRecord, Series, continued, together
from engine.model.evidence import Source


def series(name: str, first: int, last: int, every: int = 10) -> Series:
    steps = np.arange(first, last + 1, every, dtype=np.float64)
    return Series(name, steps, np.full(len(steps), float(first)), origin=f"{name}-{first}")


def record(file: str, *of: Series, run: str = "", end: str = "unknown") -> RunRecord:
    return RunRecord(ReadNote(file, "test", 1, 1), RunEnd(end, Source("measured", file)), of, run=run)


def spans(made) -> list[tuple[str, float, float, int]]:
    return [(one.name, float(one.steps[0]), float(one.steps[-1]), len(one)) for one in made]


def test_pieces_are_joined_in_the_order_of_their_steps() -> None:
    made = continued([series("loss", 100, 190), series("loss", 0, 90), series("eval_loss", 0, 50)])
    assert sorted(spans(made)) == [("eval_loss", 0, 50, 6), ("loss", 0, 190, 20)]


def test_what_a_resume_repeats_stays() -> None:
    (made,) = continued([series("loss", 0, 100), series("loss", 80, 200)])
    assert float(np.diff(made.steps).min()) == -20.0


def test_two_runs_side_by_side_are_not_one_series() -> None:
    made = continued([series("loss", 0, 100), series("loss", 0, 90), series("loss", 100, 200)])
    assert sorted(spans(made)) == [("loss", 0, 90, 10), ("loss", 0, 200, 22)]


def test_files_with_one_run_name_are_one_record() -> None:
    made = together([
        record("run/a", series("loss", 0, 90), run="run"),
        record("run/b", series("lr", 0, 90), run="run", end="crashed"),
        record("other", series("loss", 0, 90)),
    ])  # fmt: skip
    assert [sorted(one.name for one in part.series) for part in made] == [["loss", "lr"], ["loss"]]
    assert made[0].end.kind == "crashed"


def test_a_lightning_version_that_goes_on_belongs_to_the_one_before() -> None:
    made = together([
        record("logs/version_1/metrics.csv", series("loss", 100, 190)),
        record("logs/version_0/metrics.csv", series("loss", 0, 90)),
    ])  # fmt: skip
    assert [spans(part.series) for part in made] == [[("loss", 0, 190, 20)]]


def test_the_versions_of_a_sweep_stay_apart() -> None:
    parts = [record(f"logs/version_{n}/metrics.csv", series("loss", 0, 90)) for n in range(3)]
    assert len(together(parts)) == 3
