"""Files of trackers, written here byte by byte."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping

import pytest

BLOCK = 32 << 10


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def packed(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for code in data:
        crc ^= code
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def framed(payload: bytes) -> bytes:
    def mask(data: bytes) -> bytes:
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    head = struct.pack("<Q", len(payload))
    return head + mask(head) + payload + mask(payload)


def simple(value: float) -> bytes:
    return varint(2 << 3 | 5) + struct.pack("<f", value)


def event(step: int, values: Mapping[str, float | bytes], time: float = 1.7e9) -> bytes:
    """A record of scalars; bytes stand for an encoded field of the value after its tag."""
    tagged = (packed(1, tag) + (value if isinstance(value, bytes) else simple(value)) for tag, value in values.items())
    summary = b"".join(packed(1, one) for one in tagged)
    return framed(b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step) + packed(5, summary))


def event_file(events: Iterable[bytes]) -> bytes:
    version = framed(b"\x09" + struct.pack("<d", 1.7e9) + packed(3, "brain.Event:2"))
    return version + b"".join(events)


def items(row: Mapping[str, object], nested: bool = False) -> bytes:
    """History, configuration or summary items."""
    key = 2 if nested else 1
    return b"".join(
        packed(1, b"".join(packed(key, part) for part in (name.split("/") if nested else [name]))
               + packed(16, json.dumps(value)))
        for name, value in row.items()
    )  # fmt: skip


def wandb_file(records: Iterable[bytes]) -> bytes:
    """LevelDB framing of the records, split over blocks where they do not fit."""
    out = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        left, first = record, True
        while first or left:
            room = BLOCK - len(out) % BLOCK - 7
            if room < 0:
                out += bytes(room + 7)
                continue
            part, left = left[:room], left[room:]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not left]
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
    return bytes(out)


@pytest.fixture
def tb_event() -> Callable[..., bytes]:
    return event


@pytest.fixture
def tb_file() -> Callable[[Iterable[bytes]], bytes]:
    return event_file


@pytest.fixture
def field() -> Callable[[int, bytes | str], bytes]:
    return packed


@pytest.fixture
def wandb_items() -> Callable[..., bytes]:
    return items


@pytest.fixture
def wandb() -> Callable[[Iterable[bytes]], bytes]:
    return wandb_file
