"""The wire format of protocol buffers, as far as trackers need it: the fields of a message, without a schema.

Source: the encoding guide of Protocol Buffers. A message is read one level at a time, so nesting costs nothing;
lengths that reach beyond the message end it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

Field = int | bytes  # a varint as a number, everything else as its bytes (fixed64 has 8, fixed32 has 4)
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class DamagedError(ValueError):
    """The bytes are no protocol buffer message."""


def fields(message: bytes) -> Iterator[tuple[int, Field]]:
    """Yield (field number, value) in the order of the message.

    Raises:
        DamagedError: where the bytes stop making sense; what came before has been yielded.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _LENGTH:
            size, at = _varint(message, at)
        elif kind in {_FIXED64, _FIXED32}:
            size = 8 if kind == _FIXED64 else 4
        else:  # groups have been out of use since 2008
            raise DamagedError(f"wire type {kind}")
        if at + size > end:
            raise DamagedError("a field is longer than its message")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for code in message[at : at + 10]:
        value |= (code & 0x7F) << shift
        at += 1
        if code < 0x80:
            return value, at
        shift += 7
    raise DamagedError("a number without an end")


def signed(value: Field) -> int:
    """An int32 or int64: negative ones are written as their 64-bit complement."""
    if isinstance(value, bytes):
        return int.from_bytes(value, "little", signed=True)
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def text(value: Field) -> str:
    """A string field."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def real(value: Field) -> float | None:
    """A float or double field; None for anything else."""
    if not isinstance(value, bytes) or len(value) not in {4, 8}:
        return None
    return float(struct.unpack("<f" if len(value) == 4 else "<d", value)[0])
