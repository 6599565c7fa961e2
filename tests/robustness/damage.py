"""What happens to files on their way: cut, flipped bits, holes, copies, odd encodings, wrong depth, absurd numbers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import zstandard
from hypothesis import strategies as st

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
DEEP = 100_000
_HUGE = [b"9" * 400, b"1e999", b"-1e308", b"1" + b"0" * 5000, b"NaN", b"-0.0", b"0x7f", b"18446744073709551616", b""]
_PIECES = [b"[" * DEEP, b'{"a":' * DEEP, b"x" * 70_000, b"\r" * 5000, b"\x1b[31m" * 200, b"|" * 5000, b"\n" * 5000,
           b"- " * 5000, b"\xff\xfe\x00", b'"', b"{", b"\\", b"&a [*a, *a]\n", b"http://127.0.0.1:9/x\n"]  # fmt: skip

Damage = Callable[[bytes], bytes]


def _at(content: bytes, place: float) -> int:
    return int(place * len(content))


def _cut(place: float) -> Damage:
    return lambda content: content[: _at(content, place)]


def _behead(place: float) -> Damage:
    return lambda content: content[_at(content, place) :]


def _put(place: float, piece: bytes) -> Damage:
    return lambda content: content[: _at(content, place)] + piece + content[_at(content, place) :]


def _flip(place: float, code: int) -> Damage:
    def flip(content: bytes) -> bytes:
        at = min(_at(content, place), len(content) - 1)
        return content[:at] + bytes([content[at] ^ code]) + content[at + 1 :] if content else content

    return flip


def _repeat(start: float, stop: float, times: int) -> Damage:
    def repeat(content: bytes) -> bytes:
        a, b = sorted((_at(content, start), _at(content, stop)))
        return content[:b] + content[a:b] * times + content[b:]

    return repeat


def _number(place: float, huge: bytes) -> Damage:
    def change(content: bytes) -> bytes:
        found = _NUMBER.search(content, _at(content, place))
        return content if found is None else content[: found.start()] + huge + content[found.end() :]

    return change


def _encode(encoding: str, place: float) -> Damage:
    """From ``place`` on in another encoding, as where two programs append to one log."""

    def encode(content: bytes) -> bytes:
        at = _at(content, place)
        return content[:at] + content[at:].decode("utf-8", "replace").encode(encoding, "replace")

    return encode


def _one_line(content: bytes) -> bytes:
    return content.replace(b"\n", b" ")


_PLACE = st.floats(0, 1)
DAMAGES: st.SearchStrategy[Damage] = st.one_of(
    st.builds(_cut, _PLACE),
    st.builds(_behead, _PLACE),
    st.builds(_flip, _PLACE, st.integers(1, 255)),
    st.builds(_put, _PLACE, st.sampled_from(_PIECES) | st.binary(min_size=1, max_size=40)),
    st.builds(_put, _PLACE, st.integers(1, 70_000).map(bytes)),
    st.builds(_repeat, _PLACE, _PLACE, st.integers(1, 200)),
    st.builds(_number, _PLACE, st.sampled_from(_HUGE)),
    st.builds(_encode, st.sampled_from(["utf-16", "utf-16-be", "utf-32", "latin-1", "gb18030"]), st.just(0.0) | _PLACE),
    st.just(_one_line),
)
WRAPS: st.SearchStrategy[Damage] = st.sampled_from([
    lambda content: content,
    gzip.compress,
    zstandard.compress,
    lambda content: gzip.compress(content)[:-9],
    lambda content: zstandard.compress(content)[:-3],
    lambda content: gzip.compress(gzip.compress(content)),
])  # fmt: skip


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """The content after up to four damages, perhaps packed."""

    def apply(damages: list[Damage], wrap: Damage) -> bytes:
        result = content
        for damage in damages:
            result = damage(result)[: 1 << 20]
        return wrap(result)

    return st.builds(apply, st.lists(DAMAGES, min_size=1, max_size=4), WRAPS)
