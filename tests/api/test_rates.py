"""Rates: what is let through, how long the rest waits, and that counts stay bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import rates
from api.rates import Meter, Rate


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("text", "rate"),
    [("120/minute", Rate(120, 60)), (" 5/Second ", Rate(5, 1)), ("1/hour", Rate(1, 3600))],
)
def test_written_rates(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate


@pytest.mark.parametrize(
    "text", ["", "0/minute", "-1/minute", "1.5/minute", "10", "10/day", "10 a minute", "1/ minute"]
)
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="120/minute"):
        Rate.parse(text)


@given(count=st.integers(1, 500), seconds=st.sampled_from([1, 60, 3600]))
def test_the_count_at_once_and_then_steadily(count: int, seconds: int) -> None:
    clock = Clock()
    meter, rate = Meter(clock), Rate(count, seconds)
    assert [meter.take(rate, "k", "a") for _ in range(count)] == [0.0] * count
    wait = meter.take(rate, "k", "a")
    assert wait == pytest.approx(seconds / count, rel=1e-3)
    clock.now += wait
    assert meter.take(rate, "k", "a") == 0.0
    assert meter.take(rate, "k", "a") > 0.0


@given(st.lists(st.floats(0, 30), max_size=300))
def test_never_more_than_the_rate_allows(pauses: list[float]) -> None:
    clock = Clock()
    meter, rate = Meter(clock), Rate(10, 60)
    passed = 0
    for pause in pauses:
        clock.now += pause
        passed += meter.take(rate, "k", "a") == 0.0
    assert passed <= 10 + sum(pauses) * 10 / 60 + 1e-3


def test_keys_and_kinds_do_not_share() -> None:
    meter, rate = Meter(Clock()), Rate(1, 60)
    assert [meter.take(rate, kind, key) for kind in "ab" for key in "xy"] == [0.0] * 4
    assert meter.take(rate, "a", "x") > 0.0


def test_a_refusal_counts_for_nothing() -> None:
    clock = Clock()
    meter, rate = Meter(clock), Rate(1, 60)
    meter.take(rate, "k", "a")
    waits = [meter.take(rate, "k", "a") for _ in range(5)]
    assert waits == [waits[0]] * 5


def test_counts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_KEYS", 10)
    clock = Clock()
    meter, rate = Meter(clock), Rate(2, 60)
    for number in range(100):
        meter.take(rate, "k", str(number))
        assert len(meter._steady) <= 10
    meter.take(rate, "k", "kept")
    clock.now += 20  # the others still owe, so nobody but those who do not is forgotten
    for number in range(5):
        meter.take(rate, "k", f"new {number}")
    assert meter.wait(Rate(1, 60), "k", "kept") > 0.0
