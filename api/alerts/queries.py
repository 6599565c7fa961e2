"""The queries that the settings allow: which series of a Prometheus server belong to an alert.

A file such as::

    tenant: default        # whose cases may see these series
    window_minutes: 30     # before and after the start of the alert
    step_seconds: 15
    queries:
      - series: loss
        query: 'train_loss{job="{job}"}'
      - series: gpu_utilisation
        query: 'avg by (gpu) (DCGM_FI_DEV_GPU_UTIL{instance="{instance}"})'
        alerts: [GpuIdle]

``"{name}"`` stands for the alert's label of that name as a string of PromQL. A query whose labels the alert does not
have is not asked.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from engine.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MOST_QUERIES = 20
MOST_POINTS = 2_000  # of one series in one answer; Prometheus itself gives at most 11,000
_LABEL = r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}"
_GAP = re.compile(f'"{_LABEL}"')
# As a regular expression a label could match more than itself; in other quotes it would not be filled.
_MATCHED = re.compile(rf'[=!]~\s*"[^"]*{_LABEL}')
_MISQUOTED = re.compile(rf"['`][^'`\"]*{_LABEL}[^'`\"]*['`]")
_PARTIAL = re.compile(rf'"[^"{{}}]+{_LABEL}|{_LABEL}[^"{{}}]+"')


class QueriesError(ValueError):
    """The file of queries cannot be used; the text says why, in one line."""


class SeriesQuery(Frozen):
    """One query, and the series that its answer is."""

    series: Annotated[str, StringConstraints(max_length=200)]
    query: Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
    alerts: tuple[str, ...] = Field((), description="Names of the alerts it is asked for; all, if there are none.")

    @field_validator("series")
    @classmethod
    def _is_known(cls, series: str) -> str:
        from engine.evidence.readers.machines.metrics import is_gpu_metric
        from engine.evidence.readers.names import canonical

        if not (canonical(series).known or is_gpu_metric(series)):
            raise ValueError(f"{series!r} is no series this service knows; loss and grad_norm are")
        return series

    @field_validator("query")
    @classmethod
    def _can_be_filled(cls, query: str) -> str:
        if _MATCHED.search(query):
            raise ValueError('a label may be compared with = and != only: job="{job}"')
        if _MISQUOTED.search(query) or _PARTIAL.search(query):
            raise ValueError('write a label alone in double quotes: job="{job}"')
        return query

    def filled(self, labels: Mapping[str, str]) -> str | None:
        """The query for an alert with ``labels``; None if it lacks one that is needed."""
        if not all(labels.get(name) for name in _GAP.findall(self.query)):
            return None
        # Strings of PromQL are those of Go, whose escapes take in those of JSON.
        return _GAP.sub(lambda gap: json.dumps(labels[gap[1]], ensure_ascii=False), self.query)


class Queries(Frozen):
    """All of them."""

    tenant: str = "default"
    window_minutes: float = Field(30.0, gt=0, le=1_440)
    step_seconds: float = Field(15.0, ge=1, le=3_600)
    queries: tuple[SeriesQuery, ...] = Field(min_length=1, max_length=MOST_QUERIES)

    @model_validator(mode="after")
    def _fits(self) -> Queries:
        if 2 * self.window_minutes * 60 / self.step_seconds > MOST_POINTS:
            raise ValueError(f"more than {MOST_POINTS:,} points a series: take a longer step or a shorter window")
        return self


def load(path: Path) -> Queries:
    """The queries in a YAML file.

    Raises:
        QueriesError: if it cannot be used.
    """
    from engine.evidence.case_file import CaseError, parse_document

    try:
        return Queries.model_validate(parse_document(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise QueriesError(f"{path} cannot be read: {type(error).__name__}") from error
    except CaseError as error:
        where, reason = error.problems[0]
        raise QueriesError(f"{path}, {where}: {reason}") from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise QueriesError(f"{path}, {where}: {first['msg'].removeprefix('Value error, ')}") from error
