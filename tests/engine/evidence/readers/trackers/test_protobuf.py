from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evidence.readers.trackers.protobuf import DamagedError, fields, real, signed


def test_fields_of_every_wire_type():
    message = b"\x08\x96\x01" + b"\x12\x03abc" + b"\x1d\x00\x00\x80\x3f" + b"\x21" + bytes(8)
    assert list(fields(message)) == [(1, 150), (2, b"abc"), (3, b"\x00\x00\x80\x3f"), (4, bytes(8))]
    assert real(b"\x00\x00\x80\x3f") == 1.0
    assert real(3) is None
    assert signed((1 << 64) - 5) == -5


@pytest.mark.parametrize("message", [b"\x12\x7fabc", b"\x0b", b"\x08\xff\xff", b"\xff" * 11])
def test_damage_is_told(message):
    with pytest.raises(DamagedError):
        list(fields(message))


@given(st.binary(max_size=200))
def test_any_bytes_end(message):
    with contextlib.suppress(DamagedError):
        assert sum(1 for _ in fields(message)) <= len(message)
