"""The case document: everything a caller may send to be diagnosed (the same body on REST and CLI)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints, field_validator

from engine.model.base import Frozen
from engine.model.kb import PARADIGM_ALIASES, Paradigm

MAX_REPORT = 200_000
MAX_OBSERVATIONS = 2_000
MAX_LOG_LINES = 100_000
MAX_SERIES = 500
MAX_SERIES_POINTS = 1_000_000
MAX_FILES = 200


class Observation(Frozen):
    """Anything known, under any name. The value is a number, a bool, a text or a list; NaN and infinity are fine."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    value: Any = Field(None, description="Number, boolean, text, or list of these. NaN and Infinity are understood.")
    unit: Annotated[str, StringConstraints(max_length=40)] | None = None


class SeriesInput(Frozen):
    """A metric over steps. Values may be numbers, "nan", "inf" or null (a gap)."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    values: Annotated[list[Any], Field(max_length=MAX_SERIES_POINTS)]
    steps: Annotated[list[float], Field(max_length=MAX_SERIES_POINTS)] | None = None
    unit: Annotated[str, StringConstraints(max_length=40)] | None = None


class Contrast(Frozen):
    """Something works one way and fails another: ``{dimension: version, good: "2.17", bad: "2.20"}``."""

    dimension: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    good: Any = None
    bad: Any = None


class Case(Frozen):
    """What the person on call has. Every key is optional, but one of them must carry something."""

    paradigm: Paradigm | None = Field(None, description="What kind of training or task it is, if known.")
    report: Annotated[str, StringConstraints(max_length=MAX_REPORT)] = Field(
        "", description="Free text in English or Chinese, or both."
    )
    observations: Annotated[list[Observation], Field(max_length=MAX_OBSERVATIONS)] = []
    log: list[str] = Field(
        default=[], description="Log lines; one string is split at line ends.", max_length=MAX_LOG_LINES
    )
    series: Annotated[list[SeriesInput], Field(max_length=MAX_SERIES)] = []
    files: dict[str, Any] = Field(
        default={}, description="File fragments by name, as keys or as text.", max_length=MAX_FILES
    )
    facts: dict[str, Any] = Field(
        default={}, description="Facts and findings by canonical id, e.g. {'run.precision': 'fp16'}.", max_length=2_000
    )
    contrast: list[Contrast] = Field(default=[], max_length=100)

    @field_validator("paradigm", mode="before")
    @classmethod
    def _paradigm_alias(cls, value: Any) -> Any:
        return PARADIGM_ALIASES.get(value, value) if isinstance(value, str) else value

    @field_validator("log", mode="before")
    @classmethod
    def _split_log(cls, value: Any) -> Any:
        if value is None:
            return []
        return value.splitlines() if isinstance(value, str) else value

    @field_validator("report", mode="before")
    @classmethod
    def _no_report(cls, value: Any) -> Any:
        return "" if value is None else value

    @property
    def words(self) -> str:
        """What a person wrote and named, to be compared with what is written of the causes; log lines are not words."""
        named = (f"{item.name} {item.value}".replace("_", " ")[:500] for item in self.observations)
        metrics = (series.name.replace("_", " ") for series in self.series)
        return "\n".join(filter(None, (self.report, *named, *metrics)))

    @property
    def is_empty(self) -> bool:
        return not (
            self.report.strip()
            or self.observations
            or self.log
            or self.series
            or self.files
            or self.facts
            or self.contrast
        )
