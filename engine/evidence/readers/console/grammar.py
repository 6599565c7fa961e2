"""What a reader of console records is to the loop that feeds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.evidence.readers.builder import SeriesBuilder
from engine.model.evidence import FactReading


@dataclass(slots=True)
class Grammar(ABC):
    """Takes the metric records of one tool out of blocks of lines, and adds them to a ``SeriesBuilder``.

    ``last_line`` is that of the latest record, ``finished_line`` that of a record which ends a run (0: none),
    ``new_run_at`` and ``resumed_at`` are lines where another run, or the same run after a break, begins; ``readings``
    are facts that the log states outright.
    """

    builder: SeriesBuilder
    name: str = ""
    records: int = 0
    last_line: int = 0
    finished_line: int = 0
    config: dict[str, object] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    new_run_at: list[int] = field(default_factory=list)
    resumed_at: list[int] = field(default_factory=list)
    readings: list[FactReading] = field(default_factory=list)

    @abstractmethod
    def concerns(self, text: bytes) -> bool:
        """Tell quickly whether the text may hold anything of this tool: a block is asked once."""

    @abstractmethod
    def take(self, numbers: Sequence[int], lines: list[bytes], places: Sequence[int]) -> Sequence[int]:
        """Use the records among ``lines[places]``; return the places of the lines that are left, rising."""

    def finish(self) -> None:
        """Use what is still held back; called once after the last block."""
        return
