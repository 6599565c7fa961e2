"""What a reader of console records looks like to the loop that feeds it."""

from __future__ import annotations

from typing import Protocol


class Grammar(Protocol):
    """Takes the metric records of one tool out of blocks of lines, and adds them to a ``SeriesBuilder``.

    ``last_line`` is that of the latest record, ``finished_line`` that of a record which ends a run (0: none),
    ``new_run_at`` and ``resumed_at`` are lines where another run, or the same run after a break, begins.
    """

    name: str
    records: int
    last_line: int
    finished_line: int
    config: dict[str, object]
    remarks: list[str]
    new_run_at: list[int]
    resumed_at: list[int]

    def concerns(self, text: bytes) -> bool:
        """Tell quickly whether the text may hold anything of this tool: a block is asked once."""
        ...

    def take(self, numbers: list[int], lines: list[bytes], places: list[int]) -> list[int]:
        """Use the records among ``lines[places]``; return the places of the lines that are left."""
        ...

    def finish(self) -> None:
        """Use what is still held back; called once after the last block."""
        ...
