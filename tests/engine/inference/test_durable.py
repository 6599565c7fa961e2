"""The one narrow way in which durable-rules is used: packing, limits, and the life of a shard."""

from __future__ import annotations

import pytest

from engine.inference.durable import MAX_PROPERTIES, MAX_RULES, DurableError, Shard, sharded
from engine.inference.properties import member_json


def literal(index: int, value: str = "1") -> tuple[int, str]:
    return index, f'{{"p{index}":{value}}}'


def test_sixty_rules_a_shard() -> None:
    rules = {str(number): [literal(number % 7, str(number))] for number in range(61)}
    shards = sharded(rules, "test")
    assert len(shards) == 2
    fired = [
        [name for shard in shards for name in shard.fired({number % 7: member_json(number % 7, number)})]
        for number in range(61)
    ]
    assert fired == [[str(number)] for number in range(61)]
    for shard in shards:
        shard.close()


def test_at_most_240_properties_a_shard() -> None:
    rules = {str(number): [literal(10 * number + i) for i in range(10)] for number in range(25)}
    shards = sharded(rules, "test")
    assert [len(shard.properties) for shard in shards] == [240, 10]
    everything = {index: member_json(index, 1) for index in range(250)}
    assert sorted(int(name) for shard in shards for name in shard.fired(everything)) == list(range(25))
    for shard in shards:
        shard.close()


@pytest.mark.parametrize("rules", [0, MAX_RULES + 1])
def test_a_shard_refuses_what_would_break_the_engine(rules) -> None:
    with pytest.raises(DurableError, match=f"1 to {MAX_RULES} rules .* got {rules} and 1"):
        Shard("test", {str(number): ['{"p0":1}'] for number in range(rules)}, [0])
    with pytest.raises(DurableError, match=f"at most {MAX_PROPERTIES} properties, got 1 and 241"):
        Shard("test", {"0": ['{"p0":1}']}, range(MAX_PROPERTIES + 1))


def test_all_rules_of_a_full_shard_fire_together() -> None:
    """The extension's match stack holds 64: more matches of one fact at once would be error 303."""
    shard = Shard("test", {str(number): [f'{{"$gte":{{"p0":{number}}}}}'] for number in range(MAX_RULES)}, [0])
    assert sorted(map(int, shard.fired({0: member_json(0, 1000.0)}))) == list(range(MAX_RULES))
    assert shard.fired({0: member_json(0, -1.0)}) == []
    assert shard.fired({}) == []
    shard.close()


def test_the_session_forgets_each_case() -> None:
    shard = Shard("test", {"both": ['{"p0":1}', '{"p1":1}']}, [0, 1])
    assert shard.fired({0: member_json(0, 1)}) == []
    assert shard.fired({1: member_json(1, 1)}) == []
    assert shard.fired({0: member_json(0, 1), 1: member_json(1, 1)}) == ["both"]
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
