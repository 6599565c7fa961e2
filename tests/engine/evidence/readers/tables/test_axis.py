"""Axes of tables: times in seconds, whatever their unit."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.readers.tables.axis import seconds


@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.inf]])
def test_times_that_are_none(values):
    assert np.array_equal(seconds(np.array(values)), np.array(values), equal_nan=True)


def test_milliseconds_since_1970_become_seconds():
    assert seconds(np.array([1.7e12, np.nan, 1.7e12 + 500]))[[0, 2]].tolist() == [1.7e9, 1.7e9 + 0.5]
