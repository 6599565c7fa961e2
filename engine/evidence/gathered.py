"""What has been read of a case so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.evidence.normalise import Readings
from engine.model.base import Text
from engine.model.evidence import FactReading, FindingReading, NotUnderstood, Reading


class Gathered:
    """What has been read so far."""

    def __init__(self) -> None:
        self.facts: list[FactReading] = []
        self.findings: list[FindingReading] = []
        self.held: list[FactReading] = []
        self.not_understood: list[NotUnderstood] = []
        self.read: list[dict[str, Any]] = []
        self.judged: list[Text] = []
        self.not_judged: list[tuple[Text, Text]] = []

    def add(self, found: Iterable[Reading]) -> None:
        for reading in found:
            if isinstance(reading, FactReading):
                self.facts.append(reading)
            else:
                self.findings.append(reading)

    def take(self, readings_: Readings) -> None:
        self.facts += readings_.facts
        self.findings += readings_.findings
        self.held += readings_.held
        self.not_understood += readings_.not_understood
