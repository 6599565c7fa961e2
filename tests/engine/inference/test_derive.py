"""Derived facts: what is computed, what is unknown, and what is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest

from engine.inference.derive import MAX_LENGTH, DeriveError, parse

FACTS = {
    "batch.global": 512.0, "batch.micro": 4.0, "parallel.dp": 8.0, "zero.zero": 0.0, "model.vocab_size": 32_000.0,
    "loss.plateau": 10.3735, "optimizer.name": "adamw", "run.compiled": True, "data.global.in": 2.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("batch.global / (batch.micro * parallel.dp)", 16.0),
        ("batch.global % 5 - 1", 1.0),
        ("-batch.micro // 3", -2.0),
        ("near_ln(loss.plateau, model.vocab_size, 0.02)", True),
        ("near_ln(loss.plateau, 1, 0.02)", False),
        ("optimizer.name == 'adamw' and not run.compiled", False),
        ('optimizer.name != "it\'s" or zero.zero > 1', True),
        ("1 < batch.micro <= 4", True),
        ("max(batch.micro, parallel.dp, 2) + min(1, 2)", 9.0),
        ("ceil(batch.micro / 3) + floor(2.5) + abs(-1) + log2(8) + sqrt(4)", 10.0),
        ("data.global.in + 1", 3.0),
        ("data_parallel(batch.global, parallel.dp, 2)", 32.0),
    ],
)
def test_values(text, value) -> None:
    result = parse(text).value(FACTS)
    assert result == value
    assert type(result) is type(value), "numbers are floats, whatever the arithmetic gave"


def test_truth_is_no_number() -> None:
    assert parse("run.compiled == 1").value(FACTS) is False
    assert parse("run.compiled != 1").value(FACTS) is True
    assert parse("run.compiled == True").value(FACTS) is True


def test_facts_are_listed_in_order_of_appearance() -> None:
    derivation = parse("b.b * a.a + b.b + near(c.c, 1, 0.1) and 'd.d' != e.e")
    assert derivation.facts == ("b.b", "a.a", "c.c", "e.e")


@pytest.mark.parametrize(
    "text",
    [
        "batch.missing + 1",
        "batch.missing * 0",
        "run.compiled or batch.missing > 1",
        "batch.global / zero.zero",
        "batch.global // zero.zero",
        "batch.global % zero.zero",
        "ln(zero.zero)",
        "sqrt(-batch.micro)",
        "1e308 * batch.global",
        "1e400",
        f"batch.micro + {'9' * 400}",
        "ceil(1e308) * ceil(1e308)",
        "optimizer.name > 1",
        "optimizer.name + 'x'",
        "near(batch.micro)",
        "data_parallel(7, 2)",
        "static_gb(batch.micro, 1, 'dp', 'no such optimizer')",
        "static_gb(batch.micro, 1, 'no such mode', 'adamw')",
    ],
)
def test_unknown_where_there_is_no_answer(text) -> None:
    assert parse(text).value(FACTS) is None


@pytest.mark.parametrize("text", ["'a' * 9999999999", "'%9999999999d' % 5", "optimizer.name * 9999999999"])
def test_text_is_never_repeated_or_formatted(text) -> None:
    assert parse(text).value(FACTS) is None


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "batch.micro +", "9**9**9", "2 ** batch.micro", "1 << 100", "1 | 2", "~1", "len('a')", "open('x')",
        "__import__('os')", "__fact__('a.b')", "batch.micro.__class__", "(lambda: 1)()", "[1, 2]", "{1: 2}", "(1, 2)",
        "1 if run.compiled else 2", "batch.micro is 2", "1 in 2", "1j", "None", "b'x'", "f'{batch.micro}'", "x", "...",
        "near(a=1)", "max(*batch.micro)", "(a := 1)", "batch.micro\n+ 1; 2", "'unclosed", "[i for i in 'ab']", "\x00",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_refused(text) -> None:
    with pytest.raises(DeriveError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["1" + "+1" * 100_000, "(" * 5_000 + "1" + ")" * 5_000, "-" * 50_000 + "1", "not " * 50_000 + "run.compiled"],
)
def test_too_long_is_refused_before_it_is_parsed(text) -> None:
    with pytest.raises(DeriveError, match=f"at most {MAX_LENGTH} characters") as refused:
        parse(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "text", ["-" * 499 + "1", "1" + "+1" * 249, "min(1," * 70 + "2" + ")" * 70, "abs(" * 99 + "1" + ")" * 99]
)
def test_the_longest_that_are_parsed_do_not_overflow_the_stack(text) -> None:
    assert len(text) <= MAX_LENGTH
    with suppress(DeriveError):  # Python's own parser has a limit, too
        assert parse(text).value({}) is not None
