"""TFRecord framing: length, masked CRC of the length, payload, masked CRC of the payload; little endian.

The check sums are CRC-32C, masked as TensorFlow does it (rotated right by 15 bits plus 0xa282ead8). The length's is
always checked, since a wrong length loses all that follows. Payloads of up to 1 KiB (a scalar has 60 bytes) are
checked together, column by column in numpy; larger ones hold images and graphs, which nobody reads here.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HEAD_BYTES, TAIL_BYTES = 12, 4
_CHECKED_BYTES = 1024
_MASK_DELTA, _POLYNOMIAL = 0xA282EAD8, 0x82F63B78  # Castagnoli, bits reversed


@dataclass(slots=True)
class TfRecords:
    """Reads the payloads of a stream, and keeps what is wrong with it.

    ``damaged`` counts payloads with a wrong check sum, ``cut`` says that the last record is not whole (it is still
    being written, or the process died), ``damage`` says where the framing was lost.
    """

    most_bytes: int
    count: int = 0
    damaged: int = 0
    cut: bool = False
    damage: str = ""

    def read(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield each sound payload in order."""
        table = _table()
        rest = bytearray()
        for piece in pieces:
            rest += piece
            payloads, used = self._whole(rest, table)
            yield from self._sound(payloads, table)
            del rest[:used]
            if self.damage:
                return
        self.cut = bool(rest)

    def _whole(self, data: bytearray, table: NDArray[np.uint32]) -> tuple[list[tuple[bytes, int]], int]:
        """The payloads that ``data`` holds whole with their check sums, and how many bytes they took."""
        found: list[tuple[bytes, int]] = []
        at, end = 0, len(data)
        lengths: dict[int, int] = {}  # most records have one of a few lengths
        while end - at >= HEAD_BYTES:
            size, check = struct.unpack_from("<QI", data, at)
            if size not in lengths:
                lengths[size] = int(masked([bytes(data[at : at + 8])], table)[0])
            if size > self.most_bytes or check != lengths[size]:
                self.damage = f"damaged after record {self.count}: the rest was not read"
                break
            start = at + HEAD_BYTES
            if start + size + TAIL_BYTES > end:
                break
            found.append((bytes(data[start : start + size]), struct.unpack_from("<I", data, start + size)[0]))
            at = start + size + TAIL_BYTES
            self.count += 1
        return found, at

    def _sound(self, payloads: list[tuple[bytes, int]], table: NDArray[np.uint32]) -> Iterator[bytes]:
        by_size: dict[int, list[int]] = defaultdict(list)
        for at, (payload, _) in enumerate(payloads):
            if 0 < len(payload) <= _CHECKED_BYTES:
                by_size[len(payload)].append(at)
        wrong: set[int] = set()
        for places in by_size.values():
            checks = masked([payloads[at][0] for at in places], table)
            stated = np.array([payloads[at][1] for at in places], dtype=np.uint32)
            wrong.update(places[at] for at in np.flatnonzero(checks != stated))
        self.damaged += len(wrong)
        yield from (payload for at, (payload, _) in enumerate(payloads) if at not in wrong)


def masked(payloads: list[bytes], table: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
    """The masked CRC-32C of payloads of one length, all at once."""
    table = _table() if table is None else table
    grid = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
    crc = np.full(len(payloads), 0xFFFFFFFF, dtype=np.uint32)
    for column in grid.T:
        crc = table[(crc ^ column) & 0xFF] ^ (crc >> np.uint32(8))
    crc ^= np.uint32(0xFFFFFFFF)
    turned = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    return (turned.astype(np.uint64) + _MASK_DELTA).astype(np.uint32)


def _table() -> NDArray[np.uint32]:
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, (crc >> np.uint32(1)) ^ np.uint32(_POLYNOMIAL), crc >> np.uint32(1))
    return crc
