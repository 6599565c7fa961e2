"""Flat records to columns: what the JSON parser reads, bit by bit, or nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.readers.tables.flat import flat_columns

NUMBERS = st.one_of(
    st.floats(),
    st.integers(-99, 99),
    st.floats(-10, 10).map(lambda value: round(value, 4)),
    st.integers(-(10**25), 10**25),
)
LAYOUTS = st.lists(
    st.lists(st.text("abe.-5 你", min_size=1, max_size=4), unique=True, min_size=1, max_size=4),
    unique_by=len, min_size=1, max_size=3,
)  # fmt: skip


@settings(max_examples=60)
@given(data=st.data(), layouts=LAYOUTS, indent=st.sampled_from([None, 1]))
def test_columns_hold_what_json_reads(data: st.DataObject, layouts: list[list[str]], indent: int | None) -> None:
    chosen = data.draw(st.lists(st.sampled_from(layouts), min_size=1, max_size=20))
    rows = [{name: data.draw(NUMBERS) for name in names} for names in chosen]
    text = json.dumps(rows, indent=indent, ensure_ascii=False).replace("\n", " ").strip("[] ").encode()
    found = flat_columns(text, b",")
    assert found is not None
    count, columns = found
    assert count == len(rows)
    assert list(columns) == list(dict.fromkeys(name for row in rows for name in row))
    for name, (index, values) in columns.items():
        expected = {at: float(row[name]) for at, row in enumerate(rows) if name in row}
        assert index.tolist() == list(expected)
        np.testing.assert_array_equal(values, list(expected.values()))


def rows_of(*values: str) -> bytes:
    return b"\n".join(b'{"step": %d, "x": %s}' % (at, value.encode()) for at, value in enumerate(values))


@pytest.mark.parametrize("width", [1, 8])  # few rows are read one by one, more together
@pytest.mark.parametrize(
    "value",
    ["null", "true", '"1"', "1_0", "1 2", "1.2.3", "1e", "--1", "1-2", "nan", "[1]", '{"y": 1}', "", "0x1", "1" * 32],
)
def test_what_is_no_number(value: str, width: int) -> None:
    assert flat_columns(rows_of(*["1"] * width * 3, *[value] * width), b"\n") is None


def test_numbers_between_others_of_their_width() -> None:
    found = flat_columns(rows_of(*["123"] * 9, "NaN", "1e5", "-12", ".12", "12.", "1E5"), b"\n")
    assert found is not None
    np.testing.assert_array_equal(found[1]["x"][1][8:], [123, np.nan, 1e5, -12, 0.12, 12, 1e5])


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"[1]", b'{"a": 1', b'"a": 1}', b'{"a": 1}{"a": 1}', b'{"a": 1}, {"a": 2}', b'{"a": 1}\n\n{"a": 2}',
        b'{"a": 1}\n{"b": 1}', b'{"a": 1, "a": 2}', b'{"a:b": 1}', b'{a: 1}', b'{"a" 1, "b": 2}', b'{"\\u0061": 1}',
        b'{"a": 1}\n{"a"; 2}', b'{"a": 1}\n{"a": 2} x', b'{"a": 1}x\n{"a": 2}', b"{:}", b"{,}", b'{"a": 1}\n{}',
        b'{"a":: 1}', b'{"a": 1,}',
        b"\n".join(json.dumps(dict.fromkeys("abcdefghij"[:n], 1)).encode() for n in range(1, 11)),
    ],
)  # fmt: skip
def test_what_has_no_columns(text: bytes) -> None:
    assert flat_columns(text, b"\n") is None
