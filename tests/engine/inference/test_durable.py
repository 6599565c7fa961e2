"""The one narrow way in which durable-rules is used: packing, limits, and the life of a shard."""

from __future__ import annotations

import pytest

from engine.inference.durable import MAX_PROPERTIES, MAX_RULES, DurableError, Shard, Shards
from engine.inference.properties import member_json


def literal(index: int, value: str = "1") -> tuple[int, str]:
    return index, f'{{"p{index}":{value}}}'


def members(*properties: int) -> dict[int, str]:
    return {index: member_json(index, 1) for index in properties}


@pytest.fixture
def build():
    """Shards that are closed after the test."""
    made: list[Shards] = []

    def make(conjunctions) -> Shards:
        made.append(Shards(conjunctions, "test"))
        return made[-1]

    yield make
    for shards in made:
        shards.close()


def test_each_rule_is_found_in_whatever_shard_it_lies(build) -> None:
    shards = build([[literal(number % 7, str(number))] for number in range(2 * MAX_RULES + 1)])
    for number in range(2 * MAX_RULES + 1):
        assert shards.fired({number % 7: member_json(number % 7, number)}) == [number]


def test_more_properties_than_a_shard_takes(build) -> None:
    shards = build([[literal(10 * number + i) for i in range(10)] for number in range(25)])
    assert sorted(shards.fired(members(*range(250)))) == list(range(25))
    with pytest.raises(DurableError, match=f"at most {MAX_PROPERTIES} properties, got 241"):
        build([[literal(i) for i in range(MAX_PROPERTIES + 1)]])


def test_a_rule_with_a_property_that_is_not_there_does_not_fire(build) -> None:
    shards = build([[literal(0), literal(1)], [literal(1)], [literal(2), literal(3)]])
    assert shards.fired(members(1, 2)) == [1]
    assert sorted(shards.fired(members(0, 1, 900))) == [0, 1]
    assert shards.fired(members(900)) == []
    assert shards.fired({}) == []
    assert build([]).fired(members(0)) == []


@pytest.mark.parametrize("rules", [0, MAX_RULES + 1])
def test_a_shard_refuses_what_would_break_the_engine(rules) -> None:
    with pytest.raises(DurableError, match=f"1 to {MAX_RULES} rules, got {rules}"):
        Shard("test", {str(number): ['{"p0":1}'] for number in range(rules)})


def test_all_rules_of_a_full_shard_fire_together() -> None:
    """The extension's match stack holds 64: more matches of one fact at once would be error 303."""
    shard = Shard("test", {str(number): [f'{{"$gte":{{"p0":{number}}}}}'] for number in range(MAX_RULES)})
    assert sorted(map(int, shard.fired([member_json(0, 1000.0)]))) == list(range(MAX_RULES))
    assert shard.fired([member_json(0, -1.0)]) == []
    shard.close()


def test_the_session_forgets_each_case() -> None:
    shard = Shard("test", {"both": ['{"p0":1}', '{"p1":1}']})
    assert shard.fired([member_json(0, 1)]) == []
    assert shard.fired([member_json(1, 1)]) == []
    assert shard.fired([member_json(0, 1), member_json(1, 1)]) == ["both"]
    shard.close()
    shard.close()


@pytest.mark.parametrize(
    ("number", "json"),
    [
        (1e-05, "1.0e-05"), (5e-324, "5.0e-324"), (1.5e-05, "1.5e-05"), (1e16, "1.0e+16"), (-1e-07, "-1.0e-07"),
        (-0.0, "-0.0"), (3.0, "3.0"), (True, "1"), (False, "0"), (-1, "-1"),
    ],
)  # fmt: skip
def test_numbers_as_the_engine_can_read_them(number, json) -> None:
    assert member_json(3, number) == f'"p3":{json}'
