from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest

from engine.evidence.readers.columns import Spans, columns, number, shapes

PAIR = re.compile(rb"(\w+)=(\S+)")


def spans(row: bytes) -> Spans:
    return [(pair[1].decode(), *pair.span(2)) for pair in PAIR.finditer(row)]


def spelled(rng: random.Random) -> str:
    value = rng.choice([rng.random(), rng.uniform(-1, 1) * 10 ** rng.randint(-30, 30), float(rng.randint(0, 10**18))])
    small = abs(value) < 1e9
    choices = [repr(value), f"{value:.3e}", f"{value:.17e}", f"{value:.4f}" if small else "inf"]
    return rng.choice([*choices, f"{value:,.2f}" if small else "nan", str(rng.randint(0, 10**18))])


def test_every_spelling_is_the_float_that_python_reads():
    rng = random.Random(5)
    rows = [f"a={spelled(rng)} b={spelled(rng)}".encode() for _ in range(4_000)]
    table = columns(rows, spans)
    for name in ("a", "b"):
        index, values = table[name]
        assert index.tolist() == list(range(len(rows)))
        for row, value in zip(rows, values.tolist(), strict=True):
            text = dict(pair.groups() for pair in PAIR.finditer(row))[name.encode()]
            expected = float(text.replace(b",", b""))
            assert value == expected or (math.isnan(value) and math.isnan(expected)), text


@pytest.mark.parametrize("digits", [15, 16, 17, 18, 19, 20])
def test_long_mantissas_round_once(digits):
    rng = random.Random(digits)
    texts = [f"0.{rng.randint(10 ** (digits - 1), 10**digits - 1)}" for _ in range(3_000)]
    # half-way between two floats, where rounding twice would go wrong
    texts += [f"{2**53 + 2 * step + 1}" for step in range(100)]
    _, values = columns([f"x={text}".encode() for text in texts], spans)["x"]
    assert values.tolist() == [float(text) for text in texts]


def test_rows_of_other_shapes_keep_their_places():
    rows = [b"a=1", b"b=22", b"a=3 b=44", b"nothing", b"a=5"] * 20
    table = columns(rows, spans)
    assert table["a"][0].tolist()[:4] == [0, 2, 4, 5]
    assert table["a"][1].tolist()[:4] == [1, 3, 5, 1]
    assert table["b"][1].tolist()[:2] == [22, 44]


def test_shapes_group_by_everything_but_digits():
    found = shapes([b"x 1", b"y 1", b"x 2", b"x 10"])
    assert [(shape.text, shape.index.tolist()) for shape in found] == [(b"x 0", [0, 2]), (b"y 0", [1]), (b"x 00", [3])]
    assert shapes([]) == []


def test_what_is_no_number_is_left_out():
    assert columns([b"a=1_000 b=x", b"a=2_000 b=y"] * 10, spans) == {}
    assert number("1_000") is None
    assert number("45%") == 45
    assert np.isnan(columns([b"a=nan"] * 9, spans)["a"][1]).all()


def test_many_rows_are_grouped_as_few_are():
    rng = random.Random(7)
    kinds = [
        b"loss: %d.%d |",
        b"norm: %d.%d |",
        b"x=%d,%d",
        b"%d:%d",
        b"lr: %de%d |",
        b"mem: %d/%d |",
        b"long " * 900 + b"%d %d",
    ]
    rows = [rng.choice(kinds) % (rng.randint(0, 99), rng.randint(0, 99)) for _ in range(700)]
    expected: dict[bytes, list[int]] = {}
    for at, row in enumerate(rows):
        expected.setdefault(re.sub(rb"\d", b"0", row), []).append(at)
    found = shapes(rows)
    assert [(shape.text, shape.index.tolist()) for shape in found] == list(expected.items())
    for shape in found:
        assert list(shape.rows) == [rows[at] for at in shape.index]
        assert shape.grid is None or shape.grid.tobytes() == b"".join(shape.rows)
