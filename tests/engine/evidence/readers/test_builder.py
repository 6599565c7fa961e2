"""Columns of numbers to series: names, repeats, and thinning that loses no event."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.readers.builder import MAX_POINTS, SeriesBuilder
from engine.evidence.series import Series


def built(values: np.ndarray, pieces: int = 7) -> tuple[Series, list[str]]:
    builder = SeriesBuilder("run.log")
    steps = np.arange(1, len(values) + 1, dtype=np.float64)
    lines = np.arange(1, len(values) + 1)
    for part in np.array_split(np.arange(len(values)), pieces):
        builder.add("lm loss", steps[part], values[part], lines[part])
    (series,), remarks = builder.build()
    return series, remarks


def test_a_series_of_common_length_is_kept_whole() -> None:
    values = np.random.default_rng(1).normal(2.0, 0.1, 20_000)
    series, remarks = built(values)
    assert np.array_equal(series.values, values)
    assert not remarks


@pytest.mark.parametrize("count", [MAX_POINTS + 1, 3 * MAX_POINTS, 12 * MAX_POINTS + 5])
def test_a_long_series_is_thinned_evenly_and_keeps_its_extremes(count) -> None:
    values = np.random.default_rng(2).normal(2.0, 0.1, count)
    spike, low, broken = count // 5, count // 2, count - count // 3
    values[spike], values[low], values[broken] = 50.0, -3.0, np.nan
    series, remarks = built(values, pieces=200)
    assert len(series) <= MAX_POINTS
    assert "a part was kept" in remarks[0]
    assert series.steps[series.values == 50.0].tolist() == [spike + 1]
    assert series.steps[series.values == -3.0].tolist() == [low + 1]
    assert series.steps[np.isnan(series.values)].tolist() == [broken + 1]
    assert series.lines is not None
    assert np.array_equal(series.lines, series.steps)
    assert np.all(np.diff(series.steps) > 0)
    quarters = np.histogram(series.steps, bins=4, range=(0, count))[0]
    assert quarters.min() > 0.8 * quarters.max()


def test_a_series_of_nothing_but_nan() -> None:
    series, _ = built(np.full(2 * MAX_POINTS, np.nan))
    assert len(series) <= MAX_POINTS
    assert series.steps[0] == 1
