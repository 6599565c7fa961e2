"""How a log ended, by its last lines."""

from __future__ import annotations

import pytest

from engine.evidence.readers.console.ending import run_end
from engine.evidence.series import LogEvent


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("srun: error: node-3: task 7: Exited with exit code 1", "crashed"),
        ("srun: error: node-3: tasks 0-7: Killed", "crashed"),
        ("srun: error: node-3: task 7: Terminated", "unknown"),
        ("Fatal Python error: Segmentation fault", "crashed"),
        ("[launch.py:321:sigkill_handler] python exits with return code = -9", "crashed"),
        ("[launch.py:321:sigkill_handler] python exits with return code = 0", "unknown"),
        ("[Rank 0] Process group watchdog thread terminated with exception: timeout", "crashed"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***", "cancelled"),
        ("KeyboardInterrupt", "stopped"),
        ("[after training is done] datetime: 2026-01-01", "finished"),
        ("loss 2.1 at step 100", "unknown"),
    ],
)
def test_marks_of_an_end(line: str, kind: str) -> None:
    assert run_end([LogEvent(10, line)], after_line=5, finished_line=0, label="log").kind == kind


def test_what_the_run_survived_is_no_end() -> None:
    assert run_end([LogEvent(3, "Fatal Python error: x")], after_line=5, finished_line=0, label="log").kind == "unknown"
