"""Values as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evidence.numbers import MAX_NUMBER, Quantity, chinese_number, in_unit, parse, truth_of
from engine.evidence.units import UnitError


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("3e-4", None, 3e-4),
        ("1,024", None, 1024),
        ("1_000", None, 1000),
        ("-0.5", None, -0.5),
        (".5", None, 0.5),
        ("500 MB", "bytes", 5e8),
        ("512MiB", "bytes", 512 * 2**20),
        ("80GB", "GB", 80),
        ("2k", None, 2000),
        ("7B", None, 7e9),
        ("7B", "bytes", 7),
        ("104B nominal", "count", 104e9),
        ("2M tokens", "tokens", 2e6),
        ("65 %", "ratio", 0.65),
        ("６５％", "ratio", 0.65),
        ("百分之65", "ratio", 0.65),
        ("百分之六十五", "ratio", 0.65),
        ("about 14%", "ratio", 0.14),
        ("65", "ratio", 65),
        ("三十分钟", "s", 1800),
        ("30分钟", "s", 1800),
        ("2小时", "min", 120),
        ("1.2万", None, 12_000),
        ("3亿", None, 3e8),
        ("1 day, 0:08:23", "s", 86_903),
        ("0:08:23", "s", 503),
        ("12:30", "s", 750),
        ("1h 30m", "s", 5400),
        ("1小时30分钟", "s", 5400),
        ("8x H100", "count", 8),
        ("4x", "count", 4),
        ("0.999, also tried 0.95", None, 0.999),
        ("34 (first time)", None, 34),
        (10**15, None, 1e15),
        (2.5, None, 2.5),
        ([16], None, 16),
    ],
)
def test_one_number(text: object, unit: str | None, value: float) -> None:
    parsed = parse(text)
    assert parsed.shape == "number"
    assert in_unit(parsed.quantities[0], unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "shape", "numbers"),
    [
        ("3+ to 4+", "range", [3, 4]),
        ("10-20", "range", [10, 20]),
        ("-0.5 to -3", "range", [-0.5, -3]),
        ("1e-8, 1e-6", "list", [1e-8, 1e-6]),
        ("1e-8, 1e-6 (identical)", "list", [1e-8, 1e-6]),
        ([1, 2.5], "list", [1, 2.5]),
    ],
)
def test_several_numbers(text: object, shape: str, numbers: list[float]) -> None:
    parsed = parse(text)
    assert parsed.shape == shape
    assert [quantity.number for quantity in parsed.quantities] == numbers


def test_a_range_shares_its_suffix() -> None:
    assert [in_unit(q, None) for q in parse("160-192k").quantities] == [160_000, 192_000]


@pytest.mark.parametrize("text", ["nan", "NaN", ".nan", math.nan])
def test_nan(text: object) -> None:
    nonfinite = parse(text).nonfinite
    assert nonfinite is not None
    assert math.isnan(nonfinite)


@pytest.mark.parametrize(("text", "value"), [("-Infinity", -math.inf), ("inf", math.inf), (-math.inf, -math.inf)])
def test_infinity(text: object, value: float) -> None:
    assert parse(text).nonfinite == value


@pytest.mark.parametrize(
    "text", ["fp16 (O1)", "1 and 16 equal speed", "16 or more", "", "also with 1", "v2.17rc1 or so"]
)
def test_no_number(text: str) -> None:
    assert parse(text).shape in ("text", "none")


@pytest.mark.parametrize("raw", [10**15 + 1, 2**63, -(10**16), 10**500, "1e400", "9" * 30, "9" * 5000, "2e15", 1e300])
def test_beyond_the_limit_stays_text(raw: object) -> None:
    parsed = parse(raw)
    assert parsed.shape == "text"
    assert not parsed.quantities


def test_a_magnitude_may_not_lift_a_number_over_the_limit() -> None:
    with pytest.raises(UnitError, match="1e15"):
        in_unit(parse("9000 T").quantities[0], None)


@pytest.mark.parametrize(
    ("raw", "truth"),
    [
        (True, True), (1, True), (1.0, True), ("yes", True), ("On", True), ("是", True), ("已开启", True),
        (False, False), (0, False), ("off", False), ("否", False), ("disabled", False), ("没有", False),
        ("1", True), (" 0 ", False),
        (2, None), ("2", None), ("maybe", None), (None, None), (math.nan, None), ([True], None),
    ],
)  # fmt: skip
def test_words_of_truth(raw: object, truth: bool | None) -> None:
    assert truth_of(raw) is truth


@pytest.mark.parametrize(
    ("text", "value"),
    [("三十", 30), ("十", 10), ("一百零五", 105), ("一万二千", 12_000), ("两亿", 2 * 10**8), ("零", 0)],
)
def test_chinese_numerals(text: str, value: int) -> None:
    assert chinese_number(text) == value


def test_unknown_unit_is_an_error() -> None:
    with pytest.raises(UnitError, match="furlong"):
        in_unit(Quantity(3, "furlong"), "s")


@given(st.one_of(st.text(max_size=80), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())))
def test_anything_has_a_shape(raw: object) -> None:
    parsed = parse(raw)
    assert all(math.isfinite(q.number) and abs(q.number) <= MAX_NUMBER for q in parsed.quantities)
    assert bool(parsed.quantities) == (parsed.shape in ("number", "range", "list"))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_number_survives_its_text(value: float) -> None:
    assert parse(repr(value)).quantities[0].number == value
