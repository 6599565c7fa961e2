"""Numbers at places of a text are the floats that Python reads, whatever stands beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.readers.decimals import numbers_at, numbers_between

NUMBERS = st.one_of(
    st.floats().map(repr).map(lambda text: text.replace("nan", "NaN").replace("inf", "Infinity")),
    st.integers(0, 10**30).map(str),
    st.integers(-999, 999).map(str),
    st.builds(lambda value, digits: f"{value:.{digits}f}", st.floats(-1e6, 1e6), st.integers(0, 9)),
    st.builds(lambda value, digits: f"{value:.{digits}E}", st.floats(-1e300, 1e300), st.integers(0, 16)),
    st.sampled_from([".5", "5.", "+3", "-.5", "1e5", "12e-05", "00012", "-0.0"]),
)


def at_once(words: list[str], before: str = "") -> list[float] | None:
    """The words as they would stand behind each other in a file."""
    starts, text = [], before
    for word in words:
        starts.append(len(text))
        text += word + ", "
    codes = np.frombuffer(text.encode("latin-1"), np.uint8)
    values = numbers_at(codes, np.array(starts), np.array([len(word) for word in words]))
    return None if values is None else values.tolist()


def same(left: float, right: float) -> bool:
    return (math.isnan(left) and math.isnan(right)) or (left, math.copysign(1, left)) == (
        right,
        math.copysign(1, right),
    )


@settings(max_examples=30)
@given(st.lists(NUMBERS, min_size=1, max_size=60), st.sampled_from(["", '{"step": ']))
def test_every_number_is_the_float_that_python_reads(words: list[str], before: str) -> None:
    values = at_once(words, before)
    assert values is not None
    assert all(same(value, float(word)) for value, word in zip(values, words, strict=True)), words


@pytest.mark.parametrize(
    "wrong", ["1.2.3", "e5", "-", "--5", "1e", "nil", "5-1.5", "+", ".", "1_0", "\xb2\xb3", "9" * 32]
)
@pytest.mark.parametrize("others", [["1"], ["1.5"] * 9 + ["22.5"] * 9, ["7e5", "1e-5", "NaN"] * 5])
def test_what_is_no_number_is_refused_among_any_others(wrong: str, others: list[str]) -> None:
    assert at_once([*others, wrong]) is None
    assert at_once([wrong, *others]) is None


def test_more_layouts_than_are_looked_for_are_read_one_by_one() -> None:
    words = [
        f"{'1' * before}.{'2' * after}e{exponent}"
        for before in (1, 2)
        for after in range(1, 9)
        for exponent in range(5, 12)
    ]
    assert at_once(words) == [float(word) for word in words]


def test_columns_of_equal_rows_are_read_wherever_they_stand() -> None:
    grid = np.frombuffer(b"7 1,234.5 x\n8 9,876.5 x\n", np.uint8).reshape(2, 12)
    first, second = numbers_between(grid, 0, 1), numbers_between(grid, 2, 9)
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.tolist()) == ([7.0, 8.0], [1234.5, 9876.5])
    assert numbers_between(grid, 8, 11) is None
